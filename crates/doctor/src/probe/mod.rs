//! The probe of the servers that a URL names, by questions that change nothing.
//!
//! **Invariant:** nothing here judges what it finds. All servers are asked at once, each for a bounded time.

mod directories;
mod questions;
mod rights;
mod snapshot;

use std::time::Duration;

use futures_util::future::join_all;
use leasehold::{
    InvalidValue, RedisOptions, StoreError,
    probe::{
        Exchange, NamedServers, NodeAddress, Nodes, Server, address, named, recovered, recovered_key, table,
    },
};
use redis::Value;
use tokio::time::Instant;

use self::{
    questions::{Probing, next, read},
    snapshot::InfoTable,
};
pub use self::{
    rights::prefix,
    snapshot::{
        Directory, MissingRight, ProbedServer, Purpose, Range, Reading, SentinelOpinion, SentinelSnapshot,
        ServerAnswer, ServerInfo, Snapshot,
    },
};

/// The settings that `INFO` does not report.
const SETTINGS: [&str; 5] =
    ["appendfsync", "save", "stop-writes-on-bgsave-error", "min-replicas-to-write", "cluster-node-timeout"];
/// The number of readings of a clock. The first one pays for much that has nothing to do with the network.
const READINGS: usize = 3;

/// Probes all servers that this URL leads to. Points in time are counted from `began`.
pub async fn run(url: &str, options: &RedisOptions, began: Instant) -> Result<Snapshot, InvalidValue> {
    let asking = Probing { options, began, cluster: false, sentinel: false };
    Ok(match named(url, options)? {
        NamedServers::One(server) => {
            let info = asking.ask(&server).await;
            let server = ProbedServer { address: address(&server), is_replica: false, info };
            Snapshot { servers: vec![server], directory: Directory::None }
        }
        NamedServers::Sentinel { sentinels, service, nodes } => {
            directories::of_sentinels(Probing { sentinel: true, ..asking }, sentinels, &service, &nodes).await
        }
        NamedServers::Cluster { seeds, nodes } => {
            directories::of_a_cluster(Probing { cluster: true, ..asking }, seeds, &nodes).await
        }
    })
}

impl Probing<'_> {
    /// Asks servers, each with true if it is known as a replica.
    pub(super) async fn each(&self, nodes: &Nodes, named: &[(NodeAddress, bool)]) -> Vec<ProbedServer> {
        let servers = named.iter().map(async |(node, is_replica)| {
            let info = async { self.ask(&nodes.server(node)?).await }.await;
            ProbedServer { address: node.to_string(), is_replica: *is_replica, info }
        });
        join_all(servers).await
    }

    pub(super) async fn ask(&self, server: &Server) -> Result<ServerInfo, StoreError> {
        let mut exchange = Exchange::open(server, self.options).await?;
        let (round_trip, clock) = self.clock(&mut exchange).await?;
        let mut questions = redis::pipe();
        questions.cmd("INFO");
        if self.cluster {
            questions.cmd("CLUSTER").arg("INFO");
        } else {
            questions.cmd("GET").arg(recovered_key(&self.options.prefix));
        }
        for setting in SETTINGS {
            questions.cmd("CONFIG").arg("GET").arg(setting);
        }
        let mut answers = exchange.send(questions).await?.into_iter();
        let info = lines(next(&mut answers));
        let cluster = if self.cluster { lines(next(&mut answers)) } else { Ok(InfoTable::new()) };
        let written = if self.cluster { Ok(None) } else { read::<Option<Vec<u8>>>(next(&mut answers)) };
        let recovered = written.map(|written| recovered(&written?));
        let config = answers.map(read::<InfoTable>).try_fold(InfoTable::new(), |mut settings, told| {
            settings.extend(told?);
            Ok(settings)
        });
        let lacks = rights::lacks(self, &mut exchange).await?;
        Ok(ServerInfo { round_trip, clock, info, config, cluster, recovered, lacks })
    }

    /// Reads the clock several times. Returns the duration of the shortest reading, and its answer.
    async fn clock(&self, exchange: &mut Exchange) -> Result<(Duration, ServerAnswer<Reading>), StoreError> {
        let mut readings = Vec::with_capacity(READINGS);
        for _ in 0..READINGS {
            let (sent, mut time) = (Instant::now(), redis::pipe());
            time.cmd("TIME");
            let answer = next(&mut exchange.send(time).await?.into_iter());
            readings.push((sent.elapsed(), sent, answer));
        }
        let shortest = readings.into_iter().min_by_key(|(took, ..)| *took);
        let (took, sent, answer) = shortest.expect("it is read more than once");
        let reading = read::<(u64, u64)>(answer).map(|(seconds, micros)| Reading {
            at: sent.duration_since(self.began) + took / 2,
            shown: Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros)),
        });
        Ok((took, reading))
    }
}

fn lines(answer: Value) -> ServerAnswer<InfoTable> {
    read::<String>(answer).map(|text| table(&text))
}
