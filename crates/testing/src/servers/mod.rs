//! Redis servers of a test's own, on free ports and without persistence: alone, with replicas, with sentinels, or as a cluster.
//!
//! Needs an installed `redis-server`; a server whose clock moves needs a C compiler as well. Everything ends with its value.
//!
//! ```no_run
//! use leasehold_testing::servers::RedisServer;
//!
//! let mut server = RedisServer::start();
//! assert!(server.keys().is_empty());
//! server.pause();
//! // What now of work on server.url()?
//! server.resume();
//! server.restart();
//! ```

mod clock;
mod cluster;
mod ports;
mod redis_server;
mod replicas;
mod sentinels;

pub use self::{
    clock::WallClock,
    cluster::{MASTERS, Moving, RedisCluster, is_master, one_on_each_master, place_of_tag, slot_of_tag},
    ports::{Port, free_port},
    redis_server::RedisServer,
    replicas::Replicated,
    sentinels::Sentinels,
};
