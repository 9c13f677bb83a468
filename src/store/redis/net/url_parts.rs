//! The parts of a URL, and what is wrong with one, in words that show nothing that may be a password.

use std::collections::BTreeSet;

use redis::RedisConnectionInfo;

use crate::{core::InvalidValue, store::redis::net::address::NodeAddress};

/// The characters that end a user or a host. Within them they are written as `%40` and the like, so that no URL can be read
/// in two ways.
pub(super) const ENDS: [char; 4] = ['/', '?', '#', '@'];
const QUERY: &str = "with a query that cannot be read";

/// The parts of a URL behind its scheme, each still encoded.
pub(crate) struct UrlParts<'a> {
    /// `user:password@`, or nothing.
    pub(crate) user: &'a str,
    pub(crate) hosts: Vec<NodeAddress>,
    /// The service of sentinels, or nothing.
    pub(crate) service: &'a str,
    /// The number of the database, or nothing.
    pub(crate) database: &'a str,
    pub(crate) query: &'a str,
}

impl<'a> UrlParts<'a> {
    /// Reads the rest of a URL of this scheme, which is not that of a socket. The fault reads on from the scheme:
    /// `with port 99999, …`.
    pub(crate) fn read(scheme: &str, rest: &'a str) -> Result<Self, String> {
        let (user, place) = rest.split_at(rest.rfind('@').map_or(0, |at| at + 1));
        if user.strip_suffix('@').is_some_and(|user| user.contains(ENDS)) {
            let fault = "with one of / ? # @ in its user or password: there, write %2F %3F %23 %40";
            return Err(fault.to_owned());
        }
        let (place, query) = place.split_once('?').unwrap_or((place, ""));
        let (hosts, path) = place.split_once('/').unwrap_or((place, ""));
        let kind = scheme.split_once('+').map(|(_, kind)| kind);
        let usual_port = if kind == Some("sentinel") { 26379 } else { 6379 };
        let hosts = hosts.split(|c| c == ',' && kind.is_some()).map(|host| address(host, usual_port));
        let hosts = hosts.collect::<Result<_, _>>()?;
        let (service, database) = service_and_database(kind, path)?;
        Ok(Self { user, hosts, service, database, query })
    }
}

fn address(text: &str, usual_port: u16) -> Result<NodeAddress, String> {
    // The colons of an IPv6 address stand in brackets.
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let has_loose_colons = host.contains(':') && bare.is_none();
    let host = bare.unwrap_or(host);
    if host.is_empty() {
        return Err("without a host".to_owned());
    }
    if has_loose_colons || !host.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:".contains(c)) {
        return Err("with a host that cannot be read".to_owned());
    }
    let Some(port) = port else { return Ok(NodeAddress::new(host.to_owned(), usual_port)) };
    match port.parse() {
        // A number may have a sign.
        Ok(number) if !port.starts_with('+') => Ok(NodeAddress::new(host.to_owned(), number)),
        // A number of more digits may be a password behind which the host is missing.
        Err(_) if port.len() == 5 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("with port {port}, which is more than 65535"))
        }
        _ => Err("with a port that is no number from 1 to 65535".to_owned()),
    }
}

fn service_and_database<'a>(kind: Option<&str>, path: &'a str) -> Result<(&'a str, &'a str), String> {
    let (service, database) = match (kind, path.split_once('/').unwrap_or((path, ""))) {
        (Some("cluster"), _) if !path.is_empty() => {
            return Err("with a path: a cluster has no databases".to_owned());
        }
        (Some("sentinel"), ("", _)) => return Err("without a service behind the hosts".to_owned()),
        (Some("sentinel"), parts) => parts,
        _ => ("", path),
    };
    if !service.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) {
        return Err("with a service of other letters than A-Z a-z 0-9 . - _".to_owned());
    }
    match database {
        number if number.is_empty() || number.parse::<u32>().is_ok() && !number.starts_with('+') => {
            Ok((service, number))
        }
        word if is_plain(word) => Err(format!("with database {word:?}, which is no number")),
        _ => Err("with a database that is no number".to_owned()),
    }
}

pub(crate) fn invalid(scheme: &str, rest: &str, allowed: &str) -> InvalidValue {
    let fault = if scheme.ends_with("unix") {
        let path = rest.split('?').next().unwrap_or_default().trim_matches('/');
        if path.is_empty() { "without a path" } else { QUERY }.to_owned()
    } else {
        match UrlParts::read(scheme, rest) {
            Ok(parts) => if parts.query.is_empty() { "that cannot be read" } else { QUERY }.to_owned(),
            Err(fault) => fault,
        }
    };
    InvalidValue::new("store.url", format_args!("{scheme}://… {fault}"), allowed)
}

/// Describes a part of the URL of one server that the client library passes over. `None` if it uses all parts.
///
/// Who writes `?db=3` would otherwise lock in database 0.
pub(crate) fn unused(scheme: &str, rest: &str, read: &RedisConnectionInfo) -> Option<&'static str> {
    if rest.contains('#') {
        return Some("with # and more: a # in a user, password or path is written %23");
    }
    let is_socket = scheme.ends_with("unix");
    let used: &[_] = if is_socket { &["db", "user", "pass", "protocol"] } else { &["protocol"] };
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let keys: Vec<_> = pairs.map(|pair| pair.split_once('=').map_or(pair, |(key, _)| key)).collect();
    if !keys.iter().all(|key| used.contains(key)) {
        return Some(match is_socket {
            true => "with something else than db, user, pass and protocol behind the ?",
            false => {
                "with ? and more: a database is written /3, a user and password user:password@ before the host"
            }
        });
    }
    if keys.iter().collect::<BTreeSet<_>>().len() < keys.len() {
        return Some("with one key twice behind the ?");
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
    fn a_port_and_a_database_are_digits_without_a_sign() {
        for rest in ["a:+6379", "a:6379/s/+3", "a:1,b:+2/s"] {
            let fault = UrlParts::read("redis+sentinel", rest).err();
            assert!(fault.as_ref().is_some_and(|fault| fault.contains("no number")), "{rest}: {fault:?}");
        }
        assert!(UrlParts::read("redis+sentinel", "a:6379/s/3").is_ok());
    }

    #[test]
    fn a_character_that_ends_a_user_is_told_with_how_to_write_it() {
        for (scheme, rest) in [("redis", ":s3/cret@host"), ("redis+cluster", "u:12?s3cret@a")] {
            let told = "with one of / ? # @ in its user or password: there, write %2F %3F %23 %40";
            assert_eq!(UrlParts::read(scheme, rest).err().as_deref(), Some(told));
        }
    }
}
