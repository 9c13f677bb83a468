//! The address of a store, which may contain a password and is therefore never shown whole.

use std::{env, fmt};

use serde::Deserialize;

use crate::core::{InvalidValue, ensure};

const MEMORY: &str = "memory://";
const QUORUM: &str = "quorum://";

/// The maximum length of the name of a store in memory.
const LONGEST_NAME: usize = 64;

/// The address of a store. [`Debug`](fmt::Debug) and [`Display`](fmt::Display) leave out everything that may be a
/// secret; [`reveal`](Self::reveal) does not.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct StoreUrl(String);

impl StoreUrl {
    /// Returns the whole address, password included.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns true if locks live in this process only.
    pub fn is_memory(&self) -> bool {
        self.0.starts_with(MEMORY)
    }

    /// Returns the warning about a store in memory; `None` if locks live elsewhere.
    pub fn memory_warning(&self) -> Option<String> {
        let name = self.0.strip_prefix(MEMORY)?;
        // Also for whoever has set the variable of other programs.
        let near = match env::var_os("REDIS_URL") {
            Some(url) if !url.is_empty() => {
                "; REDIS_URL is set, and is not read: the variable for it is LEASEHOLD_STORE_URL"
            }
            _ => "",
        };
        Some(format!("store.url is {MEMORY}{name}, so locks exclude nobody outside of this process{near}"))
    }

    /// Returns the name of a store in memory, empty for `memory://`. `None` if locks live elsewhere.
    pub(super) fn memory_name(&self) -> Result<Option<&str>, InvalidValue> {
        let Some(name) = self.0.strip_prefix(MEMORY) else { return Ok(None) };
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let allowed = format!("memory:// or memory://name, with up to {LONGEST_NAME} of A-Z a-z 0-9 _ . -");
        let is_name = name.len() <= LONGEST_NAME && name.bytes().all(known);
        ensure(is_name, "store.url", "memory://…", allowed).map(|()| Some(name))
    }

    /// Returns the addresses between the brackets.
    fn as_quorum(&self) -> Option<impl Iterator<Item = Self> + '_> {
        let inner = self.0.strip_prefix(QUORUM)?.strip_prefix('[')?.strip_suffix(']')?;
        Some(inner.split(',').map(|url| Self(url.trim().to_owned())))
    }

    /// Returns the nodes of a quorum. `None` if the address is not that of a quorum.
    ///
    /// # Errors
    /// [`InvalidValue`] if it is the address of a quorum, and a node is no single server.
    pub fn nodes(&self) -> Result<Option<Vec<Self>>, InvalidValue> {
        const ALLOWED: &str = "quorum://[url,url,…] with the addresses of 2 or more servers, better 3 or 5: redis://, \
                               rediss:// or redis+unix://";
        if !self.0.starts_with(QUORUM) {
            return Ok(None);
        }
        let wrong = || InvalidValue::new("store.url", "quorum:// without [ and ]", ALLOWED);
        let nodes: Vec<Self> = self.as_quorum().ok_or_else(wrong)?.collect();
        for node in &nodes {
            let is_server = ["redis://", "rediss://", "redis+unix://", "unix://"]
                .iter()
                .any(|scheme| node.0.starts_with(scheme));
            ensure(is_server, "store.url", format_args!("the node {node}"), ALLOWED)?;
        }
        Ok(Some(nodes))
    }
}

impl<T: Into<String>> From<T> for StoreUrl {
    fn from(url: T) -> Self {
        Self(url.into())
    }
}

/// Shows scheme, host, port and path. If it is not certain which part is which, only the scheme.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(nodes) = self.as_quorum() {
            let nodes: Vec<String> = nodes.map(|node| node.to_string()).collect();
            return write!(f, "quorum://[{}]", nodes.join(","));
        }
        let known = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let Some((scheme, rest)) = self.0.split_once("://").filter(|(scheme, _)| scheme.chars().all(known))
        else {
            return f.write_str("***");
        };
        let (place, query) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        let port = host.split('/').next().and_then(|host| host.rsplit_once(':')).map_or("", |(_, port)| port);
        // A question mark or a # inside of a password, or a password without the `@` that ends it.
        let unclear = query.contains('@') || !port.bytes().all(|byte| byte.is_ascii_digit());
        let shown = if scheme == "quorum" || unclear { "***" } else { host };
        write!(f, "{scheme}://{shown}")
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
