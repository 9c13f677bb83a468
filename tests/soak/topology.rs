//! The four topologies, with servers that keep what they acknowledged: append-only files, or replicas that confirm.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use leasehold::ResourceName;
use leasehold_testing::{
    servers::{MASTERS, RedisCluster, RedisServer, Sentinels, place_of_tag},
    waiting::until,
};
use rand::{RngExt, rngs::StdRng};

use super::{fault::Fault, leading::SCHEDULE, watching::resources};
use crate::{load::Kind, outages::scenario::all_kinds};

/// How many nodes a quorum has, and how many of them fail at a time.
const NODES: usize = 5;
const MINORITY: usize = 2;

/// Servers that run.
pub(super) enum Topology {
    One(RedisServer),
    Sentinel(Sentinels),
    Cluster(RedisCluster),
    Quorum(Vec<RedisServer>),
}

/// The time after which servers have given up a failover that was asked for.
const GIVEN_UP: Duration = Duration::from_secs(8);

/// What starts the servers of a topology.
type Start = fn() -> Topology;

/// What starts each of them, with its name.
pub(super) const ALL: [(&str, Start); 4] = [
    ("one server", || {
        let kept = ["--appendonly", "yes", "--appendfsync", "always"];
        Topology::One(RedisServer::with_clock_and_args(&kept))
    }),
    ("Sentinel", || Topology::Sentinel(Sentinels::calm())),
    ("Cluster", || Topology::Cluster(RedisCluster::calm_with_clock())),
    ("quorum of 5", || Topology::Quorum((0..NODES).map(|_| RedisServer::with_clock()).collect())),
];

impl Topology {
    /// The section `[store]` of the configuration.
    pub(super) fn store(&self) -> String {
        match self {
            Self::One(server) => format!("url = {:?}", server.url()),
            // All replicas that there are; so no failover forgets a grant.
            Self::Sentinel(servers) => format!("url = {:?}\nreplicas_ack = 2", servers.url()),
            Self::Cluster(cluster) => format!("url = {:?}\nreplicas_ack = 1", cluster.url()),
            Self::Quorum(servers) => {
                let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
                let urls = urls.join(",");
                format!("url = \"quorum://[{urls}]\"\nfresh_start = true\nnode_timeout = \"150ms\"")
            }
        }
    }

    pub(super) const fn is_quorum(&self) -> bool {
        matches!(self, Self::Quorum(_))
    }

    /// The kinds of locks that it has.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        match self {
            Self::Quorum(_) => vec![Kind::Exclusive, Kind::ReadWrite, Kind::ReEntrant],
            _ => all_kinds(),
        }
    }

    pub(super) fn servers(&self) -> &[RedisServer] {
        match self {
            Self::One(server) => std::slice::from_ref(server),
            Self::Sentinel(servers) => &servers.servers,
            Self::Cluster(cluster) => &cluster.nodes,
            Self::Quorum(servers) => servers,
        }
    }

    pub(super) fn server(&mut self, number: usize) -> &mut RedisServer {
        match self {
            Self::One(server) => server,
            Self::Sentinel(servers) => &mut servers.servers[number],
            Self::Cluster(cluster) => &mut cluster.nodes[number],
            Self::Quorum(servers) => &mut servers[number],
        }
    }

    /// The servers that a fault may hit at once: the only one, a master, or a minority.
    pub(super) fn victims(&self, random: &mut StdRng) -> Vec<usize> {
        match self {
            Self::One(_) => vec![0],
            Self::Sentinel(servers) => vec![servers.master()],
            Self::Cluster(cluster) => vec![pair(cluster, random.random_range(0..MASTERS)).0],
            Self::Quorum(_) => {
                let first = random.random_range(0..NODES);
                (first..first + MINORITY).map(|number| number % NODES).collect()
            }
        }
    }

    /// The resources that must be granted while a fault hits these servers: all while it is a minority of a quorum, and in a cluster
    /// those of other masters. The replicas of Sentinel have to confirm every grant, so none is spared there.
    pub(super) fn spared(&self, fault: Fault, hit: &[usize]) -> BTreeSet<String> {
        let breaks = |fault| matches!(fault, Fault::Killed | Fault::Frozen | Fault::Cut);
        let of_a_pair = matches!(fault, Fault::ReplicaKilled | Fault::ReplicaFrozen | Fault::FailedOver);
        match self {
            Self::Quorum(_) if breaks(fault) => resources().collect(),
            Self::Cluster(_) if breaks(fault) || of_a_pair => {
                // Server and replica take turns, and keep the slots that the first one had.
                let place = |name: &String| place_of_tag(&ResourceName::new(name).unwrap().encoded());
                resources().filter(|name| !hit.iter().any(|hit| hit % MASTERS == place(name))).collect()
            }
            _ => BTreeSet::new(),
        }
    }

    /// A server that follows another one.
    pub(super) fn follower(&self, random: &mut StdRng) -> usize {
        match self {
            Self::Sentinel(servers) => (servers.master() + random.random_range(1..3)) % 3,
            Self::Cluster(cluster) => pair(cluster, random.random_range(0..MASTERS)).1,
            _ => unreachable!("nobody follows in this topology"),
        }
    }

    /// The servers whose clock jumps at once: those of one service, or one node of a quorum.
    pub(super) fn with_one_clock(&self, random: &mut StdRng) -> Vec<usize> {
        match self {
            Self::Quorum(_) => vec![random.random_range(0..NODES)],
            all => (0..all.servers().len()).collect(),
        }
    }

    /// Waits until another server has taken the place of this one.
    pub(super) fn wait_for_another(&self, master: usize) {
        match self {
            Self::Sentinel(servers) => servers.wait_for_another(master),
            Self::Cluster(cluster) => cluster.wait_until_master((master + MASTERS) % (2 * MASTERS)),
            Self::One(_) | Self::Quorum(_) => {}
        }
    }

    /// Has a follower take the place of its master, as an operator does: again if the servers give it up, which they do after seconds on
    /// a busy machine.
    pub(super) fn fail_over(&self, master: usize) {
        let replica = (master + MASTERS) % (2 * MASTERS);
        let mut asked: Option<Instant> = None;
        until("another master", || {
            if asked.is_none_or(|asked| asked.elapsed() > GIVEN_UP) {
                match self {
                    Self::Sentinel(servers) => servers.fail_over(),
                    Self::Cluster(cluster) => {
                        // Refused by one that is the master already.
                        let _ = cluster.nodes[replica].try_command(&["CLUSTER", "FAILOVER"]);
                    }
                    Self::One(_) | Self::Quorum(_) => {}
                }
                asked = Some(Instant::now());
            }
            match self {
                Self::Sentinel(servers) => servers.master() != master,
                Self::Cluster(cluster) => cluster.is_master(replica),
                Self::One(_) | Self::Quorum(_) => true,
            }
        });
    }

    /// Waits until all servers are in their places again after a fault.
    pub(super) fn wait_until_whole(&self) {
        match self {
            Self::Sentinel(servers) => wait_until_two_follow(servers),
            Self::Cluster(cluster) => cluster.wait_until_whole(),
            Self::One(_) | Self::Quorum(_) => {}
        }
    }

    /// The keys but for those that stay: counters of fences with an end, registers, and what a node of a quorum keeps for ever.
    pub(super) fn keys_left(&self) -> Vec<(String, i64)> {
        let keys = match self {
            Self::Sentinel(servers) => servers.servers[servers.master()].keys(),
            Self::Cluster(cluster) => cluster.keys(),
            Self::One(_) | Self::Quorum(_) => self.servers().iter().flat_map(RedisServer::keys).collect(),
        };
        let register = format!("{{{}}}:r", SCHEDULE.replace('/', "%2F"));
        let stays = |(key, left): &(String, i64)| {
            let is_fence = key.ends_with(":fence") && (*left != -1 || self.is_quorum());
            let of_a_node = self.is_quorum() && key == "leasehold:recovered" || key.contains("{quorum/");
            is_fence || of_a_node || key.ends_with(&register) || key.ends_with(&format!("{{{SCHEDULE}}}:r"))
        };
        keys.into_iter().filter(|key| !stays(key)).collect()
    }
}

/// The master of a pair, and its replica.
fn pair(cluster: &RedisCluster, number: usize) -> (usize, usize) {
    let (one, other) = (number, number + MASTERS);
    if cluster.is_master(one) { (one, other) } else { (other, one) }
}

/// Has both that are not the master follow it, and waits until they do.
fn wait_until_two_follow(servers: &Sentinels) {
    let master = servers.master();
    let port = servers.servers[master].port().to_string();
    for (number, server) in servers.servers.iter().enumerate() {
        if number != master {
            let follow = || server.try_command(&["REPLICAOF", "127.0.0.1", &port]).is_ok();
            until("a server can be told whom to follow", follow);
        }
    }
    crate::outages::sentinel::wait_for_two_replicas(servers);
}
