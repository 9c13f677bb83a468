//! The processes of these tests: one hands a lease over, another one adopts it and does as it is told.

use std::{
    env,
    io::{BufRead, Write},
    process::{ChildStdin, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    time::Duration,
};

use actix::Addr;
use leasehold::{Acquire, Adopt, Inspect, Lease, LockManager, Stats};
use leasehold_testing::{
    process::{Process, this_program},
    servers::RedisServer,
    waiting::{PATIENCE, eventually},
};
use support::patient;

const RESOURCE: &str = "jobs/7";
/// Longer than a busy machine keeps a process from its start, or a renewal from its end.
const TTL: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_millis(500);
const URL: &str = "LEASEHOLD_TEST_URL";
/// Set for an adopter. Without it the process is the giver.
const ADOPTS: &str = "LEASEHOLD_TEST_ADOPTS";

pub(super) enum Role {
    Gives,
    Adopts,
}

/// A process, and what it says.
pub(super) struct Part {
    process: Process,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Part {
    pub(super) fn start(server: &RedisServer, role: Role) -> Self {
        let mut command = this_program("tickets::process::follows_its_test");
        command.env(URL, server.url()).stdin(Stdio::piped());
        if matches!(role, Role::Adopts) {
            command.env(ADOPTS, "1");
        }
        let mut process = Process::start(&mut command);
        let (tell, lines) = channel();
        process.tell(move |line| tell.send(line).is_ok());
        Self { stdin: process.stdin(), process, lines }
    }

    /// Waits for a line that begins like this, and returns the rest of it.
    pub(super) fn hears(&mut self, begin: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|end| panic!("{begin:?}: {end}"));
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.to_owned();
            }
        }
    }

    pub(super) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    pub(super) fn kill(&mut self) {
        self.process.kill();
    }
}

/// Somebody who wants the lock, and waits in the queue of the server.
pub(super) async fn another_waits(
    server: &RedisServer,
) -> (Addr<LockManager>, actix_rt::task::JoinHandle<Lease>) {
    let locks = manager(&server.url());
    let asking = locks.send(Acquire::new(RESOURCE).wait(PATIENCE));
    let waiting = actix_rt::spawn(async move { asking.await.unwrap().unwrap() });
    eventually("it waits", async || {
        let inspect = Inspect::new(RESOURCE);
        locks.send(inspect).await.unwrap().is_ok_and(|seen| seen.waiting > 0)
    })
    .await;
    (locks, waiting)
}

fn manager(url: &str) -> Addr<LockManager> {
    LockManager::builder(Arc::new(patient::open(url))).start().unwrap()
}

#[test]
#[ignore = "a process of the other tests, which start it"]
fn follows_its_test() {
    let url = env::var(URL).expect("started by a test");
    // The name of this test stands on the line that has begun.
    println!();
    actix::System::new().block_on(async {
        let locks = manager(&url);
        match env::var(ADOPTS) {
            Err(_) => give(&locks).await,
            Ok(_) => adopt(&locks).await,
        }
    });
}

async fn give(locks: &Addr<LockManager>) {
    let lease = locks.send(Acquire::new(RESOURCE).ttl(TTL).renew_every(EVERY)).await.unwrap().unwrap();
    println!("holds");
    assert_eq!(told().await.as_deref(), Some("hand over"));
    let ticket = lease.into_ticket().await.unwrap();
    println!("ticket {}", serde_json::to_string(&ticket).unwrap());
    // It ends with its test, whose end closes its input.
    assert_eq!(told().await, None);
}

/// The next line that the test tells.
async fn told() -> Option<String> {
    let next = || std::io::stdin().lock().lines().next().map(Result::unwrap);
    actix_rt::task::spawn_blocking(next).await.unwrap()
}

async fn adopt(locks: &Addr<LockManager>) {
    // It is connected before there is a ticket, whose time a busy machine would use up.
    locks.send(Inspect::new(RESOURCE)).await.unwrap().unwrap();
    println!("ready");
    let ticket = serde_json::from_str(&told().await.unwrap()).unwrap();
    let lease = locks.send(Adopt(ticket)).await.unwrap().unwrap();
    println!("adopted, fence {}", lease.fence().unwrap());
    let enough = u64::from(TTL.div_duration_f64(EVERY) as u32) + 3;
    eventually("it is renewed", async || locks.send(Stats).await.unwrap().renewals >= enough).await;
    println!("renewed it for longer than its TTL");
    assert_eq!(told().await.as_deref(), Some("release"));
    lease.release().await.unwrap();
    println!("released");
}
