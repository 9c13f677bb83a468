//! A probe of the servers that a URL names, by questions that change nothing.
//!
//! **Invariant:** nothing here judges what it finds; the package `leasehold-doctor`
//! does. All servers are asked at once, each for a bounded time.

mod ask;
mod cluster;
mod exchange;
mod rights;
mod sentinel;
mod snapshot;

use tokio::time::Instant;

use self::exchange::Asking;
pub use self::snapshot::{
    Answer, ClusterSnapshot, Directory, Lack, Opinion, ProbedServer, Purpose, Range, Reading,
    SentinelSnapshot, ServerInfo, Snapshot,
};
pub use crate::store::redis::{net::cluster::slot::SLOTS, wire::encoder::slot};
use crate::{
    core::InvalidValue,
    store::redis::net::{
        dial::address,
        options::RedisOptions,
        urls::{self, Named},
    },
};

/// Probes all servers that this URL leads to. Points in time are counted from `began`.
pub async fn run(url: &str, options: &RedisOptions, began: Instant) -> Result<Snapshot, InvalidValue> {
    let asking = Asking { options, began, cluster: false, sentinel: false };
    Ok(match urls::named(url, options)? {
        Named::One(client) => {
            let info = asking.ask(&client).await;
            let server = ProbedServer { address: address(&client), is_replica: false, info };
            Snapshot { servers: vec![server], directory: Directory::None }
        }
        Named::Sentinel { sentinels, service, nodes } => {
            sentinel::run(Asking { sentinel: true, ..asking }, sentinels, &service, &nodes).await
        }
        Named::Cluster { seeds, nodes } => {
            cluster::run(Asking { cluster: true, ..asking }, seeds, &nodes).await
        }
    })
}

/// Returns a prefix for the probe alone, below the usual one. No application uses it, and a user who has the rights to
/// the keys and channels of `prefix` has them to this one too.
pub fn prefix(prefix: &str) -> String {
    let before = if prefix.is_empty() { "leasehold" } else { prefix };
    format!("{before}:inbox:doctor")
}
