//! What is left in the store of a lease that is dropped at the very end of a program.

mod support;

use std::{env, process::Command, sync::Arc, time::Duration};

use actix::System;
use leasehold::{Acquire, LockManager, RedisStore, Shutdown};
use support::redis_server::RedisServer;

const URL: &str = "URL_OF_THE_PROGRAM";
const WAYS: &str = "WAY_OF_THE_PROGRAM";
const RUNS: usize = 20;

/// What a program does before its `main` ends.
const NOTHING: &str = "nothing";
const SHUTDOWN: &str = "shutdown";

/// A program that takes a lock, drops it and ends; the tests below start it.
#[test]
#[ignore = "the program that the other tests start"]
fn the_program() {
    let Ok(url) = env::var(URL) else { return };
    System::new().block_on(async {
        let locks = LockManager::builder(Arc::new(RedisStore::open(&url).unwrap())).start().unwrap();
        let lease = locks.send(Acquire::new("the/end")).await.unwrap().unwrap();
        if env::var(WAYS).is_ok_and(|way| way == SHUTDOWN) {
            drop(lease);
            locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        }
    });
    std::process::exit(0);
}

/// In how many of the runs the lock is left behind.
fn left_behind(way: &str) -> usize {
    let server = RedisServer::start();
    let left = (0..RUNS).filter(|_| {
        let mut program = Command::new(env::current_exe().unwrap());
        program.args(["--exact", "the_program", "--ignored"]).env(URL, server.url()).env(WAYS, way);
        assert!(program.output().unwrap().status.success());
        let left = server.keys().iter().any(|(key, _)| key.contains("the/end"));
        server.command(&["FLUSHALL"]);
        left
    });
    left.count()
}

#[test]
fn a_shutdown_that_is_awaited_leaves_no_key_of_a_dropped_lease() {
    println!("left behind without a shutdown: {} of {RUNS}", left_behind(NOTHING));
    let left = left_behind(SHUTDOWN);
    println!("left behind with it: {left} of {RUNS}");
    assert_eq!(left, 0);
}
