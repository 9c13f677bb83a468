//! The address of a store, which may contain a password and is therefore never shown whole.

use std::fmt;

use serde::Deserialize;

/// The address of a store. [`Debug`](fmt::Debug) and [`Display`](fmt::Display) leave out everything that may be a
/// secret; [`reveal`](Self::reveal) does not.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct StoreUrl(pub(super) String);

impl StoreUrl {
    /// Returns the whole address, password included.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns what can be shown: scheme, host, port and path. If it is not certain which part is which, only the scheme.
    fn shown(&self) -> Option<(&str, &str)> {
        let (scheme, rest) = self.0.split_once("://")?;
        if scheme == "quorum" {
            return Some((scheme, "***"));
        }
        let known = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        if !scheme.chars().all(known) {
            return None;
        }
        let (place, query) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        let port = host.split('/').next().and_then(|host| host.rsplit_once(':')).map_or("", |(_, port)| port);
        // A question mark or a # inside of a password, or a password without the `@` that ends it.
        let unclear = query.contains('@') || !port.bytes().all(|byte| byte.is_ascii_digit());
        Some((scheme, if unclear { "***" } else { host }))
    }
}

impl<T: Into<String>> From<T> for StoreUrl {
    fn from(url: T) -> Self {
        Self(url.into())
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(nodes) = self.as_quorum() {
            let nodes: Vec<String> = nodes.map(|node| node.to_string()).collect();
            return write!(f, "quorum://[{}]", nodes.join(","));
        }
        match self.shown() {
            Some((scheme, place)) => write!(f, "{scheme}://{place}"),
            None => f.write_str("***"),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_everything_but_its_secrets() {
        let cases = [
            ("memory://", "memory://"),
            ("memory://shop", "memory://shop"),
            ("redis://localhost", "redis://localhost"),
            ("redis://10.0.0.1:6379/2", "redis://10.0.0.1:6379/2"),
            ("redis://user:hunter2@host:6379/2", "redis://host:6379/2"),
            ("rediss://:hunter2@host", "rediss://host"),
            ("redis://:hun@ter2@host", "redis://host"),
            ("redis://:hunter2/@host", "redis://host"),
            ("redis+unix:///run/redis.sock?db=1&pass=hunter2", "redis+unix:///run/redis.sock"),
            ("redis+unix:///run/redis.sock?pass=@hunter2", "redis+unix://***"),
            ("redis://:hunter?2@host", "redis://***"),
            ("redis://:hunter2", "redis://***"),
            ("redis://host#hunter2", "redis://host"),
            ("redis://:hun#ter2@host", "redis://***"),
            (
                "redis+sentinel://u:hunter2@a:1,b:2/svc/3?sentinel_password=hunter2",
                "redis+sentinel://a:1,b:2/svc/3",
            ),
            ("redis+cluster://u:hunter2@a:1,b:2", "redis+cluster://a:1,b:2"),
            ("hunter2@redis://host", "***"),
            ("quorum://[redis://:hunter2@a:1,redis://b]", "quorum://[redis://a:1,redis://b]"),
            ("quorum://[redis://:hun,ter2@a:1,redis://b]", "quorum://[redis://***,***,redis://b]"),
            ("quorum://redis://:hunter2@a", "quorum://***"),
            ("hunter2", "***"),
            ("", "***"),
        ];
        for (url, shown) in cases {
            assert_eq!(StoreUrl::from(url).to_string(), shown, "{url}");
            assert_eq!(format!("{:?}", StoreUrl::from(url)), format!("\"{shown}\""));
        }
    }
}
