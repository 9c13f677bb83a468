//! The examples, run as the processes that they are.
//!
//! `cargo test` builds them before it runs anything. Before `cargo test --test processes` alone, run `cargo build --examples`.

mod axum;
mod blips;
mod leaders;
mod load;
mod places;
pub(crate) mod program;
mod web;

use std::{
    collections::HashSet,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use self::program::{Program, example, signal};
use leasehold_testing::servers::RedisServer;
use tempfile::TempDir;

/// A lottery of eight processes on a server of its own.
struct Lottery {
    server: RedisServer,
    directory: TempDir,
}

/// What the instance that was elected said of itself.
struct Elected {
    pid: u32,
    fence: u64,
}

impl Lottery {
    fn new() -> Self {
        Self { server: RedisServer::start(), directory: tempfile::tempdir().unwrap() }
    }

    fn draw(&self, file: &str, options: &[&str]) -> Program {
        let (url, file) = (self.server.url(), self.directory.path().join(file));
        let usual = ["--store", &url, "--instances", "8", "--out", file.to_str().unwrap()];
        Program::start("lottery", &[&usual, options].concat())
    }

    fn winners(&self, file: &str) -> HashSet<u32> {
        winners(&self.directory.path().join(file))
    }

    /// Nothing stands in the way of the next lottery.
    fn assert_nothing_is_held(&self) {
        let keys = self.server.keys();
        assert!(keys.iter().all(|(key, _)| !key.contains("lottery/draw")), "{keys:?}");
    }
}

impl Elected {
    /// Reads `instance 3 (pid 123) is elected, fence 456`.
    fn of(line: &str) -> Self {
        let number_after = |word| {
            let (_, rest) = line.split_once(word).unwrap();
            rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
        };
        Self { pid: u32::try_from(number_after("(pid ")).unwrap(), fence: number_after("fence ") }
    }
}

/// The ten numbers of a file, each of them once.
fn winners(file: &Path) -> HashSet<u32> {
    let text = fs::read_to_string(file).unwrap();
    let winners: HashSet<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!((text.lines().count(), winners.len()), (10, 10), "{text}");
    assert!(winners.iter().all(|winner| (1..=1000).contains(winner)), "{text}");
    winners
}

fn count(said: &[String], words: &str) -> usize {
    said.iter().filter(|line| line.contains(words)).count()
}

#[test]
fn a_lottery_in_one_process_is_drawn_once() {
    let said = Program::start("lottery", &["--ttl", "60s"]).succeeds();
    assert_eq!(count(&said, " is elected, fence "), 1, "{said:#?}");
    assert_eq!(count(&said, " has drawn ["), 1, "{said:#?}");
    assert_eq!(count(&said, " is not elected: instance "), 3, "{said:#?}");
    assert_eq!(count(&said, "the winners: "), 1, "{said:#?}");
}

#[test]
fn a_lottery_of_eight_processes_is_drawn_once_twenty_times() {
    let lottery = Lottery::new();
    for round in 0..20 {
        let file = format!("winners-{round}");
        let said = lottery.draw(&file, &["--think", "20ms", "--ttl", "60s"]).succeeds();
        assert_eq!(count(&said, " is elected, fence "), 1, "{said:#?}");
        assert_eq!(count(&said, " has drawn ["), 1, "{said:#?}");
        assert_eq!(count(&said, " is not elected: instance "), 7, "{said:#?}");
        lottery.winners(&file);
    }
    lottery.assert_nothing_is_held();
}

#[test]
fn another_instance_draws_when_the_elected_one_is_killed() {
    let lottery = Lottery::new();
    let mut program = lottery.draw("winners", &["--think", "4s", "--ttl", "1s"]);
    let first = Elected::of(&program.hears(" is elected, fence "));
    signal("KILL", first.pid);
    let second = Elected::of(&program.hears(" is elected, fence "));
    assert_ne!(second.pid, first.pid);
    assert!(second.fence > first.fence, "{} after {}", second.fence, first.fence);
    let said = program.succeeds();
    assert_eq!(count(&said, " has drawn ["), 1, "{said:#?}");
    assert_eq!(count(&said, " ended early: signal: 9"), 1, "{said:#?}");
    lottery.winners("winners");
    lottery.assert_nothing_is_held();
}

#[test]
fn an_elected_instance_that_wakes_up_too_late_changes_nothing() {
    let lottery = Lottery::new();
    let mut program = lottery.draw("winners", &["--think", "3s", "--ttl", "500ms"]);
    let first = Elected::of(&program.hears(" is elected, fence "));
    signal("STOP", first.pid);
    program.hears(" has drawn [");
    let drawn = lottery.winners("winners");
    signal("CONT", first.pid);
    let said = program.succeeds();
    assert_eq!(count(&said, " has drawn ["), 1, "{said:#?}");
    let late = format!("(pid {}) stops: the lease of ", first.pid);
    assert_eq!(count(&said, &late), 1, "{said:#?}");
    assert_eq!(lottery.winners("winners"), drawn);
}

#[test]
fn a_lottery_that_is_interrupted_leaves_nothing_held() {
    let lottery = Lottery::new();
    let mut program = lottery.draw("winners", &["--think", "30s", "--ttl", "30s"]);
    for _ in 0..8 {
        program.hears(" elected");
    }
    signal("TERM", program.id());
    let (status, said) = program.ends();
    assert!(!status.success(), "nothing was drawn: {said:#?}");
    assert_eq!(count(&said, " was asked to stop"), 8, "{said:#?}");
    lottery.assert_nothing_is_held();
}

#[test]
fn a_job_goes_from_one_process_to_another_under_one_lock() {
    let said = Program::start("hand_over", &[]).succeeds();
    assert_eq!(count(&said, "ended, with fence Some(Fence("), 1, "{said:#?}");
    let server = RedisServer::start();
    let job = Program::start("hand_over", &["--store", &server.url(), "begin"]).succeeds();
    let keys = server.keys();
    assert!(keys.iter().any(|(key, _)| key.contains("reports/7")), "no process, and held: {keys:?}");
    let mut end = Command::new(example("hand_over"));
    end.args(["--store", &server.url(), "end"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut end = end.spawn().unwrap();
    end.stdin.take().unwrap().write_all(job[0].as_bytes()).unwrap();
    let ended = end.wait_with_output().unwrap();
    let fence = serde_json::from_str::<serde_json::Value>(&job[0]).unwrap()["fence"].to_string();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(ended.status.success() && said.contains(&format!("Fence({fence})")), "{said} of {job:?}");
    assert!(!server.keys().iter().any(|(key, _)| key.ends_with("reports/7}")), "{:?}", server.keys());
}

#[test]
fn processes_share_partitions_and_the_rest_takes_those_of_one_that_is_killed() {
    let server = RedisServer::start();
    let start = |name| {
        let options = ["--store", &server.url(), "--name", name, "--members", "1", "--for", "10m"];
        Program::start("partitions", &options)
    };
    let (mut first, mut second) = (start("a"), start("b"));
    // It may move while they are asked.
    for member in [&mut first, &mut second] {
        member.hears("partitions: 32; customer/7 ");
    }
    loop {
        let shown = [&mut first, &mut second].map(|member| member.hears("customer/7 "));
        let here = shown.iter().filter(|line| line.ends_with(" times here")).count();
        if here == 1 && shown.iter().any(|line| line.contains("is counted by ")) {
            break;
        }
    }
    drop(second);
    first.hears("partitions: 64; customer/7 was counted ");
}

#[test]
fn readers_share_and_the_writer_is_alone() {
    let server = RedisServer::start();
    for store in ["memory://", &server.url()] {
        let said = Program::start("readers", &["--store", store, "--for", "6s"]).succeeds();
        assert_eq!(said.last().unwrap(), "nobody read while the document was written");
        assert!(said.iter().any(|line| line.contains("writer |") && line.contains('W')), "{said:#?}");
    }
}
