//! A probe of the servers that a URL names, by questions that change nothing.
//!
//! **Invariant:** nothing here judges what it finds; `doctor` does. All servers are asked at once, each for a bounded time.

mod ask;
mod cluster;
mod exchange;
mod rights;
mod sentinel;
mod snapshot;

use tokio::time::Instant;

use self::ask::Asking;
pub(crate) use self::snapshot::{
    Answer, ClusterSnapshot, Directory, Lack, Opinion, Purpose, Range, Reading, SentinelSnapshot, Server,
    ServerInfo, Snapshot, Table,
};
use crate::{
    core::{InvalidValue, ResourceName},
    store::redis::{
        net::{
            options::{Layout, RedisOptions},
            urls::{self, Named},
        },
        wire::{keys, plain},
    },
};

/// Probes all servers that this URL leads to. Points in time are counted from `began`.
pub(crate) async fn run(url: &str, options: &RedisOptions, began: Instant) -> Result<Snapshot, InvalidValue> {
    let asking = Asking { options, began, cluster: false, sentinel: false };
    Ok(match urls::named(url, options)? {
        Named::One(client) => {
            let address = client.get_connection_info().addr().to_string();
            let info = asking.ask(&client).await;
            let server = Server { address, is_replica: false, info };
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

/// Returns the slot of a cluster in which a resource is kept.
pub(crate) fn slot(layout: Layout, prefix: &str, resource: &ResourceName) -> u16 {
    match layout {
        Layout::Full => keys::slot(resource),
        Layout::Plain => plain::slot(prefix, resource),
    }
}

/// Returns a prefix for the probe alone, below the usual one. No application uses it, and a user who has the rights to
/// the keys and channels of `prefix` has them to this one too.
pub(crate) fn prefix(prefix: &str) -> String {
    let before = if prefix.is_empty() { "leasehold" } else { prefix };
    format!("{before}:inbox:doctor")
}
