//! A master with replicas, each a redis-server of its own.

use std::time::{Duration, Instant};

use redis::Value;

use super::redis_server::RedisServer;

const READY_WITHIN: Duration = Duration::from_secs(20);

/// A master, and replicas that have caught up with it.
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
        let give_up = Instant::now() + READY_WITHIN;
        loop {
            let both: (Value, usize) = redis::pipe()
                .cmd("SET")
                .arg(&["probe", "", "PX", "1"])
                .cmd("WAIT")
                .arg(&[self.replicas.len(), 100])
                .query(&mut connection)
                .expect("a number of replicas");
            if both.1 == self.replicas.len() {
                return;
            }
            assert!(Instant::now() < give_up, "only {} replicas", both.1);
        }
    }
}

impl AsRef<RedisServer> for Replicated {
    fn as_ref(&self) -> &RedisServer {
        &self.master
    }
}
