//! The examples of which one leads: the worker and the scheduler, killed, frozen, stopped and hanging.

use std::time::{Duration, Instant};

use super::program::{Program, signal};
use crate::examples::{Elected, count};
use leasehold_testing::servers::RedisServer;
use leasehold_testing::waiting::PATIENCE;

/// The processes of a scheduler on one server.
fn schedulers<const N: usize>(server: &RedisServer, ttl: &str) -> [Program; N] {
    [(); N]
        .map(|()| Program::start("scheduler", &["--store", &server.url(), "--ttl", ttl, "--every", "100ms"]))
}

/// Waits until one of these ticks with a larger fence than this one. Returns its place, and the line. Older lines may still
/// be in the pipe of a program that has led before.
fn one_ticks(programs: &mut [Program], after: u64) -> (usize, String) {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        for (place, program) in programs.iter_mut().enumerate() {
            let line = program.hears_within("tick (pid ", Duration::from_millis(5));
            if let Some(line) = line.filter(|line| Elected::of(line).fence > after) {
                return (place, line);
            }
        }
    }
    panic!("nobody ticks with a fence after {after}");
}

#[test]
fn one_scheduler_ticks_and_the_next_goes_on_when_it_is_stopped_or_dies() {
    // Whoever is stopped gives the lease back: the next one goes on long before its end.
    goes_on("10s", &[("TERM", 8)]);
    goes_on("1s", &[("KILL", 10), ("STOP", 12)]);
}

/// Sends these signals to the one that ticks, one after the other, and each time the next one ticks within so many seconds.
fn goes_on(ttl: &str, signals: &[(&str, u64)]) {
    let server = RedisServer::start();
    let mut programs = schedulers::<4>(&server, ttl);
    let (mut place, mut line) = one_ticks(&mut programs, 0);
    for &(name, at_most) in signals {
        let leader = Elected::of(&line);
        assert_eq!(leader.pid, programs[place].id());
        signal(name, leader.pid);
        let began = Instant::now();
        let (next, ticks) = one_ticks(&mut programs, leader.fence);
        let gap = began.elapsed();
        println!("SIG{name}: {gap:?}");
        assert!(gap < Duration::from_secs(at_most), "SIG{name}: {gap:?}");
        if name == "STOP" {
            signal("CONT", leader.pid);
        }
        (place, line) = (next, ticks);
    }
}

#[test]
fn a_worker_that_hangs_loses_its_lease_and_starts_again() {
    // A busy machine may keep it from a heartbeat for a while, which must not end another term.
    let habits = ["--every", "100ms", "--heartbeat", "3s", "--panic-at", "1000"];
    let mut program = Program::start("worker", &[&["--for", "10m"], &habits[..]].concat());
    program.hears("the worker works");
    program.hears("the worker works");
    program.hears("the worker has written report 10");
    signal("INT", program.id());
    let said = program.succeeds();
    assert_eq!(fences(&said).len(), 2, "{said:#?}");
    assert!(fences(&said).is_sorted_by(|one, next| one < next), "in a term of its own: {said:#?}");
    assert_eq!(said.last().unwrap(), "released: 1, taken away: 0");
}

#[test]
fn a_worker_that_hangs_is_followed_by_one_in_another_process() {
    let server = RedisServer::start();
    let habits = ["--store", &server.url(), "--every", "100ms", "--heartbeat", "300ms", "--panic-at", "1000"];
    // Until it hangs, the second one has come to wait.
    let mut first = Program::start("worker", &[&habits[..], &["--hang-at", "50"]].concat());
    first.hears("the worker has written report 1");
    let mut second = Program::start("worker", &[&habits[..], &["--hang-at", "1000"]].concat());
    second.hears("the worker has written report 10");
    signal("TERM", second.id());
    second.succeeds();
    first.hears("the worker has written report 51");
}

#[test]
fn a_worker_that_panics_keeps_its_lease_and_is_started_again() {
    let server = RedisServer::start();
    let habits = ["--every", "50ms", "--hang-at", "1000", "--panic-at", "3", "--heartbeat", "60s"];
    let mut program =
        Program::start("worker", &[&["--store", &server.url(), "--for", "60s"], &habits[..]].concat());
    program.hears("the worker has written report 2");
    program.hears("the worker works");
    program.hears("the worker has written report 5");
    signal("INT", program.id());
    let said = program.succeeds();
    assert_eq!(count(&said, "the worker has written report 3"), 0, "{said:#?}");
    let fences = fences(&said);
    assert!(fences.len() == 2 && fences[0] == fences[1], "in the same term: {said:#?}");
}

#[test]
fn a_worker_that_is_interrupted_gives_its_lease_back() {
    let server = RedisServer::start();
    for name in ["INT", "TERM"] {
        let mut program = Program::start("worker", &["--store", &server.url(), "--for", "60s"]);
        program.hears("the worker works");
        signal(name, program.id());
        program.succeeds();
        let keys = server.keys();
        assert!(keys.iter().all(|(key, _)| !key.contains("reports/nightly")), "{keys:?}");
    }
}

/// The fences with which a worker has worked.
fn fences(said: &[String]) -> Vec<u64> {
    let works = said.iter().filter(|line| line.contains("the worker works"));
    works.map(|line| Elected::of(line).fence).collect()
}

#[test]
fn the_examples_are_short() {
    for (name, begins, most) in [
        ("scheduler", "async fn work", 20),
        ("worker", "impl Actor for ", 15),
        ("renderers", "async fn render", 25),
    ] {
        let path = format!("{}/examples/{name}.rs", concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.lines().count() <= 80, "{name} has {} lines", text.lines().count());
        // The work or the actor, and the two statements that start it.
        let work = text.lines().skip_while(|line| !line.starts_with(begins));
        let lines = work.take_while(|line| *line != "}").count() + 1 + 2;
        assert!(lines <= most, "the part of {name} that an application has to write has {lines} lines");
    }
    // The actor, its message, the handler, and the statement that starts them.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/partitions.rs");
    let text = std::fs::read_to_string(path).unwrap();
    let own = text
        .lines()
        .skip_while(|line| !line.starts_with("/// The actor of "))
        .filter(|line| !line.is_empty());
    let lines = own.take_while(|line| !line.starts_with("fn join(")).count() + 2;
    assert!(lines <= 25, "the part of partitions that an application has to write has {lines} lines");
    // The handler, the answer if it fails, and the statements about the lock manager.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/axum_orders/main.rs");
    let text = std::fs::read_to_string(path).unwrap();
    let pay =
        text.lines().skip_while(|line| !line.starts_with("async fn pay")).take_while(|line| *line != "}");
    let fails =
        text.lines().skip_while(|line| !line.starts_with("type Unknown")).take_while(|line| *line != "}");
    let started = text.lines().filter(|line| line.contains("manager"));
    let lines = pay.count() + 1 + fails.count() + 1 + started.count();
    assert!(
        (15..=25).contains(&lines),
        "the part of axum_orders that an application has to write has {lines} lines"
    );
}
