//! A line of cron on all machines of a fleet: one of them runs it.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use super::support::{Run, Server, leasehold, name, under};

const MACHINES: usize = 8;
const EACH: usize = 3;
const OPTIONS: &[&str] = &["--no-overlap", "--min-hold", "10m"];

#[test]
fn exactly_one_of_a_fleet_runs_the_line() {
    let (server, name) = (Server::start(), name());
    let at_once: Vec<_> =
        (0..MACHINES * EACH).map(|_| Run::start(&server, &name, OPTIONS, "echo it ran")).collect();
    let ended: Vec<_> = at_once.into_iter().map(Run::finished).collect();
    assert!(ended.iter().all(|it| it.code == Some(0) && it.err.is_empty()), "{ended:?}");
    assert_eq!(ended.iter().filter(|it| it.out == "it ran\n").count(), 1, "{ended:?}");
    assert!(under(&name).is_empty());
    // One whose clock is behind comes when the command has long ended.
    let late = Run::start(&server, &name, OPTIONS, "echo it ran").ended(&name);
    assert_eq!((late.code, &*late.out, &*late.err), (Some(0), "", ""));
}

#[test]
fn a_machine_without_the_program_does_not_lock_the_others_out() {
    let (server, name) = (Server::start(), name());
    let url = server.url();
    for (program, code) in [("nowhere-to-be-found", 127), ("/etc/passwd", 126), ("/etc", 126)] {
        let arguments = [&["run", &name, "--store", &url], OPTIONS, &["--", program]].concat();
        let ended = Run::of(leasehold(&arguments), "").ended(&name);
        assert_eq!((ended.code, ended.err.lines().count()), (Some(code), 1), "{ended:?}");
    }
    let next = Run::start(&server, &name, OPTIONS, "echo it ran").ended(&name);
    assert_eq!((next.code, &*next.out, &*next.err), (Some(0), "it ran\n", ""));
}

#[test]
fn a_machine_on_which_the_program_does_not_start_does_not_lock_the_others_out() {
    let (server, name) = (Server::start(), name());
    let url = server.url();
    // Only the kernel sees it, once the lock is held.
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    for (text, code) in [("#!/nowhere/to-be-found\n", 127), ("\u{7f}ELF\0", 126)] {
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        let program = script.to_str().unwrap();
        let arguments = [&["run", &name, "--store", &url], OPTIONS, &["--", program]].concat();
        let ended = Run::of(leasehold(&arguments), "").ended(&name);
        assert_eq!((ended.code, ended.err.lines().count()), (Some(code), 1), "{ended:?}");
    }
    let next = Run::start(&server, &name, OPTIONS, "echo it ran").ended(&name);
    assert_eq!((next.code, &*next.out, &*next.err), (Some(0), "it ran\n", ""));
}

#[test]
fn without_a_minimum_hold_one_that_comes_later_runs_it_again() {
    let (server, name) = (Server::start(), name());
    let ran = (0..3).map(|_| Run::start(&server, &name, &["--no-overlap"], "echo it ran").ended(&name).out);
    assert_eq!(ran.collect::<Vec<_>>(), ["it ran\n"; 3]);
}
