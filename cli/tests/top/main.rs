//! `leasehold top` in a terminal: what is on the screen, what keys do, what it costs, and how the terminal is left.

mod tmux;

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use actix::{Addr, System};
use futures_util::future::join_all;
use leasehold::{Acquire, Config, Lease, LockManager};
use leasehold_testing::servers::RedisServer;
use tmux::Tmux;

/// Locks that nobody waits for.
const IDLE: usize = 9_997;
/// The waiters of each contended resource, each of a manager of its own, as different processes have.
const WAITERS: [(&str, usize); 3] = [("hot/1", 3), ("hot/2", 2), ("hot/3", 1)];

/// What the shell says after a program, with its exit code.
const ENDED: &str = "; echo ended with $?";

fn manager(url: &str) -> Addr<LockManager> {
    // A machine with much else to do may take longer than usual to answer thousands at once.
    let config = format!(
        "store.url = '{url}'\nstore.response_timeout = '60s'\nlease.ttl = '10m'\nstore.connect_timeout = '10s'"
    );
    Config::from_toml(&config).unwrap().start().unwrap()
}

async fn hold(locks: &Addr<LockManager>, name: String) -> Lease {
    const LONG: Duration = Duration::from_secs(1_800);
    let request = Acquire::new(name).ttl(LONG).no_renew().metadata("purpose", "a test");
    locks.send(request).await.unwrap().unwrap()
}

/// Locks 10,000 resources, and has six waiters for three of them. Holders release when they are asked to. Then `work` runs, in
/// a thread of its own.
fn with_10_000_resources(url: &str, work: impl FnOnce() + Send + 'static) {
    let url = url.to_owned();
    System::new().block_on(async move {
        let locks = manager(&url);
        let idle = (0..IDLE).map(|number| hold(&locks, format!("tickets/{number:05}")));
        let idle = join_all(idle).await;
        for (name, waiters) in WAITERS {
            let lease = hold(&locks, name.to_owned()).await;
            actix_rt::spawn(async move {
                lease.revoke_requested().await;
                lease.release().await.unwrap();
            });
            for _ in 0..waiters {
                let (waiter, request) = (manager(&url), Acquire::new(name).wait(Duration::from_secs(1_800)));
                actix_rt::spawn(async move {
                    let lease = waiter.send(request).await.unwrap();
                    // Held for as long as the test runs.
                    std::future::pending::<()>().await;
                    drop(lease);
                });
            }
        }
        let worked = actix_rt::task::spawn_blocking(work).await;
        drop(idle);
        worked.unwrap();
    });
}

fn top(url: &str) -> String {
    // As for the managers.
    let patient = "env LEASEHOLD_STORE_CONNECT_TIMEOUT=10s LEASEHOLD_STORE_RESPONSE_TIMEOUT=10s";
    format!("{patient} {} top --store {url} {ENDED}", env!("CARGO_BIN_EXE_leasehold"))
}

/// The processor time that a process has had.
fn processor_time(process: u32) -> Duration {
    // Ticks are a hundredth of a second wherever Linux runs.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // Its name, which may contain blanks, is in brackets.
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u32 = fields[11].parse::<u32>().unwrap() + fields[12].parse::<u32>().unwrap();
    ticks * TICK
}

/// The processor time a second of a process, over 5 s.
fn cost(process: u32) -> Duration {
    const OVER: Duration = Duration::from_secs(5);
    let (begin, before) = (Instant::now(), processor_time(process));
    thread::sleep(OVER);
    (processor_time(process) - before).div_f64(begin.elapsed().as_secs_f64())
}

fn signal(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

#[test]
fn ten_thousand_resources_are_sorted_filtered_opened_and_revoked() {
    let server = RedisServer::start();
    let url = server.url();
    with_10_000_resources(&server.url(), move || {
        let terminal = Tmux::start();
        terminal.enter("echo before the view");
        terminal.shows(&["\nbefore the view"]);
        terminal.enter(&top(&url));
        let small = terminal.shows(&["not free 10,000", "contended 3", "waiting 6", "p99", "% CPU"]);
        let rows: Vec<_> = small.lines().skip_while(|line| !line.starts_with("RESOURCE")).collect();
        assert!(rows[0].contains("1-12 of 10,000"), "{small}");
        for (row, (name, waiters)) in rows[1..].iter().zip(WAITERS) {
            assert!(row.starts_with(name) && row.contains(&format!(" {waiters} ")), "{row}");
        }
        println!("{small}");

        terminal.press("G");
        terminal.shows(&["RESOURCE 9989-10000 of 10,000", "tickets/09996"]);
        terminal.press("n");
        terminal.shows(&["sort: name"]);
        terminal.press("g");
        terminal.shows(&["RESOURCE 1-12"]);

        terminal.type_text("/tickets/0123");
        terminal.press("Enter");
        terminal.shows(&["1-10 of 10 ", "tickets/01230", "/ filter: tickets/0123"]);
        terminal.press("Escape");
        terminal.shows(&["of 10,000"]);

        terminal.resize(200, 60);
        println!("{}", terminal.shows(&["FENCE", "LOOKED", "a test"]));
        terminal.resize(80, 24);

        let process = terminal.child();
        let cost = cost(process);
        println!("processor time a second with 10,000 resources: {cost:?}");
        // The aim is 100 ms, of a release. This one is neither optimised nor alone.
        assert!(cost < Duration::from_millis(500), "{cost:?}");

        terminal.press("w");
        terminal.press("g");
        terminal.press("Enter");
        println!("{}", terminal.shows(&["hot/1, ", "HOLDERS 1", "WAITERS 3", "a test"]));
        terminal.press("r");
        terminal.shows(&["revoke hot/1, grace: 10s"]);
        terminal.press("Enter");
        terminal.shows(&["revoke hot/1: 10.0s to finish, then by force? y/n"]);
        terminal.press("y");
        terminal.shows(&["revoke of hot/1: 1 finished, 0 taken by force", "WAITERS 2"]);

        terminal.press("q");
        let after = terminal.shows(&["ended with 0", "before the view"]);
        assert!(!after.contains("RESOURCE"), "{after}");
    });
}

#[test]
fn a_signal_control_c_and_a_lost_server_leave_the_terminal_as_it_was() {
    let mut server = RedisServer::start();
    let terminal = Tmux::start();
    for (end, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129), ("C-c", 130)] {
        terminal.enter("clear; echo before the view");
        terminal.shows(&["before the view"]);
        terminal.enter(&top(&server.url()));
        terminal.shows(&["not free 0", "nobody waits"]);
        match end.starts_with('-') {
            true => signal(end, terminal.child()),
            false => terminal.press(end),
        }
        terminal.shows(&["before the view", &format!("ended with {code}")]);
        terminal.takes_lines();
    }
    terminal.enter(&format!("clear; {}", top(&server.url())));
    terminal.shows(&["nobody waits"]);
    server.kill();
    let lost = terminal.shows(&["the store is not available"]);
    assert!(lost.contains("leasehold top"), "{lost}");
    terminal.press("q");
    terminal.shows(&["ended with 0"]);
}

#[test]
fn of_100_000_resources_some_are_listed_and_the_cost_is_told() {
    /// Writes what a manager writes for a holder, as docs/wire-format.md has it, and faster than managers could.
    const LOCK: &str =
        "for i = 1, 100000 do redis.call('SET', 'leasehold:{lots/' .. i .. '}', ARGV[1], 'PX', 600000) end";
    const HOLDER: &str =
        "00112233445566778899aabbccddeeff-1795457413355116 x 1 0  {\"host\":\"a\",\"pid\":\"7\"}";
    let server = RedisServer::with_args(&["--slowlog-log-slower-than", "5000"]);
    server.command(&["EVAL", LOCK, "0", HOLDER]);
    server.command(&["SLOWLOG", "RESET"]);
    let terminal = Tmux::start();
    let begin = Instant::now();
    terminal.enter(&top(&server.url()));
    // On a machine that has much else to do, the walk may end before it has seen all keys.
    let screen = terminal.shows(&["not free at least ", " keys)", "lots/", "a/7"]);
    println!("{screen}\n{:?} from the shell to the first figures", begin.elapsed());
    println!("processor time a second: {:?}", cost(terminal.child()));
    // Printed, and not a bound: the server may have had to wait for a processor.
    println!("commands of more than 5 ms: {:?}", server.command(&["SLOWLOG", "LEN"]));
    terminal.press("q");
    terminal.shows(&["ended with 0"]);
}

#[test]
fn without_a_terminal_one_line_says_so() {
    for stdin in [Stdio::null(), Stdio::piped()] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
        let output = command.args(["top", "--store", "memory://"]).stdin(stdin).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.starts_with("leasehold: top needs a terminal, and standard input is none"), "{told}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_wrong_pace_is_told_with_what_is_allowed() {
    for wrong in ["10ms", "2h", "soon"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
        let output = command.args(["top", "--every", wrong]).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains("--every"), "{told}");
    }
}
