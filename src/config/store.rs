//! The store that a configuration leads to; a quorum has the address `quorum://[url,url,…]`.

use std::{path::Path, sync::Arc};

use crate::{
    config::{Config, ConfigError, StoreUrl, memory},
    core::{InvalidValue, ensure, exact},
    store::{QuorumNode, QuorumOptions, QuorumStore, RedisStore, Store, redis::RedisOptions},
};

const QUORUM: &str = "quorum://";
const ALLOWED: &str = "quorum://[url,url,…] with the addresses of 2 or more servers, better 3 or 5: redis://, rediss:// \
                       or redis+unix://";

impl StoreUrl {
    /// Returns the addresses between the brackets.
    pub(super) fn as_quorum(&self) -> Option<impl Iterator<Item = Self> + '_> {
        let inner = self.0.strip_prefix(QUORUM)?.strip_prefix('[')?.strip_suffix(']')?;
        Some(inner.split(',').map(|url| Self(url.trim().to_owned())))
    }

    /// Returns the nodes of a quorum. `None` if the address is not that of a quorum.
    ///
    /// # Errors
    /// [`InvalidValue`] if it is the address of a quorum, and a node is no single server.
    pub fn nodes(&self) -> Result<Option<Vec<Self>>, InvalidValue> {
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

impl Config {
    /// Returns the store. It connects when it is first used, so it may be unreachable now.
    ///
    /// `memory://` and `memory://name` are one store for each process, name and
    /// [`prefix`](crate::StoreConfig::prefix): all who open them share its locks. A store of one's own is a
    /// [`MemoryStore::default()`](crate::MemoryStore).
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] when a setting is out of its bounds, or contradicts another one.
    pub fn open_store(&self) -> Result<Arc<dyn Store>, ConfigError> {
        match self.store.url.memory_name()? {
            Some(name) => Ok(Arc::new(memory::shared(name, &self.store.prefix))),
            None => Ok(self.store_outside()?),
        }
    }

    /// Checks that there is a store to open, and opens none in memory.
    pub(super) fn check_store(&self) -> Result<(), InvalidValue> {
        match self.store.url.memory_name()? {
            Some(_) => Ok(()),
            None => self.store_outside().map(drop),
        }
    }

    /// Returns the options for a Redis server.
    pub fn redis_options(&self) -> RedisOptions {
        let given = |file: &Path| (!file.as_os_str().is_empty()).then(|| file.to_owned());
        let store = &self.store;
        RedisOptions {
            prefix: store.prefix.clone(),
            layout: store.layout,
            replicas_ack: store.replicas_ack,
            tls_ca: given(&store.tls_ca),
            tls_certificate: given(&store.tls_certificate),
            tls_key: given(&store.tls_key),
            connect_timeout: store.connect_timeout,
            response_timeout: self.response_timeout(),
            keepalive: store.keepalive,
            fence_retention: store.fence_retention,
        }
    }

    /// Returns a store that is not in the memory of this process.
    fn store_outside(&self) -> Result<Arc<dyn Store>, InvalidValue> {
        self.check_response_timeout()?;
        match self.store.url.nodes()? {
            Some(nodes) => Ok(Arc::new(self.quorum(&nodes)?)),
            None => Ok(self.server(&self.store.url)?),
        }
    }

    fn quorum(&self, nodes: &[StoreUrl]) -> Result<QuorumStore, InvalidValue> {
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

    fn server(&self, url: &StoreUrl) -> Result<Arc<RedisStore>, InvalidValue> {
        let store = RedisStore::with_options(url.reveal(), self.redis_options());
        store.map(Arc::new).map_err(|invalid| match &*invalid.field {
            // A Redis store does not know that there are others.
            "store.url" => {
                let allowed =
                    format!("memory://, {}, or quorum://[url,url,…] of these servers", invalid.allowed);
                InvalidValue { allowed, ..invalid }
            }
            _ => invalid,
        })
    }

    /// Checks that a renewal that is not answered leaves time for a repetition. Otherwise one lost answer costs the lease.
    fn check_response_timeout(&self) -> Result<(), InvalidValue> {
        let (timeout, interval, ttl) =
            (self.response_timeout(), self.lease.renewal_interval(), self.lease.ttl);
        let allowed = format!(
            "at most half of what lies between lease.renewal_interval ({}) and lease.ttl ({})",
            exact(interval),
            exact(ttl)
        );
        ensure(timeout <= self.time_to_repeat(), "store.response_timeout", exact(timeout), allowed)
    }
}
