//! A holder in another process is asked for its lease: how soon it is told, and who has it after the grace.

use std::{env, sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{
    Acquire, Inspect, LockManager, LossReason, Revoke, Shutdown,
    env::{Clock, Moment, SystemClock},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::{sleep, timeout},
};

use leasehold_testing::{process::this_program, servers::RedisServer, waiting::PATIENCE};
use support::patient;

/// The test below, as it is named on the command line.
const TEST: &str = "redis::revoke::holds_until_it_is_told";
const URL: &str = "LEASEHOLD_HOLDER_URL";
const ROUNDS: usize = 50;
/// Longer than anything takes here.
const WITHIN: Duration = PATIENCE;

/// The time since this host was started, by the one clock that all its processes have.
fn micros() -> u64 {
    Moment::since_origin(Duration::ZERO).elapsed(SystemClock.now()).as_micros() as u64
}

fn manager(url: &str) -> Addr<LockManager> {
    LockManager::builder(Arc::new(patient::open(url))).start().unwrap()
}

#[test]
#[ignore = "a process of the other test, which starts it"]
fn holds_until_it_is_told() {
    let url = env::var(URL).expect("started by a test");
    // The name of this test stands on the line that has begun.
    println!();
    actix::System::new().block_on(async {
        let locks = manager(&url);
        for _ in 0..ROUNDS {
            let lease = locks.send(Acquire::new("r").wait(WITHIN)).await.unwrap().unwrap();
            println!("held {}", lease.fence().unwrap().get());
            lease.revoke_requested().await.expect("while it holds");
            println!("told {}", micros());
            lease.release().await.unwrap();
        }
        let lease = locks.send(Acquire::new("r").wait(WITHIN)).await.unwrap().unwrap();
        println!("held {}", lease.fence().unwrap().get());
        assert_eq!(lease.lost().await, LossReason::Forced);
        println!("lost {}", micros());
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    });
}

/// A process that holds the lock.
struct Holder {
    said: Lines<BufReader<ChildStdout>>,
    process: Child,
}

impl Holder {
    fn start(url: &str) -> Self {
        let mut process = Command::from(this_program(TEST)).env(URL, url).kill_on_drop(true).spawn().unwrap();
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
            panic!("the holder has ended without saying {word:?}");
        };
        timeout(WITHIN, says).await.expect("said in time")
    }
}

#[actix::test]
async fn a_holder_in_another_process_is_told_and_after_the_grace_the_next_one_has_it() {
    let server = RedisServer::start();
    let (locks, mut holder) = (manager(&server.url()), Holder::start(&server.url()));
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        holder.says("held").await;
        let sent = micros();
        let revoked = locks.send(Revoke::new("r").reason("measured").grace(WITHIN)).await.unwrap().unwrap();
        assert_eq!((revoked.finished, revoked.taken, revoked.unconfirmed), (1, 0, 0));
        took.push(holder.says("told").await - sent);
    }
    took.sort_unstable();
    println!("told after {} µs (median of {ROUNDS}), {} µs at most", took[ROUNDS / 2], took[ROUNDS - 1]);

    let before = holder.says("held").await;
    let next = actix_rt::spawn(locks.send(Acquire::new("r").wait(WITHIN)));
    while locks.send(Inspect::new("r")).await.unwrap().unwrap().waiting == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    let sent = micros();
    let revoke = Revoke::new("r").reason("it does not finish").grace(Duration::from_millis(300));
    let revoked = locks.send(revoke).await.unwrap().unwrap();
    assert_eq!((revoked.finished, revoked.taken, revoked.unconfirmed), (0, 1, 0));
    let lost = holder.says("lost").await;
    assert!(lost >= sent + 300_000, "{} µs after it was sent", lost - sent);
    println!("told of the loss {} µs after the grace", lost - sent - 300_000);
    let next = timeout(WITHIN, next).await.unwrap().unwrap().unwrap().unwrap();
    assert!(next.fence().unwrap().get() > before);
    assert!(holder.process.wait().await.unwrap().success());
    drop(next);
    locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
}
