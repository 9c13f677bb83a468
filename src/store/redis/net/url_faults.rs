//! Descriptions of unreadable URLs, in words that show nothing that may be a password.

use std::collections::BTreeSet;

use redis::RedisConnectionInfo;

use crate::core::InvalidValue;

/// Returns the error about an unreadable URL of this scheme and this rest.
pub(crate) fn invalid(scheme: &str, rest: &str, allowed: &str) -> InvalidValue {
    InvalidValue::new("store.url", format_args!("{scheme}://… {}", of(scheme, rest)), allowed)
}

/// Describes what is wrong with a URL of this scheme and this rest. The text reads on from the scheme: `with port 99999, …`.
fn of(scheme: &str, rest: &str) -> String {
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    if scheme.ends_with("unix") {
        return match place.trim_matches('/').is_empty() {
            true => "without a path".to_owned(),
            false => "with a query that cannot be read".to_owned(),
        };
    }
    let (user, place) = rest.rsplit_once('@').map_or(("", place), |(user, place)| (user, place));
    if user.contains(['/', '?', '#', '@']) {
        return "with one of / ? # @ in its user or password: there, write %2F %3F %23 %40".to_owned();
    }
    let place = place.split('?').next().unwrap_or_default();
    let (hosts, path) = place.split_once('/').unwrap_or((place, ""));
    let several = scheme.contains('+');
    let fault = match several {
        true => hosts.split(',').find_map(of_host),
        false => of_host(hosts),
    };
    fault.or_else(|| of_path(scheme, path)).unwrap_or_else(|| match query.is_empty() {
        true => "that cannot be read".to_owned(),
        false => "with a query that cannot be read".to_owned(),
    })
}

/// Describes a part of the URL of one server that the client library passes over. `None` if it uses all parts.
///
/// Who writes `?db=3` would otherwise lock in database 0.
pub(crate) fn unused(scheme: &str, rest: &str, read: &RedisConnectionInfo) -> Option<&'static str> {
    if rest.contains('#') {
        return Some("with # and more: a # in a user, password or path is written %23");
    }
    let is_socket = scheme.ends_with("unix");
    let (used, fault): (&[_], _) = match is_socket {
        true => (
            &["db", "user", "pass", "protocol"],
            "with something else than db, user, pass and protocol behind the ?",
        ),
        false => (
            &["protocol"],
            "with ? and more: a database is written /3, a user and password user:password@ before the host",
        ),
    };
    let mut keys = BTreeSet::new();
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let key = pair.split_once('=').map_or(pair, |(key, _)| key);
        if !used.contains(&key) {
            return Some(fault);
        }
        if !keys.insert(key) {
            return Some("with one key twice behind the ?");
        }
    }
    if is_socket && !rest.starts_with('/') {
        return Some("with something before the path of the socket");
    }
    let lonely = read.username().is_some() && read.password().is_none();
    lonely.then_some("with a user and no password: a password alone is written :password@")
}

/// Describes what is wrong with a text that has no scheme of a store.
pub(crate) fn of_scheme(url: &str) -> String {
    match url.split_once("://") {
        _ if url.is_empty() => "an empty text".to_owned(),
        None => "a text without a scheme such as redis://".to_owned(),
        Some((scheme, _)) if is_plain(scheme) => format!("unknown scheme {scheme}://"),
        Some(_) => "unknown scheme".to_owned(),
    }
}

fn of_host(text: &str) -> Option<String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let colons = host.contains(':') && bare.is_none();
    let known = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    if host.is_empty() {
        return Some("without a host".to_owned());
    }
    if colons || !bare.unwrap_or(host).chars().all(known) {
        return Some("with a host that cannot be read".to_owned());
    }
    match port {
        Some(port) if port.parse::<u16>().is_ok() => None,
        // A number of more digits may be a password behind which the host is missing.
        Some(port) if port.len() == 5 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(format!("with port {port}, which is more than 65535"))
        }
        Some(_) => Some("with a port that is no number from 1 to 65535".to_owned()),
        None => None,
    }
}

fn of_path(scheme: &str, path: &str) -> Option<String> {
    let (service, database) = match scheme.split_once('+') {
        Some((_, "cluster")) if !path.is_empty() => {
            return Some("with a path: a cluster has no databases".to_owned());
        }
        Some((_, "sentinel")) => match path.split_once('/').unwrap_or((path, "")) {
            ("", _) => return Some("without a service behind the hosts".to_owned()),
            parts => parts,
        },
        _ => ("", path),
    };
    if !service.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) {
        return Some("with a service of other letters than A-Z a-z 0-9 . - _".to_owned());
    }
    match database {
        "" => None,
        number if number.parse::<u32>().is_ok() => None,
        word if is_plain(word) => Some(format!("with database {word:?}, which is no number")),
        _ => Some("with a database that is no number".to_owned()),
    }
}

/// Returns true if this is short, has only letters, digits and `+-_`, and can be shown.
fn is_plain(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_".contains(&byte);
    (1..=20).contains(&text.len()) && text.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    #[test]
    fn every_part_of_a_url_that_is_not_used_is_refused() {
        let unused = |url: &str| {
            let (scheme, rest) = url.split_once("://").unwrap();
            unused(scheme, rest, url.into_connection_info().unwrap().redis_settings())
        };
        for url in [
            "redis://h:1?db=3",
            "redis://h:1/3?db=3",
            "redis://h:1#3",
            "redis://h?password=x",
            "redis://h?protocol=resp2&db=3",
            "redis://h?protocol=resp2&protocol=resp3",
            "redis://user@h",
            "redis+unix:///s?database=3",
            "redis+unix:///s?db=3&db=4",
            "redis+unix:///s?user=u",
            "redis+unix:///s#3",
            "unix:///s?password=x",
            "redis+unix://localhost/s",
        ] {
            assert!(unused(url).is_some(), "{url}");
        }
        for url in [
            "redis://u:p@h:1/3",
            "redis://:p@h/",
            "redis://h/3?",
            "redis://h?protocol=resp3",
            "redis+unix:///s?db=3&user=u&pass=p&protocol=resp3",
            "unix:///s",
        ] {
            assert_eq!(unused(url), None, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_no_password_is() {
        for (url, expected) in [
            ("redis://", "without a host"),
            ("redis://user:s3cret@", "without a host"),
            ("redis://:s3cret:6379", "with a host that cannot be read"),
            ("redis://:s3cret@host:port", "with a port that is no number from 1 to 65535"),
            ("redis://:s3cret@host:99999", "with port 99999, which is more than 65535"),
            ("redis://host:123456", "with a port that is no number from 1 to 65535"),
            ("redis://:s3cret@host/abc", "with database \"abc\", which is no number"),
            (
                "redis://:s3/cret@host",
                "with one of / ? # @ in its user or password: there, write %2F %3F %23 %40",
            ),
            (
                "redis://:s3?cret@host",
                "with one of / ? # @ in its user or password: there, write %2F %3F %23 %40",
            ),
            ("redis+unix://", "without a path"),
            ("redis+cluster://a:1,", "without a host"),
            ("redis+cluster://a:1/2", "with a path: a cluster has no databases"),
            ("redis+cluster://a?s3cret", "with a query that cannot be read"),
            ("redis+sentinel://a:1", "without a service behind the hosts"),
            ("redis+sentinel://a:x/locks", "with a port that is no number from 1 to 65535"),
            ("redis+sentinel://a/locks/one", "with database \"one\", which is no number"),
            ("redis+sentinel://a/lo cks", "with a service of other letters than A-Z a-z 0-9 . - _"),
            ("redis+sentinel://a/locks?password=s3cret", "with a query that cannot be read"),
        ] {
            let (scheme, rest) = url.split_once("://").unwrap();
            assert_eq!(of(scheme, rest), expected, "{url}");
        }
    }
}
