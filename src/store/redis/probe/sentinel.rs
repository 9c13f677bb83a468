//! The probe of sentinels, and of the servers that they name.

use std::time::Duration;

use futures_util::future::join_all;
use redis::Client;

use crate::store::{
    StoreError,
    redis::{
        net::{
            address::{NodeAddress, Nodes},
            belief,
            info::{self, InfoTable},
            opening::address,
        },
        probe::{
            exchange::{Probing, missing, next, read},
            snapshot::{Directory, SentinelOpinion, SentinelSnapshot, Snapshot},
        },
    },
};

pub(super) async fn run(
    asking: Probing<'_>,
    sentinels: Vec<Client>,
    service: &str,
    nodes: &Nodes,
) -> Snapshot {
    let told = join_all(sentinels.iter().map(|sentinel| tell(asking, sentinel, service))).await;
    let best = told.iter().flatten().flatten().max_by_key(|(opinion, _)| opinion.epoch);
    let servers = asking.each(nodes, best.map_or(&[], |(_, named)| named)).await;
    let snapshots = sentinels.iter().zip(told).map(|(sentinel, told)| SentinelSnapshot {
        address: address(sentinel),
        said: told.map(|told| told.map(|(opinion, _)| opinion)),
    });
    Snapshot { servers, directory: Directory::Sentinels(snapshots.collect()) }
}

/// Asks a sentinel for its opinion, and for the servers of the service, each with true if it is a replica.
async fn tell(
    asking: Probing<'_>,
    sentinel: &Client,
    service: &str,
) -> Result<Option<(SentinelOpinion, Vec<(NodeAddress, bool)>)>, StoreError> {
    let mut exchange = asking.open(sentinel).await?;
    let mut questions = belief::questions(service);
    for question in ["REPLICAS", "CKQUORUM"] {
        questions.cmd("SENTINEL").arg(question).arg(service);
    }
    let mut answers = exchange.send(questions).await?.into_iter();
    let told = belief::read(next(&mut answers), next(&mut answers)).map_err(missing)?;
    let Some((told, table)) = told else { return Ok(None) };
    let number = |table: &InfoTable, name| info::number(table, name).unwrap_or(0);
    let replicas = read::<Vec<InfoTable>>(next(&mut answers));
    let could_fail_over = read::<String>(next(&mut answers)).map(drop);
    let opinion = SentinelOpinion {
        master: told.term.master.to_string(),
        epoch: told.term.epoch,
        others: told.others,
        replicas: number(&table, "num-slaves"),
        listed: replicas.as_ref().map(drop).map_err(Clone::clone),
        down_after: Duration::from_millis(number(&table, "down-after-milliseconds")),
        could_fail_over,
    };
    let replica = |table: &InfoTable| {
        let port = u16::try_from(number(table, "port")).ok()?;
        Some((NodeAddress::new(table.get("ip")?.clone(), port), true))
    };
    let replicas = replicas.unwrap_or_default();
    let named = [(told.term.master, false)].into_iter().chain(replicas.iter().filter_map(replica));
    Ok(Some((opinion, named.collect())))
}
