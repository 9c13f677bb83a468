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

use self::exchange::Probing;
pub use self::rights::prefix;
pub use self::snapshot::{
    Directory, MissingRight, ProbedServer, Purpose, Range, Reading, SentinelOpinion, SentinelSnapshot,
    ServerAnswer, ServerInfo, Snapshot,
};
pub use crate::store::redis::{net::cluster::slot::SLOTS, wire::keys::slot};
use crate::{
    core::InvalidValue,
    store::redis::net::{
        opening::address,
        options::RedisOptions,
        urls::{self, NamedServers},
    },
};

/// Probes all servers that this URL leads to. Points in time are counted from `began`.
pub async fn run(url: &str, options: &RedisOptions, began: Instant) -> Result<Snapshot, InvalidValue> {
    let asking = Probing { options, began, cluster: false, sentinel: false };
    Ok(match urls::named(url, options)? {
        NamedServers::One(client) => {
            let info = asking.ask(&client).await;
            let server = ProbedServer { address: address(&client), is_replica: false, info };
            Snapshot { servers: vec![server], directory: Directory::None }
        }
        NamedServers::Sentinel { sentinels, service, nodes } => {
            sentinel::run(Probing { sentinel: true, ..asking }, sentinels, &service, &nodes).await
        }
        NamedServers::Cluster { seeds, nodes } => {
            cluster::run(Probing { cluster: true, ..asking }, seeds, &nodes).await
        }
    })
}
