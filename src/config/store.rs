//! The store that a configuration leads to.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use parking_lot::Mutex;

use crate::{
    config::{Config, ConfigError, StoreConfig, StoreUrl},
    core::{InvalidValue, ensure, exact},
    store::{
        MemoryStore, QuorumNode, QuorumOptions, QuorumStore, RedisStore, Store,
        redis::{CredentialsProvider, RedisOptions},
    },
};

/// The stores in memory, by name and prefix. A store lives as long as the process, as a server would. What is held in it
/// stays held until its end, even when the manager that took it is gone.
static IN_MEMORY: Mutex<BTreeMap<(String, String), MemoryStore>> = Mutex::new(BTreeMap::new());

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
            Some(name) => Ok(Arc::new(self.store_in_memory(name))),
            None => Ok(self.store_outside()?),
        }
    }

    /// Returns the options for a Redis server.
    pub fn redis_options(&self) -> RedisOptions {
        let given = |file: &Path| (!file.as_os_str().is_empty()).then(|| file.to_owned());
        let store = &self.store;
        let from_files = |password| CredentialsProvider::from_files(password, given(&store.user_file));
        RedisOptions {
            prefix: store.prefix.clone(),
            layout: store.layout,
            replicas_ack: store.replicas_ack,
            tls_ca: given(&store.tls_ca),
            tls_certificate: given(&store.tls_certificate),
            tls_key: given(&store.tls_key),
            credentials: given(&store.password_file).map(from_files),
            sentinel_credentials: None,
            connect_timeout: store.connect_timeout,
            response_timeout: self.response_timeout(),
            keepalive: store.keepalive,
            fence_retention: store.fence_retention,
            watch_leases: store.watch_leases,
        }
    }

    /// Returns the store of this name. Another prefix is another store, because on a server it would see none of the same keys.
    fn store_in_memory(&self, name: &str) -> MemoryStore {
        let place = (name.to_owned(), self.store.prefix.clone());
        let new = || {
            tracing::warn!("{}", self.store.url.memory_warning().unwrap_or_default());
            MemoryStore::default()
        };
        IN_MEMORY.lock().entry(place).or_insert_with(new).clone()
    }

    /// Returns a store that is not in the memory of this process.
    pub(super) fn store_outside(&self) -> Result<Arc<dyn Store>, InvalidValue> {
        self.check_response_timeout()?;
        let StoreConfig { user_file, password_file, .. } = &self.store;
        let is_alone = password_file.as_os_str().is_empty() && !user_file.as_os_str().is_empty();
        ensure(!is_alone, "store.user_file", "given", "nothing without store.password_file")?;
        let Some(nodes) = self.store.url.nodes()? else { return Ok(self.server(&self.store.url)?) };
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
        Ok(Arc::new(QuorumStore::new(nodes, options)?))
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
