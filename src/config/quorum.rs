//! The address of a quorum, `quorum://[url,url,…]`, and the store that it leads to.

use std::sync::Arc;

use crate::{
    config::{Config, StoreUrl},
    core::{InvalidValue, ensure},
    store::{QuorumNode, QuorumOptions, QuorumStore},
};

const SCHEME: &str = "quorum://";
const ALLOWED: &str = "quorum://[url,url,…] with the addresses of 2 or more servers, better 3 or 5: redis://, rediss:// \
                       or redis+unix://";

impl StoreUrl {
    /// Returns the addresses between the brackets.
    pub(super) fn as_quorum(&self) -> Option<impl Iterator<Item = Self> + '_> {
        let inner = self.0.strip_prefix(SCHEME)?.strip_prefix('[')?.strip_suffix(']')?;
        Some(inner.split(',').map(|url| Self(url.trim().to_owned())))
    }

    /// Returns the nodes of a quorum. `None` if the address is not that of a quorum.
    ///
    /// # Errors
    /// [`InvalidValue`] if it is the address of a quorum, and a node is no single server.
    pub fn nodes(&self) -> Result<Option<Vec<Self>>, InvalidValue> {
        if !self.0.starts_with(SCHEME) {
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

impl Config {
    pub(super) fn quorum(&self, nodes: &[StoreUrl]) -> Result<QuorumStore, InvalidValue> {
        let open = |url: &StoreUrl| {
            let node: Arc<dyn QuorumNode> = self.server(url)?;
            Ok((url.to_string(), node))
        };
        let nodes = nodes.iter().map(open).collect::<Result<Vec<_>, InvalidValue>>()?;
        let options = QuorumOptions {
            node_timeout: self.store.node_timeout,
            connect_timeout: self.store.connect_timeout,
            max_ttl: self.limits.max_ttl,
            fresh_start: self.store.fresh_start,
        };
        QuorumStore::new(nodes, options)
    }
}
