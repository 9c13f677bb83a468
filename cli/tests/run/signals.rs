//! Signals that are sent to `leasehold run`: they reach the command, and a job at a terminal stops and goes on as a whole.

use std::{thread, time::Duration};

use rustix::process::Signal;

use super::support::{Finished, Run, Server, arguments, clean, name, state, under, until};

#[test]
fn signals_are_passed_on_to_the_command() {
    let server = Server::start();
    let handles = "for s in TERM INT HUP QUIT USR1 USR2 WINCH; do trap \"echo $s; exit 7\" $s; done; echo runs; \
                   while :; do sleep 0.02; done";
    for (signal, expected) in [
        (Signal::TERM, "TERM"),
        (Signal::INT, "INT"),
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::WINCH, "WINCH"),
    ] {
        let name = name();
        let run = Run::start(&server, &name, &[], handles).says("runs");
        run.signal(signal);
        let ended = run.ended(&name);
        assert_eq!((ended.code, ended.out), (Some(7), format!("runs\n{expected}\n")), "{}", ended.err);
    }
}

#[test]
fn a_command_that_does_not_handle_a_signal_ends_by_it_with_all_of_its_group() {
    let server = Server::start();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::QUIT, 131)] {
        for whole_group in [false, true] {
            let name = name();
            let script = "ulimit -c 0; sleep 1000 | sleep 1000 | { echo runs; sleep 1000; }";
            let run = Run::start(&server, &name, &[], script).says("runs");
            if whole_group {
                run.signal_group(signal)
            } else {
                run.signal(signal)
            }
            let ended = run.ended(&name);
            assert_eq!((ended.code, &*ended.err), (Some(code), ""), "{signal:?}");
        }
    }
}

#[test]
fn a_signal_of_the_user_does_not_reach_the_children_of_the_command() {
    let (server, name) = (Server::start(), name());
    let script = "trap 'echo told' USR1; (while [ ! -e go ]; do sleep 0.02; done) & echo runs; \
                  until wait $!; do sleep 0.02; done; echo waited";
    let run = Run::start(&server, &name, &[], script).says("runs");
    run.signal(Signal::USR1);
    let run = run.says("told");
    run.write("go");
    let ended = run.ended(&name);
    assert_eq!((ended.code, &*ended.out), (Some(0), "runs\ntold\nwaited\n"), "{ended:?}");
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let (server, name) = (Server::start(), name());
    let script = "echo runs; while [ ! -e go ]; do sleep 0.02; done";
    let url = server.url();
    let run = ["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_leasehold")];
    let command = clean("sh", &[&run, &arguments(&url, &name, &[], script)[..]].concat());
    let run = Run::of(command, "").says("runs");
    run.signal_group(Signal::HUP);
    run.signal(Signal::WINCH);
    run.write("go");
    assert_eq!(run.ended(&name).code, Some(0));
}

/// Has a shell say this and wait for the file `go` without a child of its own. A shell that is stopped between `vfork` and `exec`
/// of a child is never told to be stopped: it waits for the child, which is.
fn waits_alone(after: &str) -> String {
    format!("mkfifo go; echo {after}; read line <> go")
}

#[test]
fn without_a_terminal_a_stop_reaches_the_command_alone_and_the_lease_is_renewed() {
    let (server, name) = (Server::start(), name());
    let url = server.url();
    let script = waits_alone("runs $$");
    let arguments = arguments(&url, &name, &["--ttl", "12s", "--grace", "500ms"], &script);
    // A session of its own has no terminal.
    let command = clean("setsid", &[&["-w", env!("CARGO_BIN_EXE_leasehold")], &arguments[..]].concat());
    let run = Run::of(command, "").says("runs ");
    let shell: u32 = run.read("out").trim().rsplit(' ').next().unwrap().parse().unwrap();
    let leasehold = parent_of(shell);
    let send = |signal| rustix::process::kill_process(pid(leasehold), signal).unwrap();
    send(Signal::TSTP);
    until("the command is stopped", || state(shell) == Some('T'));
    thread::sleep(Duration::from_secs(15)); // longer than the lease holds without a renewal
    assert_eq!(state(shell), Some('T'));
    assert_ne!(state(leasehold), Some('T'));
    send(Signal::CONT);
    until("the command goes on", || state(shell) != Some('T'));
    run.write("go");
    let ended = run.ended(&name);
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
}

fn pid(id: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(id.try_into().unwrap()).unwrap()
}

fn parent_of(id: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

/// Starts `leasehold run` at a terminal of its own, as `script` makes one.
fn at_a_terminal(server: &Server, name: &str, script: &str, then: &str, input: &str) -> Run {
    let quoted = script.replace('\'', "'\\''");
    let binary = env!("CARGO_BIN_EXE_leasehold");
    let line = format!("{binary} run {name} --store {} -- sh -c '{quoted}'{then}", server.url());
    Run::of(clean("script", &["-qec", &line, "/dev/null"]), input)
}

#[test]
fn at_a_terminal_the_command_has_it_and_gives_it_back() {
    let (server, name) = (Server::start(), name());
    let script = "until test $(ps -o tpgid= -p $$) = $$; do sleep 0.02; done; echo in front; exit 5";
    let then = "; echo code $?; test $(ps -o tpgid= -p $$) = $(ps -o pgid= -p $$) && echo back";
    let ended = at_a_terminal(&server, &name, script, then, "").ended(&name);
    let lines: Vec<_> = ended.out.lines().map(str::trim).collect();
    assert_eq!(lines, ["in front", "code 5", "back"], "{ended:?}");
}

#[test]
fn at_a_terminal_the_command_reads_what_is_typed() {
    let (server, name) = (Server::start(), name());
    let ended =
        at_a_terminal(&server, &name, "stty -echo; read line; echo got $line", "", "hello\n").ended(&name);
    assert!(ended.code == Some(0) && ended.out.contains("got hello"), "{ended:?}");
}

#[test]
fn at_a_terminal_its_keys_reach_the_command() {
    let (server, name) = (Server::start(), name());
    // Ctrl-C, once the command runs.
    let line = format!(
        "{} run {name} --store {} -- sh -c 'trap \"echo caught; exit 8\" INT; : > runs; while :; do sleep 0.02; done'",
        env!("CARGO_BIN_EXE_leasehold"),
        server.url()
    );
    let typed =
        "(while [ ! -e runs ]; do sleep 0.02; done; printf '\\003'; sleep 1) | script -qec \"$0\" /dev/null";
    let ended = Run::of(clean("sh", &["-c", typed, &line]), "").ended(&name);
    assert!(ended.code == Some(8) && ended.out.contains("caught"), "{ended:?}");
}

/// Runs a job at a terminal in a shell with jobs: Ctrl-Z stops it, the shell goes on, and brings the job back to the front after
/// this time.
fn stopped_for(time: Duration, options: &[&str]) -> Finished {
    let (server, name) = (Server::start(), name());
    let script = format!("{}; echo went on | tr a-z A-Z", waits_alone("in front"));
    let url = server.url();
    let line = arguments(&url, &name, options, "").split_last().unwrap().1.join(" ");
    let shell = format!(
        "set -m; {} {line} '{script}'; jobs; until [ -e again ]; do sleep 0.02; done; fg; echo code \\$?; : > over",
        env!("CARGO_BIN_EXE_leasehold")
    );
    let keys =
        "until [ -e typed ]; do sleep 0.02; done; printf '\\032'; until [ -e over ]; do sleep 0.02; done";
    let typed = format!("({keys}) | script -qec \"bash -c \\\"$0\\\"\" /dev/null");
    let run = Run::of(clean("sh", &["-c", &typed, &shell]), "").says("in front");
    let command = *under(&name).iter().min().unwrap();
    run.write("typed");
    until("the command is stopped", || state(command) == Some('T'));
    until("the shell goes on", || run.read("out").contains("Stopped"));
    thread::sleep(time);
    run.write("go");
    assert_eq!(state(command), Some('T'));
    run.write("again");
    run.ended(&name)
}

#[test]
fn a_job_that_is_stopped_at_a_terminal_goes_on_in_front() {
    let ended = stopped_for(Duration::ZERO, &[]);
    assert!(ended.out.contains("WENT ON") && ended.out.contains("code 0"), "{ended:?}");
}

#[test]
fn a_job_that_is_stopped_for_too_long_does_not_go_on() {
    let ended = stopped_for(Duration::from_secs(9), &["--ttl", "6s"]);
    assert!(!ended.out.contains("WENT ON") && ended.out.contains("code 74"), "{ended:?}");
}

#[test]
fn signals_that_the_parent_had_blocked_reach_the_command() {
    let server = Server::start();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (name, url) = (name(), server.url());
        let run = arguments(&url, &name, &[], "echo runs; sleep 1000 & wait");
        let blocked = ["--block-signal", env!("CARGO_BIN_EXE_leasehold")];
        let run = Run::of(clean("env", &[&blocked[..], &run].concat()), "").says("runs");
        run.signal(signal);
        assert_eq!(run.ended(&name).code, Some(128 + signal.as_raw()));
    }
}
