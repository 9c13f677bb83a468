//! The checks of the host that a request names, and of the site that it comes from.

use std::{collections::BTreeSet, net::IpAddr};

use actix_web::{
    HttpRequest,
    http::header::{HOST, ORIGIN},
};

use crate::failure::Failure;

/// Returns the authority that a request names: host and port.
fn authority(request: &HttpRequest) -> Option<&str> {
    let header = request.headers().get(HOST).and_then(|value| value.to_str().ok());
    header.or_else(|| request.uri().authority().map(|authority| authority.as_str()))
}

/// Returns the host of an authority, without its port.
fn host_of(authority: &str) -> &str {
    if authority.starts_with('[') {
        let end = authority.find(']').map_or(authority.len(), |at| at + 1);
        return &authority[..end];
    }
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

/// Returns a name of a host as it is compared.
pub(super) fn normal(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().is_ok()
}

pub(super) fn check_host(request: &HttpRequest, known: &BTreeSet<String>) -> Result<(), Failure> {
    let host = normal(authority(request).map_or("", host_of));
    if host == "localhost" || is_address(&host) || known.contains(&host) {
        return Ok(());
    }
    // A token in the wrong header is not repeated.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_name = (1..=253).contains(&host.len()) && host.bytes().all(is_name);
    Err(Failure::other_host(is_name.then_some(&host)))
}

/// Checks that an unsafe request comes from a page of the console. One with a bearer may come from no page at all, which is
/// what programs do: a browser adds no bearer by itself.
pub(super) fn check_origin(request: &HttpRequest, bearer: bool) -> Result<(), Failure> {
    let text = |name: &str| {
        let value = request.headers().get(name)?;
        Some(value.to_str().unwrap_or("not text"))
    };
    let (site, origin) = (text("sec-fetch-site"), text(ORIGIN.as_str()));
    if site.is_some_and(|site| site != "same-origin") {
        return Err(Failure::cross_site());
    }
    match origin {
        // The scheme is not compared: behind a proxy that ends TLS it is another one.
        Some(origin) => {
            let came_from = origin.split_once("://").map(|(_, authority)| authority.to_ascii_lowercase());
            let is_own = came_from.is_some() && came_from == authority(request).map(str::to_ascii_lowercase);
            if is_own { Ok(()) } else { Err(Failure::cross_site()) }
        }
        None if site.is_some() || bearer => Ok(()),
        None => Err(Failure::cross_site()),
    }
}

/// Checks that a request that only reads was not sent by a page of another site, which could not see the answer, but would let
/// the store do the work. A link to the console is followed, wherever it is; a frame is not filled, though it navigates too.
///
/// A browser says where a request comes from only to hosts that it trusts: over TLS, or on this machine.
pub(super) fn check_reading(request: &HttpRequest) -> Result<(), Failure> {
    let is = |name: &str, values: &[&str]| {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| values.contains(&value))
    };
    let follows_a_link = is("sec-fetch-mode", &["navigate"]) && is("sec-fetch-dest", &["document"]);
    if is("sec-fetch-site", &["cross-site", "same-site"]) && !follows_a_link {
        return Err(Failure::cross_site());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn request(headers: &[(&str, &str)]) -> HttpRequest {
        let request = TestRequest::post();
        headers.iter().fold(request, |request, header| request.insert_header(*header)).to_http_request()
    }

    #[test]
    fn addresses_and_known_names_are_hosts_and_no_others() {
        let known = BTreeSet::from([normal("Locks.Example.Org.")]);
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8640",
            "[::1]:8640",
            "[::1]",
            "10.1.2.3",
            "locks.example.org:1",
        ] {
            assert!(check_host(&request(&[("host", host)]), &known).is_ok(), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::1", "example.org"]
        {
            assert!(check_host(&request(&[("host", host)]), &known).is_err(), "{host}");
        }
    }

    #[test]
    fn another_host_is_repeated_only_if_it_is_a_name() {
        let told = |host: &str| check_host(&request(&[("host", host)]), &BTreeSet::new()).unwrap_err().detail;
        for host in ["evil.example:8640", "EVIL.example."] {
            assert!(told(host).contains("called evil.example;"), "{}", told(host));
        }
        let long = "x".repeat(254);
        for secret in ["Bearer secret-secret", "secret\t", "secret=", "[secret", "redis://:secret", "", &long]
        {
            assert!(told(secret).contains("not for a host with a name"), "{}", told(secret));
        }
        // What stands in the place of a port is not repeated.
        assert!(told("user:secret@a").contains("called user;"));
    }

    #[test]
    fn a_page_of_another_site_reads_nothing_but_its_links_are_followed() {
        for (site, mode, dest, allowed) in [
            ("cross-site", "no-cors", "image", false),
            ("same-site", "cors", "empty", false),
            ("cross-site", "navigate", "document", true),
            ("cross-site", "navigate", "iframe", false),
            ("same-site", "navigate", "frame", false),
            ("cross-site", "navigate", "object", false),
            ("cross-site", "no-cors", "document", false),
            ("same-origin", "cors", "empty", true),
            ("none", "navigate", "document", true),
        ] {
            let headers = [("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
            assert_eq!(check_reading(&request(&headers)).is_ok(), allowed, "{site} {mode} {dest}");
        }
        assert!(check_reading(&request(&[])).is_ok());
    }

    #[test]
    fn a_change_comes_from_the_very_origin_or_from_a_program() {
        let own = [("host", "h:1"), ("origin", "http://h:1")];
        assert!(check_origin(&request(&own), false).is_ok());
        assert!(check_origin(&request(&[("host", "h:1"), ("origin", "https://H:1")]), false).is_ok());
        assert!(check_origin(&request(&[("host", "h:1"), ("sec-fetch-site", "same-origin")]), false).is_ok());
        for foreign in ["http://h:2", "http://evil", "null", "h:1", ""] {
            let request = request(&[("host", "h:1"), ("origin", foreign)]);
            assert!(
                check_origin(&request, false).is_err() && check_origin(&request, true).is_err(),
                "{foreign}"
            );
        }
        for site in ["cross-site", "same-site", "none", ""] {
            let request = request(&[("host", "h:1"), ("origin", "http://h:1"), ("sec-fetch-site", site)]);
            assert!(check_origin(&request, true).is_err(), "{site}");
        }
        assert!(check_origin(&request(&[("host", "h:1")]), true).is_ok());
        assert!(check_origin(&request(&[("host", "h:1")]), false).is_err());
    }
}
