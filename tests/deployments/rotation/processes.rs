//! Processes that read their password from a file, while it changes on their servers.

use std::{
    env,
    io::{BufRead, Write},
    process::{ChildStdin, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use leasehold::{Acquire, Config};
use leasehold_testing::{
    process::{Process, this_program},
    servers::{RedisCluster, RedisServer, Sentinels},
    waiting::until,
};

use super::{LONG, Rotation, TURNS, timed};

const PROCESSES: usize = 3;
/// The configuration of a process.
const CONFIGURATION: &str = "LEASEHOLD_TEST_CONFIGURATION";

/// A process, and the number of turns that it has told.
struct Worker {
    process: Process,
    stdin: ChildStdin,
    turns: Arc<AtomicUsize>,
}

impl Worker {
    fn start(configuration: &str) -> Self {
        let mut command = this_program("deployments::rotation::processes::takes_turns");
        command.env(CONFIGURATION, configuration).stdin(Stdio::piped());
        let mut process = Process::start(&mut command);
        let turns = Arc::new(AtomicUsize::new(0));
        let told = Arc::clone(&turns);
        process.tell(move |line| {
            if line == "turn" {
                told.fetch_add(1, Ordering::Relaxed);
            }
            true
        });
        Self { stdin: process.stdin(), process, turns }
    }

    fn turns(&mut self) -> usize {
        assert_eq!(self.process.ended(), None, "a worker ends when it is told to, or when something failed");
        self.turns.load(Ordering::Relaxed)
    }

    /// Has it end, and returns the number of its turns.
    fn end(mut self) -> usize {
        writeln!(self.stdin, "end").unwrap();
        assert!(self.process.end().success());
        self.turns.load(Ordering::Relaxed)
    }
}

#[test]
#[ignore = "a process of the other tests, which start it"]
fn takes_turns() {
    let configuration = env::var(CONFIGURATION).expect("started by a test");
    let is_told_to_end = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_told_to_end);
    thread::spawn(move || {
        assert!(std::io::stdin().lock().lines().next().is_some(), "its test is gone");
        told.store(true, Ordering::Relaxed);
    });
    actix::System::new().block_on(async {
        let locks = Config::from_toml(&configuration).unwrap().start().unwrap();
        let kept = format!("kept/{}", std::process::id());
        let kept = locks.send(Acquire::new(kept).ttl(LONG)).await.unwrap().unwrap();
        // The name of this test stands on the line that has begun.
        println!();
        while !is_told_to_end.load(Ordering::Relaxed) {
            let lease = locks.send(Acquire::new("turns").wait(LONG)).await.unwrap().unwrap();
            assert!(lease.is_valid(), "{lease:?}");
            lease.release().await.unwrap();
            println!("turn");
        }
        kept.renew().await.unwrap();
        kept.release().await.unwrap();
    });
}

/// Has processes work while the password in their file changes, one of which is replaced after each change: the new one knows
/// the new password alone. A request, a lease or a turn that fails ends its process.
fn rotate(rotation: &Rotation, url: &str) {
    let configuration = rotation.configuration(url);
    let mut workers = [(); PROCESSES].map(|()| Worker::start(&configuration));
    let (began, mut turns) = (Instant::now(), 0);
    for number in 1..=timed().unwrap_or(3) {
        if timed().is_some() {
            let at = began + Duration::from_secs(2 * number as u64);
            thread::sleep(at.saturating_duration_since(Instant::now()));
        }
        rotation.change_and_listen_anew(number);
        for worker in &mut workers {
            let before = worker.turns();
            until("it goes on after the change", || worker.turns() >= before + TURNS);
        }
        let new = Worker::start(&configuration);
        turns += std::mem::replace(&mut workers[number % PROCESSES], new).end();
    }
    turns += workers.into_iter().map(Worker::end).sum::<usize>();
    println!("{turns} turns in {:?}", began.elapsed());
}

#[test]
fn one_server() {
    let server = RedisServer::start();
    rotate(&Rotation::begin(vec![server.port()]), &server.url());
}

#[test]
fn sentinel() {
    let service = Sentinels::calm();
    rotate(&Rotation::begin(super::ports_of(&service)), &service.url());
}

#[test]
fn cluster() {
    let cluster = RedisCluster::calm();
    let ports = cluster.nodes.iter().map(RedisServer::port).collect();
    rotate(&Rotation::begin(ports), &cluster.url());
}
