//! `acquire`, `renew` and `release --ticket`: a lock that no process holds, and what is told of tickets that are none.

use std::{
    fs::File,
    io::{self, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Command, Stdio},
};

use leasehold::{Acquire, Adopt, Inspect, LeaseTicket};
use leasehold_testing::{
    process::{Process, Signal},
    servers::RedisServer,
    waiting::until as wait_until,
};

use crate::support::{Ran, acquire, command, run, until, with_locks};

/// Runs the command with this on its standard input.
fn run_fed(url: &str, arguments: &[&str], text: &str) -> Ran {
    let mut child = fed(url, arguments).spawn().unwrap();
    write!(child.stdin.take().unwrap(), "{text}").unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

fn fed(url: &str, arguments: &[&str]) -> Command {
    let mut command = command(arguments);
    command
        .env("LEASEHOLD_STORE_URL", url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn a_lock_without_a_process_is_held_renewed_and_released_by_its_ticket() {
    let server = RedisServer::start();
    let url = server.url();
    let acquired = run(&url, &["acquire", "r", "--ttl", "5m"]);
    acquired.shows(0, &["\"resource\":\"r\"", "\"ttl\":\"5m\""]);
    run(&url, &["show", "r"]).shows(0, &["r: 1 holder", "leasehold acquire"]);
    run(&url, &["acquire", "r"]).tells(1, &["r: held by", "leasehold acquire"]);
    // Not the key of the fences, which lasts longer.
    let keys = server.keys();
    let (key, _) = keys.iter().min_by_key(|(_, left)| *left).unwrap();
    server.command(&["PEXPIRE", key, "200000"]);
    let renewed = run_fed(&url, &["renew", "--ticket", "-"], &acquired.out);
    renewed.shows(0, &["\"resource\":\"r\""]);
    let left: i64 = redis::from_redis_value(server.command(&["PTTL", key])).unwrap();
    assert!(left > 200_000, "{left} of {keys:?}");
    // Both are tickets of the same lease.
    run(&url, &["renew", "--ticket", acquired.out.trim()]).shows(0, &["\"resource\":\"r\""]);
    let released = run_fed(&url, &["release", "--ticket", "-", "--json"], &renewed.out);
    assert_eq!((released.code, released.json()[0]["released"] == true), (Some(0), true));
    run(&url, &["show", "r"]).shows(1, &["r is free"]);
    run_fed(&url, &["renew", "--ticket", "-"], &renewed.out).tells(1, &["r is not held by this ticket"]);
    let again = run_fed(&url, &["release", "--ticket", "-"], &renewed.out);
    again.shows(1, &["r is not held by this token"]);
}

#[test]
fn a_ticket_goes_from_the_command_to_an_application_and_back() {
    let server = RedisServer::start();
    let url = server.url();
    let acquired = run(&url, &["acquire", "r", "--ttl", "5m"]);
    with_locks(&url, async |locks| {
        let ticket: LeaseTicket = serde_json::from_str(&acquired.out).unwrap();
        let lease = locks.send(Adopt(ticket)).await.unwrap().unwrap();
        let ticket = serde_json::to_string(&lease.into_ticket().await.unwrap()).unwrap();
        run_fed(&url, &["release", "--ticket", "-"], &ticket).shows(0, &["r is released"]);
    });
}

#[test]
fn an_acquire_that_waits_is_handed_the_lock_or_leaves_the_queue_when_it_is_interrupted() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        let waits = async |number| {
            until("they wait", async || {
                locks.send(Inspect::new("r")).await.unwrap().unwrap().waiting == number
            })
            .await;
        };
        let mut waiting = fed(&server.url(), &["acquire", "r", "--wait", "5m"]);
        let waiting = Process::start(&mut waiting);
        waits(1).await;
        let mut interrupted = fed(&server.url(), &["acquire", "r", "--wait", "5m"]);
        let interrupted = Process::start(&mut interrupted);
        waits(2).await;
        interrupted.signal(Signal::INT);
        let interrupted = run_to_end(interrupted).await;
        interrupted.tells(2, &["interrupted before it was granted"]);
        waits(1).await;
        lease.release().await.unwrap();
        run_to_end(waiting).await.shows(0, &["\"resource\":\"r\""]);
    });
}

/// Waits for the end of a command while the lock managers of this process go on.
async fn run_to_end(command: Process) -> Ran {
    actix_rt::task::spawn_blocking(move || ended(command)).await.unwrap()
}

fn ended(mut command: Process) -> Ran {
    let out = io::read_to_string(command.stdout()).unwrap();
    let err = io::read_to_string(command.stderr()).unwrap();
    Ran { code: command.end().code(), out, err }
}

#[test]
fn a_ticket_that_cannot_be_written_is_released() {
    let server = RedisServer::start();
    let mut full = fed(&server.url(), &["acquire", "r"]);
    let full = full.stdin(Stdio::null()).stdout(File::options().write(true).open("/dev/full").unwrap());
    Ran::of(full.output().unwrap()).tells(2, &["could not be written, so it is released"]);
    run(&server.url(), &["show", "r"]).shows(1, &["r is free"]);
}

#[test]
fn a_lost_ticket_whose_release_has_no_answer_is_an_unknown_outcome() {
    let server = RedisServer::start();
    let (reader, full) = UnixStream::pair().unwrap();
    full.set_nonblocking(true).unwrap();
    while (&full).write(&[0]).is_ok() {}
    full.set_nonblocking(false).unwrap();
    let mut command = fed(&server.url(), &["acquire", "r", "--ttl", "5m"]);
    command.env("LEASEHOLD_STORE_RESPONSE_TIMEOUT", "2s").stdin(Stdio::null()).stdout(OwnedFd::from(full));
    let mut child = Process::start(&mut command);
    drop(command);
    wait_until("it is granted", || !server.keys().is_empty());
    server.pause();
    drop(reader);
    let err = io::read_to_string(child.stderr()).unwrap();
    let ran = Ran { code: child.end().code(), out: String::new(), err };
    server.resume();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("could not be written, and is lost"), "{ran:?}");
    assert!(ran.err.contains("it opens after its TTL"), "{ran:?}");
}

#[test]
fn what_is_no_ticket_is_refused_without_being_told() {
    let server = RedisServer::start();
    let url = server.url();
    let token = "0123456789abcdef0123456789abcdef";
    for command in ["renew", "release"] {
        let ran = run_fed(&url, &[command, "--ticket", "-"], token);
        ran.tells(2, &["this is no ticket", "leasehold acquire"]);
        assert!(!ran.err.contains(token), "{ran:?}");
        let newer = run_fed(&url, &[command, "--ticket", "-"], r#"{"version":2}"#);
        newer.tells(2, &["a ticket of version 2, where 1 is known"]);
    }
    let both = run(&url, &["release", "r", "--ticket", "-"]);
    both.tells(2, &["--ticket"]);
    let neither = run(&url, &["release", "r"]);
    neither.tells(2, &["--token"]);
}
