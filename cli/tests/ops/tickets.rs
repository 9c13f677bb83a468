//! `acquire`, `renew` and `release --ticket`: a lock that no process holds, and what is told of tickets that are none.

use std::{
    fs::File,
    io::Write,
    process::{Child, Command, Stdio},
};

use leasehold::{Acquire, Adopt, Inspect, LeaseTicket};
use leasehold_testing::servers::RedisServer;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
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
    server.command(&["PEXPIRE", &server.keys()[0].0, "200000"]);
    let renewed = run_fed(&url, &["renew", "--ticket", "-"], &acquired.out);
    renewed.shows(0, &["\"resource\":\"r\""]);
    assert!(server.keys().iter().any(|(_, left)| *left > 250_000), "{:?}", server.keys());
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
        let waiting = fed(&server.url(), &["acquire", "r", "--wait", "forever"]).spawn().unwrap();
        waits(1).await;
        let interrupted = fed(&server.url(), &["acquire", "r", "--wait", "forever"]).spawn().unwrap();
        waits(2).await;
        kill(Pid::from_raw(interrupted.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        let interrupted = run_to_end(interrupted).await;
        interrupted.tells(2, &["interrupted before it was granted"]);
        waits(1).await;
        lease.release().await.unwrap();
        run_to_end(waiting).await.shows(0, &["\"resource\":\"r\""]);
    });
}

/// Waits for the end of a command while the lock managers of this process go on.
async fn run_to_end(command: Child) -> Ran {
    Ran::of(actix_rt::task::spawn_blocking(move || command.wait_with_output().unwrap()).await.unwrap())
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
