//! 200 callers in each of 8 processes fight for 20 resources in all modes for 30 seconds, on one real server.
//!
//! Each process writes down what it held and when; afterwards the histories are put together and checked: no two
//! conflicting leases valid at once, fences in order, the counters' sums, and no key left over. (One host has one
//! clock since its start, so the moments of its processes can be compared; the library never does that.)

mod checker;
mod history;
#[path = "../support/redis_server.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod redis_server;
mod worker;

use std::{
    env,
    path::Path,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use history::Report;
use redis_server::RedisServer;

const PROCESSES: usize = 8;
const CALLERS: usize = 200;
const TIME: Duration = Duration::from_secs(30);
/// The longest TTL of the workers, after which whatever they left has ended.
const LONGEST_TTL: Duration = Duration::from_secs(2);

/// `stress` alone is the test; `stress worker URL FILE SEED` is one of its processes.
fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [role, url, file, seed] if role == "worker" => {
            worker::run(url, Path::new(file), seed.parse().unwrap())
        }
        _ if arguments.iter().any(|argument| argument == "--list") => println!("stress: test"),
        _ if is_meant(&arguments) => test(),
        _ => println!("running 0 tests\n\ntest result: ok. 0 passed; 0 failed"),
    }
}

/// Whether a filter on the command line, if there is one, asks for this test.
fn is_meant(arguments: &[String]) -> bool {
    let mut filters = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    filters.peek().is_none() || filters.any(|filter| "stress".contains(filter.as_str()))
}

fn test() {
    println!("running 1 test: {PROCESSES} processes of {CALLERS} callers for {TIME:?}");
    let server = RedisServer::start();
    let directory = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..PROCESSES).map(|process| directory.path().join(process.to_string())).collect();
    let children =
        files.iter().enumerate().map(|(seed, file)| start_worker(&server.url(), file, seed)).collect();
    wait_for(children, &server);
    let reports: Vec<Report> = files.iter().map(|file| Report::read(file)).collect();
    let summary = checker::check(&reports).unwrap_or_else(|violations| {
        let first: Vec<_> = violations.iter().take(20).map(String::as_str).collect();
        panic!("{} violations, the first:\n{}", violations.len(), first.join("\n"))
    });
    wait_until_only_the_fence_is_left(&server);
    println!("{summary}\n\ntest result: ok. 1 passed; 0 failed");
}

fn start_worker(url: &str, file: &Path, seed: usize) -> Child {
    let worker = Command::new(env::current_exe().unwrap())
        .args(["worker", url, file.to_str().unwrap(), &seed.to_string()])
        .spawn();
    worker.unwrap()
}

/// Waits for the workers; meanwhile no key may be without an end.
fn wait_for(mut children: Vec<Child>, server: &RedisServer) {
    let most = TIME + Duration::from_secs(60);
    let start = Instant::now();
    while !children.is_empty() {
        children.retain_mut(|child| match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "a worker failed: {status}");
                false
            }
            None => true,
        });
        let endless: Vec<_> = server.keys().into_iter().filter(|(_, pttl)| *pttl == -1).collect();
        let overdue = start.elapsed() > most;
        if overdue || !endless.is_empty() {
            children.iter_mut().for_each(|child| drop(child.kill()));
            panic!("overdue: {overdue}; keys without an end: {endless:?}");
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn wait_until_only_the_fence_is_left(server: &RedisServer) {
    let start = Instant::now();
    loop {
        let left: Vec<_> = server.keys().into_iter().filter(|(key, _)| key != "leasehold:fence").collect();
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < LONGEST_TTL + Duration::from_secs(1), "keys left over: {left:?}");
        thread::sleep(Duration::from_millis(20));
    }
}
