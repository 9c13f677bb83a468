//! A master with replicas, each a redis-server of its own.

use redis::Value;

use super::redis_server::RedisServer;
use crate::waiting::until;

/// A master, and replicas that have caught up with it.
#[derive(Debug)]
pub struct Replicated {
    /// The master.
    pub master: RedisServer,
    /// Its replicas.
    pub replicas: Vec<RedisServer>,
}

impl Replicated {
    /// Starts a master with so many replicas.
    pub fn start(replicas: usize) -> Self {
        // They are not given up when a test moves its clock.
        let master = RedisServer::with_clock_and_args(&["--repl-timeout", "86400"]);
        master.command(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
        let port = master.port().to_string();
        let replica = |_| RedisServer::with_args(&["--replicaof", "127.0.0.1", &port]);
        let started = Self { master, replicas: (0..replicas).map(replica).collect() };
        started.wait_until_online();
        started
    }

    /// Waits until all replicas follow the master and confirm what it writes.
    pub fn wait_until_online(&self) {
        let client = redis::Client::open(self.master.url()).expect("a URL");
        let mut connection = client.get_connection().expect("a connection");
        let mut writes_and_waits = redis::pipe();
        writes_and_waits
            .cmd("SET")
            .arg(&["probe", "", "PX", "1"])
            .cmd("WAIT")
            .arg(&[self.replicas.len(), 100]);
        until("all replicas follow", || {
            let (_, online): (Value, usize) =
                writes_and_waits.query(&mut connection).expect("a number of replicas");
            online == self.replicas.len()
        });
    }
}

impl AsRef<RedisServer> for Replicated {
    fn as_ref(&self) -> &RedisServer {
        &self.master
    }
}
