//! The section `[store]` of `config.toml`; the other sections are the settings of a lock manager.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;

use crate::{
    config::StoreUrl,
    request::keys::{duration, given_duration},
    store::redis::Layout,
};

/// `[store]`: where locks live.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StoreConfig {
    /// The address: `memory://[name]`, `redis://`, `rediss://`, `redis+unix://`, `redis+sentinel://`, `redis+cluster://`, or
    /// `quorum://[url,url,…]` of several single servers. Default: `memory://`.
    pub url: StoreUrl,
    /// The beginning of every key in Redis. Default: `leasehold`.
    pub prefix: String,
    /// The layout of locks in Redis. Default: full.
    #[serde(with = "LayoutName")]
    pub layout: Layout,
    /// The number of replicas that must confirm a grant or a renewal. Default: 0.
    pub replicas_ack: u32,
    /// The authorities that may vouch for a server with TLS. Default: empty, the public ones.
    pub tls_ca: PathBuf,
    /// The certificate that the client shows. Default: empty, none.
    pub tls_certificate: PathBuf,
    /// The private key of [`tls_certificate`](Self::tls_certificate). Default: empty, none.
    pub tls_key: PathBuf,
    /// The time that connecting may take. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub connect_timeout: Duration,
    /// The time that an answer may take before it counts as unknown. At most half of the time between
    /// [`LeaseSettings::renewal_interval`](crate::LeaseSettings::renewal_interval) and its `ttl`. `None`: see
    /// [`Config::response_timeout`](crate::Config::response_timeout).
    #[serde(default, deserialize_with = "given_duration")]
    pub response_timeout: Option<Duration>,
    /// The time without traffic after which the system asks over TCP whether the server is there. Default: 30 s.
    #[serde(deserialize_with = "duration")]
    pub keepalive: Duration,
    /// The time for which the last fence of a resource is kept after its last grant; on the nodes of a quorum for
    /// ever. Default: 1 h.
    #[serde(deserialize_with = "duration")]
    pub fence_retention: Duration,
    /// The time to wait for a node of a quorum; never longer than a twentieth of the TTL. Default: 50 ms.
    #[serde(deserialize_with = "duration")]
    pub node_timeout: Duration,
    /// True if the nodes of a quorum may count however young they are, which is for the first start: see
    /// [`QuorumOptions::fresh_start`](crate::QuorumOptions::fresh_start). Default: no.
    pub fresh_start: bool,
}

/// The names of [`Layout`] in a configuration.
#[derive(Deserialize)]
#[serde(remote = "Layout", rename_all = "snake_case")]
enum LayoutName {
    Full,
    Plain,
}
