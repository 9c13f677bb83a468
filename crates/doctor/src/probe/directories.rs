//! The probe of what says which servers there are, sentinels or the nodes of a cluster, and of those servers.

use std::{net::IpAddr, time::Duration};

use futures_util::future::join_all;
use leasehold::{
    StoreError,
    probe::{Exchange, NodeAddress, Nodes, Server, SlotRange, address, number, opinion, questions, ranges},
};
use redis::Value;

use super::{
    questions::{Probing, missing, next, read, unavailable},
    snapshot::{Directory, InfoTable, Range, SentinelOpinion, SentinelSnapshot, Snapshot},
};

/// Probes sentinels, and the servers that the one with the latest failover names.
pub(super) async fn of_sentinels(
    asking: Probing<'_>,
    sentinels: Vec<Server>,
    service: &str,
    nodes: &Nodes,
) -> Snapshot {
    let told = join_all(sentinels.iter().map(|sentinel| ask_sentinel(asking, sentinel, service))).await;
    let best = told.iter().flatten().flatten().max_by_key(|(opinion, _)| opinion.epoch);
    let servers = asking.each(nodes, best.map_or(&[], |(_, named)| named)).await;
    let snapshots = sentinels.iter().zip(told).map(|(sentinel, told)| SentinelSnapshot {
        address: address(sentinel),
        said: told.map(|told| told.map(|(opinion, _)| opinion)),
    });
    Snapshot { servers, directory: Directory::Sentinels(snapshots.collect()) }
}

/// Asks a sentinel for its opinion, and for the servers of the service, each with true if it is a replica.
async fn ask_sentinel(
    asking: Probing<'_>,
    sentinel: &Server,
    service: &str,
) -> Result<Option<(SentinelOpinion, Vec<(NodeAddress, bool)>)>, StoreError> {
    let mut exchange = Exchange::open(sentinel, asking.options).await?;
    let mut questions = questions(service);
    for question in ["REPLICAS", "CKQUORUM"] {
        questions.cmd("SENTINEL").arg(question).arg(service);
    }
    let mut answers = exchange.send(questions).await?.into_iter();
    let told = opinion(next(&mut answers), next(&mut answers)).map_err(missing)?;
    let Some((told, table)) = told else { return Ok(None) };
    let number = |table: &InfoTable, name| number(table, name).unwrap_or(0);
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

/// Probes the nodes of a cluster: those that the seed names which knows of the most slots.
pub(super) async fn of_a_cluster(asking: Probing<'_>, seeds: Vec<NodeAddress>, nodes: &Nodes) -> Snapshot {
    let told = join_all(seeds.iter().map(|seed| ask_node(asking, seed, nodes))).await;
    let (mut best, mut failed) = (None::<Vec<SlotRange>>, Vec::new());
    for (seed, told) in seeds.iter().zip(told) {
        match told {
            // A node that was cut off knows of fewer.
            Ok(told) if best.as_ref().is_none_or(|best| slots(best) < slots(&told)) => best = Some(told),
            Ok(_) => {}
            Err(error) => failed.push((seed, error)),
        }
    }
    let (mut named, ranges) = indexed(best.as_deref().unwrap_or_default());
    let ranges = match (best, failed.first()) {
        (None, Some((_, error))) => Err(error.clone()),
        _ => Ok(ranges),
    };
    // A server that does not tell of slots may be no node of a cluster, or not one for this user: its other answers
    // show which.
    for (seed, _) in failed {
        if named.iter().all(|(node, _)| node != seed) {
            named.push((seed.clone(), ranges.is_ok()));
        }
    }
    let servers = asking.each(nodes, &named).await;
    Snapshot { servers, directory: Directory::Cluster(ranges) }
}

fn slots(told: &[SlotRange]) -> u32 {
    told.iter().map(|SlotRange { first, last, .. }| u32::from(last - first) + 1).sum()
}

/// Returns all nodes, each with true if it is a replica, and the slots of the masters by their index among the nodes.
fn indexed(told: &[SlotRange]) -> (Vec<(NodeAddress, bool)>, Vec<Range>) {
    let (mut named, mut ranges) = (Vec::<(NodeAddress, bool)>::new(), Vec::new());
    for SlotRange { first, last, nodes } in told {
        let places = nodes.iter().enumerate().map(|(number, (_, node))| {
            named.iter().position(|(known, _)| known == node).unwrap_or_else(|| {
                named.push((node.clone(), number > 0));
                named.len() - 1
            })
        });
        let places: Vec<usize> = places.collect();
        if let Some((&master, replicas)) = places.split_first() {
            ranges.push(Range { first: *first, last: *last, master, replicas: replicas.len() });
        }
    }
    (named, ranges)
}

async fn ask_node(
    asking: Probing<'_>,
    seed: &NodeAddress,
    nodes: &Nodes,
) -> Result<Vec<SlotRange>, StoreError> {
    let mut exchange = Exchange::open(&nodes.server(seed)?, asking.options).await?;
    let mut question = redis::pipe();
    question.cmd("CLUSTER").arg("SLOTS").cmd("CLUSTER").arg("NODES");
    let mut answers = exchange.send(question).await?.into_iter();
    let slots = next(&mut answers).extract_error().map_err(missing)?;
    // A user who may not ask does without them.
    let nodes: String = read(next(&mut answers)).unwrap_or_default();
    told(slots, &nodes, seed).ok_or_else(|| unavailable("the answer to CLUSTER SLOTS makes no sense"))
}

/// Combines the answers of `asked` to `CLUSTER SLOTS` and `CLUSTER NODES`. The first leaves out replicas of which it is
/// not known yet how far they are.
fn told(slots: Value, nodes: &str, asked: &NodeAddress) -> Option<Vec<SlotRange>> {
    let replicas: Vec<Replica<'_>> = nodes.lines().filter_map(|line| Replica::read(line, asked)).collect();
    let mut told = ranges(slots, asked)?;
    for SlotRange { nodes, .. } in &mut told {
        let Some((Some(id), master)) = nodes.first().cloned() else { continue };
        let by_name = master.host.parse::<IpAddr>().is_err();
        for Replica { id, address, name, .. } in replicas.iter().filter(|replica| replica.master == id) {
            // Nodes of a cluster that uses names are not reached, or not trusted, by their addresses.
            let node = name.as_ref().filter(|_| by_name).unwrap_or(address);
            if nodes.iter().all(|(known, told)| known.as_deref() != Some(id) && told != node) {
                nodes.push((Some((*id).to_owned()), node.clone()));
            }
        }
    }
    Some(told)
}

/// A live replica, as a line of `CLUSTER NODES` has it.
struct Replica<'a> {
    id: &'a str,
    master: &'a str,
    address: NodeAddress,
    /// The same address by name, if it has one.
    name: Option<NodeAddress>,
}

impl<'a> Replica<'a> {
    /// Reads a line; `None` for masters and dead nodes.
    fn read(line: &'a str, asked: &NodeAddress) -> Option<Self> {
        let mut words = line.split(' ');
        let (id, location, flags, master) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let mut flags = flags.split(',');
        let lives = flags.clone().all(|flag| !["fail", "noaddr", "handshake"].contains(&flag));
        if !lives || !flags.any(|flag| flag == "slave") {
            return None;
        }
        // host:port@bus,name
        let (address, behind) = location.split_once('@').unwrap_or((location, ""));
        let named = behind.split(',').nth(1).filter(|name| !name.is_empty());
        let port = address.rsplit_once(':')?.1.parse().ok()?;
        let name = named.map(|name| NodeAddress::new(name.to_owned(), port));
        Some(Self { id, master, address: NodeAddress::of_redirect(address, asked)?, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn node(host: &str, id: &str) -> Value {
        Value::Array(vec![text(host), Value::Int(7), text(id)])
    }

    /// Returns the nodes that are told for a master `m`, these replicas, and this answer to `CLUSTER NODES`.
    fn said(host: &str, replicas: &[Value], nodes: &str) -> Option<Vec<String>> {
        let range = [&[Value::Int(0), Value::Int(9), node(host, "m")], replicas].concat();
        let answer = Value::Array(vec![Value::Array(range)]);
        let told = told(answer, nodes, &NodeAddress::new("asked".to_owned(), 1))?;
        Some(told[0].nodes.iter().map(|(_, node)| node.to_string()).collect())
    }

    const NODES: &str = "m 10.0.0.1:7@17,m.test myself,master - 0 0 1 connected 0-16383\n\
                         r 10.0.0.2:7@17,r.test slave m 0 0 1 connected\n\
                         dead 10.0.0.3:7@17,d.test slave,fail m 0 0 1 connected\n";

    #[test]
    fn a_replica_that_is_told_by_name_and_by_address_is_one_replica() {
        let replica = [node("r.test", "r")];
        assert_eq!(said("m.test", &replica, NODES).unwrap(), ["m.test:7", "r.test:7"]);
    }

    #[test]
    fn a_replica_that_slots_leave_out_is_told_as_its_master_is() {
        assert_eq!(said("m.test", &[], NODES).unwrap(), ["m.test:7", "r.test:7"]);
        assert_eq!(said("10.0.0.1", &[], NODES).unwrap(), ["10.0.0.1:7", "10.0.0.2:7"]);
        let old = NODES.replace(",m.test", "").replace(",r.test", "");
        assert_eq!(said("10.0.0.1", &[], &old).unwrap(), ["10.0.0.1:7", "10.0.0.2:7"]);
    }
}
