//! The probe of sentinels, and of the servers that they name.

use std::time::Duration;

use futures_util::future::join_all;
use redis::Client;

use crate::store::{
    StoreError,
    redis::{
        net::{
            errors,
            urls::{Node, Nodes},
        },
        probe::{
            Directory, Opinion, SentinelSnapshot, Server, Snapshot, Table,
            ask::Asking,
            exchange::{needed, next, read},
        },
    },
};

/// The statement of one sentinel, with the addresses as they are connected to.
struct Told {
    opinion: Opinion,
    master: Node,
    replicas: Vec<Node>,
}

pub(super) async fn run(
    asking: Asking<'_>,
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
    let servers = join_all(named.into_iter().map(async |(node, is_replica)| {
        let info = match nodes.client(node) {
            Ok(client) => asking.ask(&client).await,
            Err(error) => Err(errors::before_sending(error)),
        };
        Server { address: node.to_string(), is_replica, info }
    }));
    let servers = servers.await;
    let snapshots = sentinels.iter().zip(told).map(|(sentinel, told)| SentinelSnapshot {
        address: sentinel.get_connection_info().addr().to_string(),
        said: told.map(|told| told.map(|told| told.opinion)),
    });
    Snapshot { servers, directory: Directory::Sentinels(snapshots.collect()) }
}

async fn tell(asking: Asking<'_>, sentinel: &Client, service: &str) -> Result<Option<Told>, StoreError> {
    let mut exchange = asking.open(sentinel).await?;
    let mut questions = redis::pipe();
    for question in ["GET-MASTER-ADDR-BY-NAME", "MASTER", "REPLICAS", "CKQUORUM"] {
        questions.cmd("SENTINEL").arg(question).arg(service);
    }
    let mut answers = exchange.send(questions).await?.into_iter();
    let master = needed::<Option<(String, u16)>>(next(&mut answers))?;
    let Some((host, port)) = master else { return Ok(None) };
    let master = Node::new(host, port);
    let table: Table = needed(next(&mut answers))?;
    let replicas = read::<Vec<Table>>(next(&mut answers));
    let could_fail_over = read::<String>(next(&mut answers)).map(drop);
    let opinion = Opinion {
        master: master.to_string(),
        epoch: number(&table, "config-epoch"),
        others: usize::try_from(number(&table, "num-other-sentinels")).unwrap_or(0),
        replicas: number(&table, "num-slaves"),
        listed: replicas.as_ref().map(drop).map_err(Clone::clone),
        down_after: Duration::from_millis(number(&table, "down-after-milliseconds")),
        could_fail_over,
    };
    let replica =
        |table: &Table| Some(Node::new(table.get("ip")?.clone(), u16::try_from(number(table, "port")).ok()?));
    let replicas = replicas.unwrap_or_default().iter().filter_map(replica).collect();
    Ok(Some(Told { opinion, master, replicas }))
}

fn number(table: &Table, name: &str) -> u64 {
    table.get(name).and_then(|number| number.parse().ok()).unwrap_or(0)
}
