//! Runs of a lock that somebody else has: waits, tries, shares, fences.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    time::{Duration, Instant},
};

use leasehold::{Acquire, AcquireError, Inspect};
use rustix::process::Signal;

use super::support::{Run, Server, leasehold, name, other, seconds, until};

/// A script that tells that it runs, and goes on until its directory has the file `go`.
pub(crate) const UNTIL_TOLD: &str = "echo runs; while [ ! -e go ]; do sleep 0.02; done";

#[test]
fn a_lock_that_is_held_is_refused_with_what_is_known_of_its_holder() {
    let (server, name) = (Server::start(), name());
    other(&server, async |locks| {
        let held = Acquire::new(&name).purpose("the nightly report");
        let _lease = locks.send(held).await.unwrap().unwrap();
        for options in [&[][..], &["--try"], &["--wait", "5s"], &["--shared", "--wait", "5s"]] {
            let ended = Run::start(&server, &name, options, "echo it ran").ended(&name);
            assert_eq!((ended.code, &*ended.out, ended.err.lines().count()), (Some(75), "", 1), "{ended:?}");
            assert!(ended.err.contains("the nightly report"), "{ended:?}");
        }
    });
}

#[test]
fn a_name_is_typed_as_it_is_shown_or_as_it_is() {
    let (server, name) = (Server::start(), name());
    let (shown, raw) = (format!("{name}%20%FF"), [name.as_bytes(), b" \xff"].concat());
    other(&server, async |locks| {
        let lease = locks.send(Acquire::new(&raw)).await.unwrap().unwrap();
        let held = Run::start(&server, &shown, &["--try"], "echo it ran").ended(&shown);
        assert_eq!((held.code, &*held.out), (Some(75), ""), "{held:?}");
        assert!(held.err.contains(&format!("{shown} is held")), "{held:?}");
        lease.release().await.unwrap();
    });
    let typed = [shown.as_ref(), OsStr::from_bytes(&raw)];
    let store = format!("--store={}", server.url());
    for typed in typed {
        let script = ["--", "sh", "-c", "echo $LEASEHOLD_RESOURCE"].map(OsStr::new);
        let arguments = [&["run".as_ref(), typed, store.as_ref()][..], &script].concat();
        let ended = Run::of(leasehold(&arguments), "").ended(&shown);
        assert_eq!((ended.code, ended.out), (Some(0), format!("{shown}\n")), "{}", ended.err);
    }
}

#[test]
fn no_escape_sequence_of_a_holder_reaches_the_terminal() {
    let (server, name) = (Server::start(), name());
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\nsecond line";
    other(&server, async |locks| {
        let held = Acquire::new(&name).owner(evil).purpose(evil);
        let _lease = locks.send(held).await.unwrap().unwrap();
        let tries = Run::start(&server, &name, &["--try"], "echo it ran").ended(&name);
        let waits =
            Run::start(&server, &name, &["-v", "--wait", "forever"], "echo it ran").tells("is held by");
        waits.signal(Signal::TERM);
        for ended in [tries, waits.ended(&name)] {
            let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            let is_ours = ended.err.lines().all(|line| line.starts_with("leasehold: "));
            assert!(ended.err.contains("owned") && is_ours && !ended.err.contains(obeyed), "{ended:?}");
        }
    });
}

#[test]
fn no_overlap_says_nothing_and_runs_nothing() {
    let (server, name) = (Server::start(), name());
    other(&server, async |locks| {
        let _lease = locks.send(Acquire::new(&name)).await.unwrap().unwrap();
        let ended = Run::start(&server, &name, &["--no-overlap"], "echo it ran").ended(&name);
        assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(0), "", ""));
    });
    let ended = Run::start(&server, &name, &["--no-overlap"], "echo it ran").ended(&name);
    assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(0), "it ran\n", ""));
}

#[test]
fn a_run_that_waits_is_next_and_says_whom_it_waits_for() {
    let (server, name) = (Server::start(), name());
    let first = Run::start(&server, &name, &["--purpose", "the first"], UNTIL_TOLD).says("runs");
    let second = Run::start(&server, &name, &["--wait", "forever", "-v"], "echo it ran")
        .tells(&format!("waiting for {name}, with 0 ahead"))
        .tells("purpose the first");
    assert_eq!(second.read("out"), "");
    first.write("go");
    assert_eq!(first.finished().code, Some(0));
    let second = second.ended(&name);
    assert_eq!((second.code, &*second.out), (Some(0), "it ran\n"), "{second:?}");
}

#[test]
fn a_signal_ends_a_wait_and_leaves_the_queue_empty() {
    let (server, name) = (Server::start(), name());
    other(&server, async |locks| {
        let _lease = locks.send(Acquire::new(&name)).await.unwrap().unwrap();
        for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
            let run = Run::start(&server, &name, &["--wait", "forever", "-v"], "echo it ran").tells("ahead");
            run.signal(Signal::USR1); // there is nobody for it
            run.signal(signal);
            let ended = run.ended(&name);
            assert_eq!((ended.code, &*ended.out), (Some(code), ""), "{ended:?}");
            assert!(ended.err.contains("nothing was run"), "{ended:?}");
            let found = locks.send(Inspect::new(&name)).await.unwrap().unwrap();
            assert_eq!((found.total, found.waiting), (1, 0), "after signal {code}");
        }
    });
}

#[test]
fn a_shared_lock_is_held_by_two_runs_at_a_time() {
    let (server, name) = (Server::start(), name());
    let both = [(); 2].map(|()| Run::start(&server, &name, &["--shared", "--try"], UNTIL_TOLD).says("runs"));
    let writer = Run::start(&server, &name, &["--try"], "echo it ran").finished();
    assert_eq!((writer.code, &*writer.out), (Some(75), ""), "{writer:?}");
    both.iter().for_each(|run| run.write("go"));
    assert_eq!(both.map(|run| run.finished().code), [Some(0); 2]);
}

#[test]
fn permits_are_held_up_to_their_number() {
    let (server, name) = (Server::start(), name());
    let both = [(); 2].map(|()| Run::start(&server, &name, &["--permits", "1/2"], UNTIL_TOLD).says("runs"));
    for permits in ["1/2", "2/2", "1/3"] {
        let refused = Run::start(&server, &name, &["--permits", permits], "echo it ran").finished();
        assert_eq!((refused.code, &*refused.out), (Some(75), ""), "{refused:?}");
    }
    let reader = Run::start(&server, &name, &["--shared", "--wait", "forever"], "echo it ran").finished();
    assert_eq!((reader.code, &*reader.out), (Some(64), ""), "{reader:?}");
    both.iter().for_each(|run| run.write("go"));
    assert_eq!(both.map(|run| run.finished().code), [Some(0); 2]);
    let all = Run::start(&server, &name, &["--permits", "2/2"], "echo it ran").ended(&name);
    assert_eq!((all.code, &*all.out), (Some(0), "it ran\n"), "{all:?}");
}

#[test]
fn another_number_of_all_permits_waits_for_those_who_name_a_smaller_one() {
    let (server, name) = (Server::start(), name());
    let old = [(); 3].map(|()| Run::start(&server, &name, &["--permits", "1/3"], UNTIL_TOLD).says("runs"));
    let new = Run::start(&server, &name, &["--permits", "3/5", "--wait", "forever", "-v"], "echo it ran")
        .tells(&format!("waiting for {name}, with 0 ahead"));
    old[0].write("go");
    old[1].write("go");
    let [one, two, last] = old;
    assert_eq!([one.finished().code, two.finished().code], [Some(0); 2]);
    assert_eq!(new.read("out"), "", "three of three with the one that is left would be four");
    last.write("go");
    assert_eq!(last.finished().code, Some(0));
    let new = new.ended(&name);
    assert_eq!((new.code, &*new.out), (Some(0), "it ran\n"), "{new:?}");
}

#[test]
fn fences_grow_from_run_to_run() {
    let (server, name) = (Server::start(), name());
    let fences: Vec<u64> = (0..4)
        .map(|_| {
            Run::start(&server, &name, &[], "echo $LEASEHOLD_FENCE").ended(&name).out.trim().parse().unwrap()
        })
        .collect();
    assert!(fences.is_sorted_by(|earlier, later| earlier < later), "{fences:?}");
}

#[test]
fn a_minimum_hold_keeps_the_lock_closed_after_the_command() {
    let (server, name) = (Server::start(), name());
    let start = Instant::now();
    let run = Run::start(&server, &name, &["--min-hold", "12s", "--ttl", "6s"], "true").ended(&name);
    assert_eq!((run.code, &*run.err), (Some(0), ""));
    // The process does not wait for it.
    let next = Run::start(&server, &name, &["--no-overlap"], "echo it ran").ended(&name);
    if start.elapsed() < seconds(11) {
        assert_eq!((next.code, &*next.out), (Some(0), ""), "{next:?}");
    }
    let next = Run::start(&server, &name, &["--wait", "forever"], "echo it ran").ended(&name);
    assert_eq!((next.code, &*next.out), (Some(0), "it ran\n"), "{next:?}");
    assert!(start.elapsed() >= Duration::from_millis(11_900), "{:?}", start.elapsed());
}

#[test]
fn a_run_within_a_run_knows_its_own_lock() {
    let (server, outer, inner) = (Server::start(), name(), name());
    let nested = format!(
        "{} run {inner} --store {} -- sh -c 'echo $LEASEHOLD_RESOURCE'; echo $LEASEHOLD_RESOURCE",
        env!("CARGO_BIN_EXE_leasehold"),
        server.url()
    );
    let ended = Run::start(&server, &outer, &[], &nested).ended(&outer);
    assert_eq!((ended.code, ended.out), (Some(0), format!("{inner}\n{outer}\n")), "{}", ended.err);
}

#[test]
fn a_lease_is_renewed_while_the_command_runs() {
    let (server, name) = (Server::start(), name());
    let run = Run::start(&server, &name, &["--ttl", "12s", "--grace", "500ms"], UNTIL_TOLD).says("runs");
    other(&server, async |locks| {
        let start = Instant::now();
        while start.elapsed() < seconds(15) {
            let refused = locks.send(Acquire::new(&name)).await.unwrap();
            assert!(matches!(refused, Err(AcquireError::Held { .. })), "{refused:?}, {:?}", start.elapsed());
            actix_rt::time::sleep(Duration::from_millis(100)).await;
        }
    });
    run.write("go");
    let ended = run.ended(&name);
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
    until("it is free", || Run::start(&server, &name, &[], "true").finished().code == Some(0));
}
