//! What a cluster says of its slots, and what its nodes say.

use futures_util::future::join_all;
use redis::Value;

use super::{
    ClusterSeen, Directory, Range, Seen, Server,
    ask::Asking,
    exchange::{next, read},
    unavailable,
};
use crate::store::{
    StoreError,
    redis::{
        errors,
        urls::{Node, Nodes},
    },
};

/// Slots, the master that serves them, and its replicas.
struct Told {
    first: u16,
    last: u16,
    /// What the master is called within the cluster.
    id: Option<String>,
    nodes: Vec<Node>,
}

pub(super) async fn look(asking: Asking<'_>, seeds: Vec<Node>, nodes: &Nodes) -> Seen {
    let told = join_all(seeds.iter().map(|seed| tell(asking, seed, nodes))).await;
    let (mut best, mut failed) = (None::<Vec<Told>>, Vec::new());
    for (seed, told) in seeds.iter().zip(told) {
        match told {
            // A node that was cut off knows of fewer.
            Ok(told) if best.as_ref().is_none_or(|best| best.len() < told.len()) => best = Some(told),
            Ok(_) => {}
            Err(error) => failed.push((seed, error)),
        }
    }
    let (named, ranges) = placed(best.as_deref().unwrap_or_default());
    let servers = join_all(named.iter().map(async |(node, is_replica)| {
        let facts = match nodes.client(node) {
            Ok(client) => asking.ask(&client).await,
            Err(error) => Err(errors::before_sending(error)),
        };
        Server { address: node.to_string(), is_replica: *is_replica, facts }
    }));
    let mut servers = servers.await;
    let ranges = match (best, failed.first()) {
        (None, Some((_, error))) => Err(error.clone()),
        _ => Ok(ranges),
    };
    failed.retain(|(seed, _)| named.iter().all(|(node, _)| node != *seed));
    servers.extend(failed.into_iter().map(|(seed, error)| Server {
        address: seed.to_string(),
        is_replica: ranges.is_ok(),
        facts: Err(error),
    }));
    Seen { servers, directory: Directory::Cluster(ClusterSeen { ranges }) }
}

/// All nodes, each with whether it is a replica, and the slots of the masters by their place among them.
fn placed(told: &[Told]) -> (Vec<(Node, bool)>, Vec<Range>) {
    let (mut named, mut ranges) = (Vec::<(Node, bool)>::new(), Vec::new());
    for Told { first, last, id: _, nodes } in told {
        let places = nodes.iter().enumerate().map(|(number, node)| {
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

async fn tell(asking: Asking<'_>, seed: &Node, nodes: &Nodes) -> Result<Vec<Told>, StoreError> {
    let mut line = asking.line(&nodes.client(seed).map_err(errors::before_sending)?).await?;
    let mut question = redis::pipe();
    question.cmd("CLUSTER").arg("SLOTS").cmd("CLUSTER").arg("NODES");
    let mut answers = line.send(question).await?.into_iter();
    let ranges: Vec<Vec<Value>> = read(next(&mut answers)).map_err(unavailable)?;
    // The first leaves out replicas of which it is not known yet how far they are. Whoever may not ask does without them.
    let nodes: String = read(next(&mut answers)).unwrap_or_default();
    let replicas: Vec<(&str, Node)> = nodes.lines().filter_map(|line| replica_of(line, seed)).collect();
    let told = ranges.iter().map(|range| {
        let mut told = range_of(range, seed).ok_or_else(senseless)?;
        let own = replicas.iter().filter(|(master, _)| Some(*master) == told.id.as_deref());
        for (_, replica) in own {
            if !told.nodes.contains(replica) {
                told.nodes.push(replica.clone());
            }
        }
        Ok(told)
    });
    told.collect()
}

/// Whose replica a line of `CLUSTER NODES` is about, and where that listens; `None` for masters and the dead.
fn replica_of<'a>(line: &'a str, asked: &Node) -> Option<(&'a str, Node)> {
    let mut words = line.split(' ').skip(1);
    let (address, flags, master) = (words.next()?, words.next()?, words.next()?);
    let mut flags = flags.split(',');
    let lives = flags.clone().all(|flag| !["fail", "noaddr", "handshake"].contains(&flag));
    if !lives || !flags.any(|flag| flag == "slave") {
        return None;
    }
    // host:port@bus,name
    Some((master, Node::of_redirect(address.split('@').next()?, asked)?))
}

fn range_of(range: &[Value], asked: &Node) -> Option<Told> {
    let [Value::Int(first), Value::Int(last), nodes_told @ ..] = range else { return None };
    let nodes: Option<Vec<Node>> = nodes_told.iter().map(|node| node_of(node, asked)).collect();
    let id = match nodes_told.first()? {
        Value::Array(master) => master.get(2).and_then(|id| redis::from_redis_value_ref(id).ok()),
        _ => None,
    };
    Some(Told { first: u16::try_from(*first).ok()?, last: u16::try_from(*last).ok()?, id, nodes: nodes? })
}

/// An address as nodes tell it: one that does not know its own name is where it was asked.
fn node_of(value: &Value, asked: &Node) -> Option<Node> {
    let Value::Array(parts) = value else { return None };
    let [host, Value::Int(port), ..] = &parts[..] else { return None };
    let host: Option<String> = redis::from_redis_value_ref(host).ok()?;
    let host = host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| asked.host().to_owned());
    Some(Node::new(host, u16::try_from(*port).ok()?))
}

fn senseless() -> StoreError {
    unavailable("the answer to CLUSTER SLOTS makes no sense")
}
