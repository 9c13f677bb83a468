//! A holder in another process describes its work: what others see of it, and what that costs the server.

use std::{env, process::Stdio, sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{Acquire, Inspect, LockManager, Shutdown, Stats};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines, stdin},
    process::{Child, ChildStdout, Command},
    time::{sleep, timeout},
};

use leasehold_testing::{process::this_program, servers::RedisServer, waiting::PATIENCE};
use support::patient;

/// The test below, as it is named on the command line.
const TEST: &str = "redis::described::describes_its_steps";
const URL: &str = "LEASEHOLD_DESCRIBER_URL";
const ROUNDS: u64 = 3;
const STEPS: u64 = 1_000;
/// The renewals that tell nothing new.
const MORE: u64 = 20;

fn manager(url: &str) -> Addr<LockManager> {
    LockManager::builder(Arc::new(patient::open(url))).start().unwrap()
}

async fn renewals(locks: &Addr<LockManager>) -> u64 {
    locks.send(Stats).await.unwrap().renewals
}

#[test]
#[ignore = "a process of the other test, which starts it"]
fn describes_its_steps() {
    let url = env::var(URL).expect("started by a test");
    // The name of this test stands on the line that has begun.
    println!();
    actix::System::new().block_on(async {
        let (locks, mut orders) = (manager(&url), BufReader::new(stdin()).lines());
        // No busy machine loses it.
        let ask = Acquire::new("r").ttl(Duration::from_secs(600)).renew_every(Duration::from_millis(50));
        let lease = locks.send(ask).await.unwrap().unwrap();
        for round in 1..=ROUNDS {
            for step in 1..=STEPS {
                lease.describe([("step", (STEPS * (round - 1) + step).to_string())]).unwrap();
            }
            println!("described {}", STEPS * round);
            orders.next_line().await.unwrap().expect("an order");
        }
        for _ in 0..2 {
            let before = renewals(&locks).await;
            while renewals(&locks).await < before + MORE {
                sleep(Duration::from_millis(5)).await;
            }
            println!("renewed {}", renewals(&locks).await);
            orders.next_line().await.unwrap().expect("an order");
        }
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    });
}

/// A process that holds the lock.
struct Describer {
    said: Lines<BufReader<ChildStdout>>,
    process: Child,
}

impl Describer {
    fn start(url: &str) -> Self {
        let mut command = Command::from(this_program(TEST));
        let mut process = command.env(URL, url).stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { said, process }
    }

    /// Returns the number that it says next behind this word.
    async fn says(&mut self, word: &str) -> u64 {
        let says = async {
            while let Some(line) = self.said.next_line().await.unwrap() {
                // What the test harness prints in between is not meant for us.
                if let Some(number) = line.strip_prefix(word).and_then(|rest| rest.trim().parse().ok()) {
                    return number;
                }
            }
            panic!("it has ended without saying {word:?}");
        };
        timeout(PATIENCE, says).await.expect("said in time")
    }

    async fn goes_on(&mut self) {
        self.process.stdin.as_mut().unwrap().write_all(b"go on\n").await.unwrap();
    }
}

/// Counts the values that the server has written, in scripts or not.
fn writes(server: &RedisServer) -> u64 {
    let stats: String = redis::from_redis_value(server.command(&["INFO", "commandstats"])).unwrap();
    let calls = |command| {
        let line = stats.lines().find_map(|line| line.strip_prefix(command))?;
        line.split(',').next()?.parse::<u64>().ok()
    };
    ["cmdstat_set:calls=", "cmdstat_hset:calls="].into_iter().filter_map(calls).sum::<u64>()
}

#[actix::test]
async fn others_see_the_progress_grow_and_the_server_writes_it_at_most_once_a_renewal() {
    let server = RedisServer::start();
    let (locks, mut describer) = (manager(&server.url()), Describer::start(&server.url()));
    let mut seen = 0;
    for _ in 0..ROUNDS {
        let last = describer.says("described").await;
        let sees = async {
            while seen < last {
                let inspection = locks.send(Inspect::new("r")).await.unwrap().unwrap();
                let metadata = &inspection.holders[0].metadata;
                let step = metadata.get("step").map_or(0, |step| step.parse().unwrap());
                assert!(
                    step >= seen && step <= last && metadata.contains_key("pid"),
                    "{seen}, then {metadata:?}"
                );
                seen = step;
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, sees).await.expect("seen in time");
        describer.goes_on().await;
    }
    let renewed = describer.says("renewed").await;
    let written = writes(&server);
    assert!(written <= renewed + 2, "{written} writes in {renewed} renewals");
    describer.goes_on().await;
    assert!(describer.says("renewed").await >= renewed + MORE);
    let more = writes(&server) - written;
    assert!(more < MORE / 2, "nothing new was said, and no connection breaks that often: {more}");
    describer.goes_on().await;
    assert!(describer.process.wait().await.unwrap().success());
    locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
}
