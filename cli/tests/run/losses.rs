//! Runs that lose their lock, or are wanted to give it back: the command ends before the lock does.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use leasehold::{Inspect, Revoke};
use rustix::process::{Pid, Signal, kill_process};

use super::{
    holding::UNTIL_TOLD,
    support::{Run, SOON, Server, arguments, clean, leasehold, name, other, seconds, under, until},
};

/// A script that tells that it was told to end, and ends after that, with a grandchild.
const ENDS: &str = "trap 'echo told; exit 9' TERM; echo runs; sleep 1000 & while :; do sleep 0.02; done";

/// A script of which nothing ends by itself.
const IGNORES: &str = "trap '' TERM INT HUP; echo runs; sleep 1000 & while :; do sleep 1; done";

#[test]
fn a_forced_release_ends_the_command_at_once() {
    let server = Server::start();
    for script in [ENDS, IGNORES] {
        let name = name();
        let run = Run::start(&server, &name, &["--grace", "10s"], script).says("runs");
        let released = Instant::now();
        let revoked =
            other(&server, async |locks| locks.send(Revoke::at_once(&name)).await.unwrap().unwrap());
        assert_eq!(revoked.taken, 1);
        let ended = run.ended(&name);
        assert_eq!((ended.code, ended.err.lines().count()), (Some(74), 1), "{ended:?}");
        assert!(ended.err.contains("was lost: it was taken away by force"), "{ended:?}");
        // It was told, and not found out by a renewal; and no grace was given.
        assert!(released.elapsed() < seconds(8), "{:?}", released.elapsed());
    }
}

#[test]
fn a_server_that_is_gone_ends_the_command_before_the_lease_runs_out() {
    let cases: [(fn(&mut Server), _, _); 4] = [
        (Server::kill, ENDS, "told\n"),
        (Server::kill, IGNORES, ""),
        (|server| server.pause(), ENDS, "told\n"),
        (|server| server.pause(), IGNORES, ""),
    ];
    // A long lease, by the fiftieth part of which the command ends sooner; so all at a time.
    thread::scope(|scope| {
        for (end, script, told) in cases {
            scope.spawn(move || ends_before_a_lease_of_60s(end, script, told));
        }
    });
}

fn ends_before_a_lease_of_60s(end: fn(&mut Server), script: &str, told: &str) {
    let (mut server, name) = (Server::start(), name());
    let run = Run::start(&server, &name, &["--ttl", "60s", "--grace", "8s"], script).says("runs");
    let gone = Instant::now();
    end(&mut server);
    until("the command has ended", || under(&name).is_empty());
    // The last renewal was confirmed before that.
    assert!(gone.elapsed() < seconds(60), "the command ended after {:?}", gone.elapsed());
    let ended = run.ended(&name);
    assert_eq!((ended.code, &*ended.out), (Some(74), &*format!("runs\n{told}")), "{ended:?}");
    assert!(ended.err.contains("could not be renewed (is the store up?)"), "{ended:?}");
}

#[test]
fn a_standard_error_that_nobody_reads_does_not_prolong_the_command() {
    let (server, name) = (Server::start(), name());
    let url = server.url();
    // A pipe that is full, and of which the standard error is both ends.
    let full = "mkfifo full; exec 3<>full; dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>&1 | grep -v records; \
                exec \"$0\" \"$@\" 2>&3 3>&-";
    let arguments = arguments(&url, &name, &["-v"], "echo runs; sleep 1000");
    let shell = [&["-c", full, env!("CARGO_BIN_EXE_leasehold")], &arguments[..]].concat();
    let run = Run::of(clean("sh", &shell), "").says("runs");
    assert!(run.read("out").contains("temporarily unavailable"), "the pipe is not full: {}", run.read("out"));
    other(&server, async |locks| locks.send(Revoke::at_once(&name)).await.unwrap().unwrap());
    assert_eq!(run.ended(&name).code, Some(74));
}

#[test]
fn an_ended_process_that_nobody_collects_does_not_keep_the_lock() {
    let (server, name) = (Server::start(), name());
    // A process in a group of its own, whose child goes back to the group of the command, ends, and is not collected.
    let outsider = "import os, time\n\
                    group = os.getpgrp()\n\
                    if os.fork(): os._exit(0)\n\
                    os.setpgid(0, 0)\n\
                    child = os.fork()\n\
                    if not child:\n    os.setpgid(0, group)\n    os._exit(0)\n\
                    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)\n\
                    open('left', 'w').write(str(os.getpid()))\n\
                    time.sleep(1000)\n";
    let script = "python3 -c \"$OUTSIDER\"; while [ ! -s left ]; do sleep 0.02; done; exit 3";
    let url = server.url();
    let mut command = leasehold(&arguments(&url, &name, &["--grace", "100ms"], script));
    command.env("OUTSIDER", outsider);
    let run = Run::of(command, "");
    until("it has left", || !run.read("left").is_empty());
    let left: i32 = run.read("left").trim().parse().unwrap();
    assert_eq!(run.finished().code, Some(3));
    kill_process(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_leasehold_that_is_killed_takes_the_command_along() {
    let server = Server::start();
    for script in [ENDS, IGNORES] {
        let name = name();
        let script = format!("trap 'echo passed' USR1; {script}");
        let run = Run::start(&server, &name, &[], &script).says("runs");
        // Whoever passes signals on has told the guard of the command.
        run.signal(Signal::USR1);
        let run = run.says("passed");
        run.signal(Signal::KILL);
        assert_eq!(run.finished().code, None);
        until("nothing of the command lives", || under(&name).is_empty());
    }
}

#[test]
fn a_guard_that_somebody_ends_is_missed_aloud_and_ends_nothing() {
    let (server, name) = (Server::start(), name());
    let run = Run::start(&server, &name, &[], UNTIL_TOLD).says("runs");
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id())).unwrap();
    // All but the command: the threads of the lock manager start no process.
    let of_command = under(&name);
    let guards: Vec<u32> = children.split_whitespace().map(|it| it.parse().unwrap()).collect();
    for guard in guards.into_iter().filter(|it| !of_command.contains(it)) {
        kill_process(Pid::from_raw(guard.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    }
    let run = run.tells("the command is not guarded any more");
    run.write("go");
    assert_eq!(run.ended(&name).code, Some(0));
}

#[test]
fn a_server_that_is_frozen_for_a_moment_ends_nothing() {
    let (server, name) = (Server::start(), name());
    let run =
        Run::start(&server, &name, &["--ttl", "18s", "--grace", "500ms", "-v"], UNTIL_TOLD).says("runs");
    server.pause();
    let run = run.tells("a renewal was missed");
    server.resume();
    run.write("go");
    let ended = run.ended(&name);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_revoke_ends_the_command_within_its_grace_and_passes_the_lock_on() {
    let server = Server::start();
    for (script, told) in [(ENDS, "runs\ntold\n"), (IGNORES, "runs\n")] {
        let name = name();
        let run = Run::start(&server, &name, &["--ttl", "10m", "--grace", "20s"], script).says("runs");
        let next = Run::start(&server, &name, &["--wait", "forever", "-v"], "echo next").tells("ahead");
        let revoke = Revoke::new(&name).reason("a deploy").grace(seconds(15)); // KILL comes 12 s before its end
        let revoked = other(&server, async |locks| locks.send(revoke).await.unwrap().unwrap());
        assert_eq!((revoked.finished, revoked.taken), (1, 0), "{script}");
        let ended = run.finished();
        assert_eq!((ended.code, &*ended.out), (Some(74), told), "{ended:?}");
        assert!(ended.err.contains("was wanted back: a deploy"), "{ended:?}");
        let next = next.ended(&name);
        assert_eq!((next.code, &*next.out), (Some(0), "next\n"), "{next:?}");
    }
}

#[test]
fn the_own_grace_ends_the_command_before_a_longer_one_of_a_revoke() {
    let (server, name) = (Server::start(), name());
    let run = Run::start(&server, &name, &["--grace", "200ms"], IGNORES).says("runs");
    let revoke = Revoke::new(&name).grace(SOON);
    let start = Instant::now();
    let revoked = other(&server, async |locks| locks.send(revoke).await.unwrap().unwrap());
    assert_eq!((revoked.finished, revoked.taken), (1, 0));
    assert!(start.elapsed() < SOON / 2, "{:?}", start.elapsed());
    assert_eq!(run.ended(&name).code, Some(74));
}

#[test]
fn a_release_without_an_answer_is_told_as_unknown() {
    for (options, opens) in [(&[][..], 30..=30), (&["--min-hold", "50s"], 31..=80)] {
        let (server, name) = (Server::start(), name());
        let script = "echo runs; while [ ! -e go ]; do sleep 0.02; done; exit 3";
        let run = Run::start(&server, &name, options, script).says("runs");
        server.pause();
        run.write("go");
        let ended = run.ended(&name);
        assert_eq!((ended.code, ended.err.lines().count()), (Some(3), 1), "{ended:?}");
        let expected = format!("the outcome of the release of {name} is unknown");
        let (told, _) = ended.err.split_once(" at the latest").unwrap();
        let bound = humantime::parse_duration(told.rsplit_once("within ").unwrap().1).unwrap();
        assert!(ended.err.contains(&expected) && opens.contains(&bound.as_secs()), "{ended:?}");
    }
}

#[test]
fn a_loss_that_is_found_at_the_release_is_told() {
    let (server, name) = (Server::start(), name());
    let run = Run::start(&server, &name, &[], UNTIL_TOLD).says("runs");
    server.command(&["FLUSHALL"]);
    run.write("go");
    let ended = run.ended(&name);
    assert_eq!((ended.code, ended.err.lines().count()), (Some(74), 1), "{ended:?}");
    assert!(ended.err.contains("was lost before the command ended (exit code 0)"), "{ended:?}");
}

#[test]
fn a_store_that_does_not_answer_runs_nothing() {
    let (server, name) = (Server::start(), name());
    server.pause();
    let ended = Run::start(&server, &name, &[], "echo it ran").ended(&name);
    assert_eq!((ended.code, &*ended.out, ended.err.lines().count()), (Some(69), "", 1), "{ended:?}");
    server.resume();
    // What it may have granted after all is given back, or ends.
    other(&server, async |locks| {
        let start = Instant::now();
        while locks.send(Inspect::new(&name)).await.unwrap().unwrap().total > 0 {
            assert!(start.elapsed() < SOON, "it stays locked");
            actix_rt::time::sleep(Duration::from_millis(50)).await;
        }
    });
}
