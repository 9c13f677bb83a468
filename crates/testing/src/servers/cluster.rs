//! A cluster of three masters and three replicas of a test's own, gone with its value.

use std::{thread, time::Duration};

use redis::{FromRedisValue, Value};

use super::redis_server::RedisServer;
use crate::waiting::until;

/// The number of masters, each of which has a replica.
pub const MASTERS: usize = 3;
const SLOTS: usize = 16_384;
/// The ms without an answer after which a node is taken for dead: one that died, and one that gets no turn on a busy machine.
const MISSED: &str = "1000";
const CALM: &str = "60000";

/// A running cluster.
#[derive(Debug)]
pub struct RedisCluster {
    /// The masters first, then a replica of each.
    pub nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts a cluster that takes a node for dead after a second.
    pub fn start() -> Self {
        Self::launch(MISSED, RedisServer::with_args)
    }

    /// Starts a cluster for tests in which a master dies when they say so, or none: one that gets no turn for seconds is not
    /// replaced.
    pub fn calm() -> Self {
        Self::launch(CALM, RedisServer::with_args)
    }

    /// Starts a [`calm`](Self::calm) cluster whose clocks [`advance`](Self::advance) can move, by less than a minute.
    pub fn calm_with_clock() -> Self {
        Self::launch(CALM, RedisServer::with_clock_and_args)
    }

    /// Starts a cluster whose clocks [`advance`](Self::advance) can move, and which takes nobody for dead therefore.
    pub fn with_clock() -> Self {
        Self::launch("1000000000", RedisServer::with_clock_and_args)
    }

    /// Starts a calm cluster whose nodes have clocks, and the arguments that `each` makes for each of them.
    pub fn calm_with(each: impl Fn() -> Vec<String>) -> Self {
        Self::launch(CALM, |arguments| {
            let own = each();
            let arguments = arguments.iter().copied().chain(own.iter().map(String::as_str));
            RedisServer::with_clock_and_args(&arguments.collect::<Vec<_>>())
        })
    }

    fn launch(node_timeout: &str, start: impl Fn(&[&str]) -> RedisServer) -> Self {
        let arguments = ["--cluster-enabled", "yes", "--cluster-node-timeout", node_timeout];
        let more = ["--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"];
        let forever = ["--repl-timeout", "86400"];
        let arguments = [&arguments[..], &more, &forever].concat();
        let nodes: Vec<_> = (0..2 * MASTERS).map(|_| start(&arguments)).collect();
        for (number, node) in nodes.iter().enumerate() {
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
            node.command(&["CLUSTER", "MEET", "127.0.0.1", &nodes[0].port().to_string()]);
        }
        let this = Self { nodes };
        for (number, master) in this.nodes[..MASTERS].iter().enumerate() {
            let slots = number * SLOTS / MASTERS..(number + 1) * SLOTS / MASTERS;
            let slots: Vec<_> = slots.map(|slot| slot.to_string()).collect();
            let words = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str));
            master.command(&words.collect::<Vec<_>>());
        }
        for (master, replica) in this.nodes[..MASTERS].iter().zip(&this.nodes[MASTERS..]) {
            let id = id(master);
            until("a replica follows", || replica.try_command(&["CLUSTER", "REPLICATE", &id]).is_ok());
        }
        this.wait_until_whole();
        this
    }

    /// Waits until every node that runs agrees that all slots are served, and each has its replica.
    pub fn wait_until_whole(&self) {
        until("all slots are served", || {
            self.nodes.iter().all(|node| {
                let info = text(node, &["CLUSTER", "INFO"]);
                let roles = text(node, &["CLUSTER", "NODES"]);
                let replication = text(node, &["INFO", "replication"]);
                info.contains("cluster_state:ok")
                    && info.contains("cluster_known_nodes:6")
                    && roles.matches("slave").count() == MASTERS
                    && (replication.contains("state=online") || replication.contains("link_status:up"))
            })
        });
    }

    /// The URL of the cluster, by two of its nodes.
    pub fn url(&self) -> String {
        format!("redis+cluster://127.0.0.1:{},127.0.0.1:{}", self.nodes[0].port(), self.nodes[4].port())
    }

    /// Has its nodes take one for dead after a second, or not for a minute. A paused one must not be asked.
    pub fn set_calm(&self, is_calm: bool) {
        self.set_node_timeout(if is_calm { CALM } else { MISSED });
    }

    fn set_node_timeout(&self, millis: &str) {
        for node in &self.nodes {
            // One that is dead or frozen is not told.
            let words = ["CONFIG", "SET", "cluster-node-timeout", millis];
            let _ = node.try_command_within(&words, Duration::from_secs(2));
        }
    }

    /// Moves the clocks of all nodes forward.
    pub fn advance(&self, by: Duration) {
        self.nodes.iter().for_each(|node| node.advance(by));
    }

    /// All keys on all masters.
    pub fn keys(&self) -> Vec<(String, i64)> {
        let masters = self.nodes.iter().filter(|node| is_master(node));
        masters.flat_map(|master| master.keys()).collect()
    }

    /// Has the replica of a master take its place, as an operator does, and waits until it has.
    pub fn fail_over(&self, replica: usize) {
        let replica = &self.nodes[replica];
        replica.command(&["CLUSTER", "FAILOVER"]);
        until("the replica is the master", || is_master(replica));
    }

    /// Waits until a replica has taken the place of its master, which answers no more. Before and after that a calm cluster
    /// stays calm: there is no further failover, of which a test knows nothing.
    pub fn wait_until_master(&self, replica: usize) {
        self.set_node_timeout(MISSED);
        until("the replica is the master", || is_master(&self.nodes[replica]));
        self.set_node_timeout(CALM);
    }

    /// Returns true if a node runs and is a master.
    pub fn is_master(&self, node: usize) -> bool {
        is_master(&self.nodes[node])
    }

    /// The place of the master that has this slot.
    pub fn master_of(&self, slot: u16) -> usize {
        let answer = self.nodes[0].command(&["CLUSTER", "SLOTS"]);
        let ranges: Vec<(u16, u16, Address)> = read(ranges_without_replicas(answer));
        let range = ranges.iter().find(|(first, last, _)| (*first..=*last).contains(&slot));
        let port = range.expect("a slot that is served").2.1;
        self.nodes.iter().position(|node| node.port() == port).expect("one of the nodes")
    }

    /// The host names of all nodes, as this one knows them; an empty one for who has none.
    pub fn names(&self, node: &RedisServer) -> Vec<String> {
        let table = text(node, &["CLUSTER", "NODES"]);
        // An address is `ip:port@bus`, and behind a comma the name.
        let addresses = table.lines().filter_map(|line| line.split(' ').nth(1));
        addresses.map(|address| address.split(',').nth(1).unwrap_or_default().to_owned()).collect()
    }

    /// Moves a slot key by key, as `redis-cli --cluster reshard` does, with a pause after each key. Answers which keys.
    pub fn move_slot(&self, slot: u16, to: usize, pause: Duration) -> Vec<String> {
        let moved = self.begin_to_move(slot, to).finish(pause);
        // Only two nodes were told; who asks a third for the master must not be sent back.
        until("the slot has moved for all", || self.master_of(slot) == to);
        moved
    }

    /// Lets a slot begin to move, without any key of it.
    pub fn begin_to_move(&self, slot: u16, to: usize) -> Moving<'_> {
        let (source, target) = (&self.nodes[self.master_of(slot)], &self.nodes[to]);
        let moving = Moving { source, target, slot: slot.to_string() };
        target.command(&["CLUSTER", "SETSLOT", &moving.slot, "IMPORTING", &id(source)]);
        source.command(&["CLUSTER", "SETSLOT", &moving.slot, "MIGRATING", &id(target)]);
        moving
    }
}

/// A slot on its way.
#[derive(Debug)]
pub struct Moving<'a> {
    source: &'a RedisServer,
    target: &'a RedisServer,
    slot: String,
}

impl Moving<'_> {
    /// Has the node that receives the slot know of it, or not.
    pub fn tell_target(&self, know: bool) {
        let source = id(self.source);
        let state = if know { &["IMPORTING", &source][..] } else { &["STABLE"] };
        self.target.command(&[&["CLUSTER", "SETSLOT", &self.slot], state].concat());
    }

    /// Moves one key. On a machine that is busy, nodes take each other for dead for a moment, and it is tried again.
    pub fn move_key(&self, key: &str) {
        let port = self.target.port().to_string();
        let words = ["MIGRATE", "127.0.0.1", &port, key, "0", "5000"];
        until("the key moves", || self.source.try_command(&words).is_ok());
    }

    /// Moves what is left, with a pause after each key, and then the slot itself. Answers which keys that were.
    pub fn finish(self, pause: Duration) -> Vec<String> {
        let mut moved = Vec::new();
        loop {
            let keys: Vec<String> = read(self.source.command(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "1"]));
            let Some(key) = keys.into_iter().next() else { break };
            self.move_key(&key);
            moved.push(key);
            thread::sleep(pause);
        }
        for node in [self.target, self.source] {
            node.command(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &id(self.target)]);
        }
        moved
    }
}

/// The slot of a hash tag.
pub fn slot_of_tag(tag: &str) -> u16 {
    let crc = tag.bytes().fold(0, |crc: u16, byte| {
        let crc = crc ^ (u16::from(byte) << 8);
        (0..8).fold(crc, |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 })
    });
    crc % SLOTS as u16
}

/// The place of the master that has a hash tag when the cluster starts.
pub fn place_of_tag(tag: &str) -> usize {
    let slot = usize::from(slot_of_tag(tag));
    (1..MASTERS).filter(|number| slot >= number * SLOTS / MASTERS).count()
}

/// Of these names one in a slot of each master, as a cluster has them when it starts.
pub fn one_on_each_master(mut names: impl FnMut() -> String) -> Vec<String> {
    (0..MASTERS)
        .filter_map(|number| std::iter::repeat_with(&mut names).find(|name| place_of_tag(name) == number))
        .collect()
}

/// Host, port and id; the host may be left out.
type Address = (Option<String>, u16, String);

fn ranges_without_replicas(answer: Value) -> Value {
    let ranges: Vec<Vec<Value>> = read(answer);
    Value::Array(ranges.into_iter().map(|range| Value::Array(masters_of(range))).collect())
}

fn masters_of(mut range: Vec<Value>) -> Vec<Value> {
    range.truncate(3);
    if let Some(Value::Array(node)) = range.get_mut(2) {
        node.truncate(3);
    }
    range
}

/// Returns true if a node runs and is a master.
pub fn is_master(node: &RedisServer) -> bool {
    let role = node.try_command(&["ROLE"]).ok();
    matches!(role, Some(Value::Array(parts)) if parts.first() == Some(&Value::BulkString(b"master".to_vec())))
}

fn id(node: &RedisServer) -> String {
    text(node, &["CLUSTER", "MYID"])
}

/// What a node answers; nothing if it does not run.
fn text(node: &RedisServer, words: &[&str]) -> String {
    node.try_command(words).map(read).unwrap_or_default()
}

fn read<T: FromRedisValue>(value: Value) -> T {
    redis::from_redis_value(value).expect("an answer of this kind")
}
