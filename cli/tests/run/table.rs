//! Runs that need nothing but a server: how a command ends, and which runs are refused.

use super::support::{Finished, Run, Server, leasehold, name};

/// A run, and its end.
struct Case {
    fact: &'static str,
    options: &'static [&'static str],
    command: &'static [&'static str],
    input: &'static str,
    code: i32,
    /// The whole standard output.
    out: &'static str,
    /// A part of the standard error, or all of it if it is empty.
    err: &'static str,
}

const CASE: Case = Case { fact: "", options: &[], command: &["true"], input: "", code: 0, out: "", err: "" };

const fn shell(fact: &'static str, script: &'static [&'static str; 3], code: i32, out: &'static str) -> Case {
    Case { fact, command: script, code, out, ..CASE }
}

const fn refused(fact: &'static str, options: &'static [&'static str], code: i32, err: &'static str) -> Case {
    Case { fact, options, command: &["echo", "it ran"], code, err, ..CASE }
}

const COMMANDS: &[Case] = &[
    Case { fact: "a command succeeds", ..CASE },
    shell("a command fails", &["sh", "-c", "exit 3"], 3, ""),
    shell("a command fails with the largest code", &["sh", "-c", "exit 255"], 255, ""),
    shell("a command is ended by a signal", &["sh", "-c", "kill -KILL $$"], 137, ""),
    shell("a command is ended by a signal without a name", &["sh", "-c", "kill -40 $$"], 168, ""),
    shell("a command dumps core", &["sh", "-c", "ulimit -c 0; kill -ABRT $$"], 134, ""),
    Case {
        fact: "the standard input is passed through",
        command: &["cat"],
        input: "one\ntwo",
        out: "one\ntwo",
        ..CASE
    },
    Case {
        fact: "the standard error is passed through",
        command: &["sh", "-c", "echo no >&2"],
        err: "no\n",
        ..CASE
    },
    shell(
        "a command is the first of a process group",
        &["sh", "-c", "test $(ps -o pgid= -p $$) = $$ && echo own"],
        0,
        "own\n",
    ),
    shell(
        "a command knows its lock",
        &[
            "sh",
            "-c",
            "case $LEASEHOLD_FENCE in ''|*[!0-9]*) exit 9;; esac; echo ${#LEASEHOLD_TOKEN_PREFIX} ${LEASEHOLD_RESOURCE%%-*}",
        ],
        0,
        "8 job\n",
    ),
    shell("no signal is blocked", &["grep", "SigBlk", "/proc/self/status"], 0, "SigBlk:\t0000000000000000\n"),
    shell("what a command leaves behind is ended", &["sh", "-c", "sleep 1000 & exit 4"], 4, ""),
    Case {
        fact: "a timeout in front leaves its command in the group",
        options: &["--grace", "5s"],
        command: &[
            "timeout",
            "--foreground",
            "60",
            "sh",
            "-c",
            "test $(ps -o pgid= -p $$) = $PPID && echo covered",
        ],
        out: "covered\n",
        ..CASE
    },
    shell("and so are the children of that", &["sh", "-c", "(sleep 1000 & sleep 1000) & exit 5"], 5, ""),
    Case {
        fact: "also if it ignores TERM",
        options: &["--grace", "100ms"],
        command: &["sh", "-c", "(trap '' TERM; sleep 1000; sleep 1000) & exit 6"],
        code: 6,
        ..CASE
    },
    shell(
        "a pipe that is left behind may finish",
        // It goes on until its parent is collected.
        &["sh", "-c", "parent=$$; (while kill -0 $parent 2> /dev/null; do :; done; echo rest) & exit 7"],
        7,
        "rest\n",
    ),
    Case { fact: "it is quiet", options: &["--no-overlap", "--min-hold", "1s", "--shared"], ..CASE },
    Case {
        fact: "it says what configures it",
        options: &["-v"],
        err: "leasehold: configured by: LEASEHOLD_STORE_CONNECT_TIMEOUT, LEASEHOLD_STORE_RESPONSE_TIMEOUT",
        ..CASE
    },
    Case { fact: "it says how it goes", options: &["-v"], err: "leasehold: holding job-", ..CASE },
    Case {
        fact: "all options are understood",
        options: &["--permits", "1/3", "--wait", "forever", "--ttl", "5s", "--purpose", "test"],
        ..CASE
    },
    Case { fact: "an owner is named", options: &["--owner", "me", "--try", "--grace", "1s"], ..CASE },
    Case {
        fact: "what a command leaves behind has its grace",
        options: &["--grace", "10s"],
        command: &[
            "sh",
            "-c",
            "(trap 'echo told; exit' TERM; : > ready; while :; do sleep 0.02; done) 2> err2 & \
             while [ ! -e ready ]; do sleep 0.02; done; exit 8",
        ],
        code: 8,
        out: "told\n",
        ..CASE
    },
    Case {
        fact: "a program is not there",
        command: &["nowhere-to-be-found"],
        code: 127,
        err: "leasehold: nowhere-to-be-found was not found",
        ..CASE
    },
    Case {
        fact: "a program is not executable",
        command: &["/etc/passwd"],
        code: 126,
        err: "leasehold: /etc/passwd cannot be executed",
        ..CASE
    },
    Case {
        fact: "a program is a folder",
        command: &["/etc"],
        code: 126,
        err: "leasehold: /etc cannot be executed",
        ..CASE
    },
];

const REFUSED: &[Case] = &[
    refused("a ttl without a unit", &["--ttl", "soon"], 64, "for '--ttl <TIME>': "),
    refused("a ttl that is too short", &["--ttl", "1ms"], 64, "invalid ttl: 1ms (allowed: 50ms to 1d)"),
    refused("a ttl that is too long", &["--ttl", "30days"], 64, "invalid ttl: 30d (allowed: 50ms to 1d)"),
    refused(
        "a grace without room",
        &["--grace", "11s"],
        64,
        "invalid grace: 11s (allowed: 0s to 10s, half of what",
    ),
    refused("more permits than there are", &["--permits", "3/2"], 64, "invalid permits: 3 of 2"),
    refused("permits that are no numbers", &["--permits", "few"], 64, "write it as 1/3"),
    refused("a wait that is too long", &["--wait", "2days"], 64, "invalid wait: 2d"),
    refused("an empty owner", &["--owner", ""], 64, "invalid owner"),
    refused("a try that waits", &["--try", "--wait", "1s"], 64, "cannot be used with"),
    refused("shared permits", &["--shared", "--permits", "1/2"], 64, "cannot be used with"),
    refused("an unknown option", &["--nice"], 64, "unexpected argument '--nice' found"),
    refused("a server that is not there", &["--store", "redis://127.0.0.1:1"], 69, "nothing was run"),
    refused("a store of one process", &["--store", "memory://"], 78, "invalid store.url: memory://"),
    refused("a store of another kind", &["--store", "http://x"], 78, "invalid store.url"),
    refused(
        "a file that is not there",
        &["--config", "nowhere.toml"],
        78,
        "cannot read the configuration nowhere.toml",
    ),
];

fn check(server: &Server, case: &Case) -> Finished {
    let (name, url) = (name(), server.url());
    let store: &[&str] = if case.options.contains(&"--store") { &[] } else { &["--store", &url] };
    let arguments = [&["run", &name], store, case.options, &["--"], case.command].concat();
    let ended = Run::of(leasehold(&arguments), case.input).ended(&name);
    assert_eq!((ended.code, &*ended.out), (Some(case.code), case.out), "{}: {ended:?}", case.fact);
    let told = if case.err.is_empty() { ended.err.is_empty() } else { ended.err.contains(case.err) };
    assert!(told, "{}: {ended:?}", case.fact);
    ended
}

#[test]
fn a_run_ends_as_its_command_does() {
    let server = Server::start();
    for case in COMMANDS {
        check(&server, case);
    }
}

#[test]
fn a_run_that_is_refused_says_in_one_line_what_is_wrong_and_runs_nothing() {
    let server = Server::start();
    for case in REFUSED {
        assert_eq!(check(&server, case).err.lines().count(), 1, "{}", case.fact);
    }
    for (name, expected) in [("", "invalid resource"), (&*"x".repeat(513), "invalid resource")] {
        let url = server.url();
        let ended =
            Run::of(leasehold(&["run", name, "--store", &url, "--", "echo", "it ran"]), "").finished();
        assert_eq!((ended.code, &*ended.out, ended.err.lines().count()), (Some(64), "", 1), "{ended:?}");
        assert!(ended.err.contains(expected), "{ended:?}");
    }
}

#[test]
fn arguments_that_are_missing_are_told_in_one_line() {
    for (arguments, expected) in [
        (&["run"][..], "<NAME>"),
        (&["run", "job"], "<COMMAND>"),
        (&["run", "job", "echo", "it ran"], "'echo'"),
        (&["run", "job", "--"], "<COMMAND>"),
    ] {
        let ended = Run::of(leasehold(arguments), "").finished();
        assert_eq!((ended.code, &*ended.out, ended.err.lines().count()), (Some(64), "", 1), "{ended:?}");
        assert!(ended.err.contains(expected), "{ended:?}");
        assert!(ended.err.contains("leasehold run --help"), "{ended:?}");
    }
}

#[test]
fn a_wrong_password_is_told_without_showing_it() {
    let server = Server::with_args(&["--requirepass", "right"]);
    let name = name();
    let url = server.url().replace("redis://", "redis://:s3cret@");
    let ended = Run::of(leasehold(&["run", &name, "--store", &url, "--", "echo", "it ran"]), "").ended(&name);
    assert_eq!((ended.code, &*ended.out, ended.err.lines().count()), (Some(77), "", 1), "{ended:?}");
    assert!(ended.err.contains("the store denies access") && !ended.err.contains("s3cret"), "{ended:?}");
    let url = server.url().replace("redis://", "redis://:right@");
    let ended = Run::of(leasehold(&["run", &name, "--store", &url, "--", "echo", "it ran"]), "").ended(&name);
    assert_eq!((ended.code, &*ended.out), (Some(0), "it ran\n"), "{ended:?}");
}

#[test]
fn the_help_fits_a_screen_and_has_an_example() {
    let help = Run::of(leasehold(&["run", "--help"]), "").finished();
    assert_eq!((help.code, &*help.err), (Some(0), ""));
    // A terminal breaks lines.
    let lines: usize = help.out.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum();
    assert!((24..=50).contains(&lines), "{lines} lines");
    assert!(help.out.contains("Example") && help.out.contains("Exit codes"), "{}", help.out);
}
