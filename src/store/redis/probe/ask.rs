//! The questions to one server, in a few round trips.

use std::time::Duration;

use futures_util::future::join_all;
use redis::{Client, Pipeline, Value};
use tokio::time::Instant;

use crate::store::{
    StoreError,
    redis::{
        net::{
            address::{NodeAddress, Nodes},
            info::{self, InfoTable},
        },
        probe::{
            exchange::{Exchange, Probing, next, read},
            rights,
            snapshot::{ProbedServer, Reading, ServerAnswer, ServerInfo},
        },
        wire::{decode, keys},
    },
};

/// The settings that `INFO` does not report.
const SETTINGS: [&str; 5] =
    ["appendfsync", "save", "stop-writes-on-bgsave-error", "min-replicas-to-write", "cluster-node-timeout"];
/// The number of readings of a clock. The first one pays for much that has nothing to do with the network.
const READINGS: usize = 3;

impl Probing<'_> {
    /// Asks servers, each with true if it is known as a replica.
    pub(super) async fn each(
        &self,
        nodes: &Nodes,
        named: impl IntoIterator<Item = (&NodeAddress, bool)>,
    ) -> Vec<ProbedServer> {
        let servers = named.into_iter().map(async |(node, is_replica)| {
            let info = async { self.ask(&nodes.client(node)?).await }.await;
            ProbedServer { address: node.to_string(), is_replica, info }
        });
        join_all(servers).await
    }

    pub(super) async fn ask(&self, client: &Client) -> Result<ServerInfo, StoreError> {
        let mut exchange = self.open(client).await?;
        let (round_trip, clock) = self.clock(&mut exchange).await?;
        let mut answers = exchange.send(self.questions()).await?.into_iter();
        let info = lines(next(&mut answers));
        let cluster = if self.cluster { lines(next(&mut answers)) } else { Ok(InfoTable::new()) };
        let written = if self.cluster { Ok(None) } else { read::<Option<Vec<u8>>>(next(&mut answers)) };
        let recovered = written.map(|written| decode::recovered(&written?));
        let config = settings(answers);
        let lacks = rights::lacks(self, &mut exchange).await?;
        Ok(ServerInfo { round_trip, clock, info, config, cluster, recovered, lacks })
    }

    /// Reads the clock several times. Returns the duration of the shortest reading, and its answer.
    async fn clock(&self, exchange: &mut Exchange) -> Result<(Duration, ServerAnswer<Reading>), StoreError> {
        let mut best = None::<(Duration, _)>;
        for _ in 0..READINGS {
            let (sent, mut time) = (Instant::now(), redis::pipe());
            time.cmd("TIME");
            let answer = next(&mut exchange.send(time).await?.into_iter());
            let took = sent.elapsed();
            if best.as_ref().is_none_or(|(shortest, _)| took < *shortest) {
                let at = sent.duration_since(self.began) + took / 2;
                let reading = read::<(u64, u64)>(answer).map(|(seconds, micros)| Reading {
                    at,
                    shown: Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros)),
                });
                best = Some((took, reading));
            }
        }
        Ok(best.unwrap_or_else(|| (Duration::ZERO, Err("it was not asked".to_owned()))))
    }

    fn questions(&self) -> Pipeline {
        let mut questions = redis::pipe();
        questions.cmd("INFO");
        if self.cluster {
            questions.cmd("CLUSTER").arg("INFO");
        } else {
            questions.cmd("GET").arg(keys::fence(&self.options.prefix, None) + "recovered");
        }
        for setting in SETTINGS {
            questions.cmd("CONFIG").arg("GET").arg(setting);
        }
        questions
    }
}

fn lines(answer: Value) -> ServerAnswer<InfoTable> {
    read::<String>(answer).map(|text| info::table(&text))
}

fn settings(answers: impl Iterator<Item = Value>) -> ServerAnswer<InfoTable> {
    let mut settings = InfoTable::new();
    for answer in answers {
        settings.extend(read::<InfoTable>(answer)?);
    }
    Ok(settings)
}
