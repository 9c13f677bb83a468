//! The probe of sentinels, and of the servers that they name.

use std::time::Duration;

use futures_util::future::join_all;
use redis::Client;

use crate::store::{
    StoreError,
    redis::{
        net::{
            address::{NodeAddress, Nodes},
            info::{self, InfoTable},
            opening::address,
            sentinel,
        },
        probe::{
            exchange::{Probing, missing, next, read},
            snapshot::{Directory, SentinelOpinion, SentinelSnapshot, Snapshot},
        },
    },
};

/// The statement of one sentinel, with the addresses as they are connected to.
struct ToldService {
    opinion: SentinelOpinion,
    master: NodeAddress,
    replicas: Vec<NodeAddress>,
}

pub(super) async fn run(
    asking: Probing<'_>,
    sentinels: Vec<Client>,
    service: &str,
    nodes: &Nodes,
) -> Snapshot {
    let told = join_all(sentinels.iter().map(|sentinel| tell(asking, sentinel, service))).await;
    let known = told.iter().flatten().flatten();
    let best = known.max_by_key(|told| told.opinion.epoch);
    let named = best.map_or_else(Vec::new, |best| {
        let replicas = best.replicas.iter().map(|replica| (replica, true));
        [(&best.master, false)].into_iter().chain(replicas).collect()
    });
    let servers = asking.each(nodes, named).await;
    let snapshots = sentinels.iter().zip(told).map(|(sentinel, told)| SentinelSnapshot {
        address: address(sentinel),
        said: told.map(|told| told.map(|told| told.opinion)),
    });
    Snapshot { servers, directory: Directory::Sentinels(snapshots.collect()) }
}

async fn tell(
    asking: Probing<'_>,
    sentinel: &Client,
    service: &str,
) -> Result<Option<ToldService>, StoreError> {
    let mut exchange = asking.open(sentinel).await?;
    let mut questions = sentinel::questions(service);
    for question in ["REPLICAS", "CKQUORUM"] {
        questions.cmd("SENTINEL").arg(question).arg(service);
    }
    let mut answers = exchange.send(questions).await?.into_iter();
    let told = sentinel::read(next(&mut answers), next(&mut answers)).map_err(missing)?;
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
        Some(NodeAddress::new(table.get("ip")?.clone(), u16::try_from(number(table, "port")).ok()?))
    };
    let replicas = replicas.unwrap_or_default().iter().filter_map(replica).collect();
    Ok(Some(ToldService { opinion, master: told.term.master, replicas }))
}
