//! The servers of each topology, and the one of them, or the two of five, that a fault strikes.

use std::{
    process,
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::{Duration, Instant},
};

use leasehold_testing::{
    servers::{RedisCluster, RedisServer, Sentinels, is_master, slot_of_tag},
    waiting::until,
};

use crate::load::{Kind, name};
use crate::outages::{cluster::replica_of, quorum, scenario::all_kinds, sentinel::wait_for_two_replicas};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Topology {
    OneServer,
    Sentinel,
    Cluster,
    Quorum,
}

/// Running servers.
pub(super) enum Servers {
    One(Box<RedisServer>),
    Sentinel { all: Sentinels, master: usize },
    Cluster { all: RedisCluster, master: usize },
    Quorum(Vec<RedisServer>),
}

impl Topology {
    /// Starts the servers, with these arguments. Their peers are told from clients by the addresses that they connect from.
    pub(super) fn start(self, arguments: &[&str]) -> Servers {
        // To a server in protected mode, nobody is local who does not come from 127.0.0.1.
        let own = || {
            let from = own_address();
            let more =
                ["--bind-source-addr", &from, "--protected-mode", "no", "--cluster-announce-ip", "127.0.0.1"];
            arguments.iter().chain(&more).map(ToString::to_string).collect()
        };
        match self {
            Self::OneServer => Servers::One(Box::new(RedisServer::with_clock_and_args(arguments))),
            Self::Sentinel => {
                let from = own_address();
                let more = [
                    "--bind-source-addr",
                    &from,
                    "--protected-mode",
                    "no",
                    "--replica-announce-ip",
                    "127.0.0.1",
                ];
                let lines = format!("bind-source-addr {from}\nsentinel announce-ip 127.0.0.1\n");
                let all = Sentinels::calm_with(&[arguments, &more].concat(), &lines);
                Servers::Sentinel { master: all.master(), all }
            }
            Self::Cluster => {
                let all = RedisCluster::calm_with(own);
                Servers::Cluster { master: all.master_of(slot_of_tag(&name(0))), all }
            }
            Self::Quorum => {
                Servers::Quorum((0..5).map(|_| RedisServer::with_clock_and_args(arguments)).collect())
            }
        }
    }

    pub(super) fn kinds(self) -> Vec<Kind> {
        if self == Self::Quorum { quorum::kinds() } else { all_kinds() }
    }
}

impl Servers {
    /// The section `[store]` of the configuration.
    pub(super) fn store(&self) -> String {
        match self {
            Self::One(server) => format!("url = {:?}", server.url()),
            Self::Sentinel { all, .. } => format!("url = {:?}", all.url()),
            Self::Cluster { all, .. } => format!("url = {:?}", all.url()),
            Self::Quorum(nodes) => quorum::store(nodes),
        }
    }

    /// Those that a fault strikes.
    pub(super) fn struck(&mut self) -> &mut [RedisServer] {
        match self {
            Self::One(server) => std::slice::from_mut(server),
            Self::Sentinel { all, master } => &mut all.servers[*master..=*master],
            Self::Cluster { all, master } => &mut all.nodes[*master..=*master],
            Self::Quorum(nodes) => &mut nodes[..2],
        }
    }

    /// The addresses from which their peers connect to those that a fault strikes; and those from which these connect to peers.
    pub(super) fn sources(&self) -> (String, String) {
        match self {
            Self::One(_) | Self::Quorum(_) => Default::default(),
            // A master connects to nobody.
            Self::Sentinel { all, .. } => (source_of(&all.servers[0]), String::new()),
            Self::Cluster { all, master } => {
                let peers: Vec<_> = all.nodes.iter().map(source_of).collect();
                (peers.join(", "), peers[*master].clone())
            }
        }
    }

    /// Has those struck fail for as long as `time`, and for longer if they are not replaced by then.
    pub(super) fn fail_for<T>(
        &mut self,
        time: Duration,
        begin: impl FnOnce(&mut [RedisServer]) -> T,
        end: impl FnOnce(&mut [RedisServer], T),
    ) {
        if let Self::Cluster { all, .. } = self {
            all.set_calm(false);
        }
        let start = Instant::now();
        let begun = begin(self.struck());
        self.wait_for_another();
        thread::sleep(time.saturating_sub(start.elapsed()));
        end(self.struck(), begun);
        self.wait_until_whole();
    }

    fn wait_for_another(&self) {
        match self {
            Self::One(_) | Self::Quorum(_) => {}
            Self::Sentinel { all, master } => all.wait_for_another(*master),
            Self::Cluster { all, master } => {
                until("the replica is the master", || is_master(&all.nodes[replica_of(*master)]));
            }
        }
    }

    /// Waits until the others know of who is back.
    fn wait_until_whole(&self) {
        match self {
            Self::One(_) | Self::Quorum(_) => {}
            Self::Sentinel { all, .. } => wait_for_two_replicas(all),
            Self::Cluster { all, .. } => {
                all.wait_until_whole();
                all.set_calm(true);
            }
        }
    }

    /// Has another take the place of the master, as an operator does.
    pub(super) fn fail_over(&self) {
        match self {
            Self::One(_) | Self::Quorum(_) => unreachable!("nobody can take its place"),
            Self::Sentinel { all, master } => {
                all.fail_over();
                until("another master", || all.master() != *master);
                wait_for_two_replicas(all);
            }
            Self::Cluster { all, master } => all.fail_over(replica_of(*master)),
        }
    }

    pub(super) fn keys(&self) -> Vec<(String, i64)> {
        match self {
            Self::One(server) => server.keys(),
            Self::Sentinel { all, .. } => all.servers[all.master()].keys(),
            Self::Cluster { all, .. } => all.keys(),
            Self::Quorum(nodes) => nodes.iter().flat_map(quorum::keys_of_locks).collect(),
        }
    }
}

/// An address of this machine from which no other server of this process connects.
fn own_address() -> String {
    static GIVEN: AtomicU16 = AtomicU16::new(1);
    let [high, low] = GIVEN.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    format!("127.{}.{high}.{low}", 9 + process::id() % 200)
}

/// The address from which a server connects to its peers.
fn source_of(server: &RedisServer) -> String {
    let answer = server.command(&["CONFIG", "GET", "bind-source-addr"]);
    let [_, address]: [String; 2] = redis::from_redis_value(answer).expect("the name and its value");
    address
}
