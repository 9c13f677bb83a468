//! Descriptions of unreadable URLs, in words that show nothing that may be a password.

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
    use super::*;

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
