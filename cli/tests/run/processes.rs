//! The surroundings of `leasehold run`: orphans, the first process of a container, a service manager.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt, net::UnixDatagram},
    process::Command,
};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{Run, SOON, Server, arguments, clean, leasehold, name, state, under, until};

/// A script with orphans that leave its group and end while it runs. It goes on when all of them have been collected.
const ORPHANS: &str = "for i in 1 2 3 4 5; do (setsid sleep 0.3 &); done; echo runs; \
                       while ps -A -o comm= | grep -q '^sleep'; do :; done; echo collected; \
                       while [ ! -e go ]; do sleep 0.02; done; exit 4";

/// The process that runs a script, as it wrote it.
fn written(run: &Run) -> u32 {
    run.read("out").split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn orphans_are_collected() {
    let (server, name) = (Server::start(), name());
    let script = "(sleep 0.1 & echo $!); while [ ! -e go ]; do sleep 0.02; done";
    let run = Run::start(&server, &name, &[], script).says("\n");
    let orphan = written(&run);
    until("nobody is left of it", || state(orphan).is_none());
    run.write("go");
    assert_eq!(run.ended(&name).code, Some(0));
}

/// With `LEASEHOLD_NAMESPACES=1` it fails where it cannot be tested, in place of a note.
#[test]
fn the_first_process_of_a_container_collects_orphans_and_passes_signals_on() {
    let namespaces = [
        &["--pid", "--fork", "--mount-proc"][..],
        &["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"],
    ];
    let may = |options: &&&[&str]| {
        Command::new("unshare").args(**options).arg("true").status().is_ok_and(|it| it.success())
    };
    let Some(namespace) = namespaces.iter().find(may) else {
        assert!(
            std::env::var_os("LEASEHOLD_NAMESPACES").is_none_or(|it| it != "1"),
            "LEASEHOLD_NAMESPACES=1 says that namespaces can be made here, and they cannot"
        );
        eprintln!(
            "not tested: this user may not make a namespace of processes, with a namespace of users neither"
        );
        return;
    };
    let server = Server::start();
    for (told, code) in [(false, 4), (true, 143)] {
        let (name, url) = (name(), server.url());
        let all = [namespace, &[env!("CARGO_BIN_EXE_leasehold")][..], &arguments(&url, &name, &[], ORPHANS)]
            .concat();
        let run = Run::of(clean("unshare", &all), "").says("collected");
        if told {
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id())).unwrap();
            let leasehold = Pid::from_raw(children.trim().parse().unwrap()).unwrap();
            kill_process(leasehold, Signal::TERM).unwrap();
        } else {
            run.write("go");
        }
        let ended = run.ended(&name);
        assert_eq!((ended.code, &*ended.err), (Some(code), ""), "{ended:?}");
    }
}

#[test]
fn a_command_that_leaves_its_group_lives_on() {
    let (server, name) = (Server::start(), name());
    let script =
        "setsid sh -c 'echo $$ > left; exec sleep 1000' & while [ ! -s left ]; do sleep 0.02; done; exit 3";
    let run = Run::start(&server, &name, &[], script);
    until("it has left", || !run.read("left").is_empty());
    let left: i32 = run.read("left").trim().parse().unwrap();
    assert_eq!(run.finished().code, Some(3));
    assert_eq!(under(&name), [u32::try_from(left).unwrap()]);
    kill_process(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_service_manager_hears_when_the_command_runs_and_ends() {
    let (server, name) = (Server::start(), name());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let heard = || {
        let mut read = [0; 256];
        let length = socket.recv(&mut read).unwrap();
        String::from_utf8(read[..length].to_vec()).unwrap()
    };
    let url = server.url();
    let script = "test -z \"$NOTIFY_SOCKET\" && echo runs; while [ ! -e go ]; do sleep 0.02; done";
    let holder = Run::start(&server, &name, &[], script).says("runs");
    let mut command = leasehold(&arguments(&url, &name, &["--wait", "forever"], script));
    command.env("NOTIFY_SOCKET", &path);
    let run = Run::of(command, "");
    assert_eq!(heard(), format!("STATUS=waiting for {name}, with 0 ahead"));
    assert_eq!(run.read("out"), "");
    holder.write("go");
    let ready = loop {
        let state = heard();
        if !state.starts_with("STATUS=waiting") {
            break state;
        }
    };
    assert_eq!(ready, format!("READY=1\nSTATUS=running under the lock {name}"));
    let run = run.says("runs");
    socket.set_nonblocking(true).unwrap();
    assert!(socket.recv(&mut [0; 8]).is_err(), "it said that it ends");
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    run.write("go");
    assert_eq!(heard(), "STOPPING=1");
    assert_eq!(run.ended(&name).code, Some(0));
    assert_eq!(holder.finished().code, Some(0));
}

#[test]
fn a_service_manager_that_reads_late_hears_all_the_same_that_the_command_runs() {
    let (server, name) = (Server::start(), name());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to(b"full", &path).is_ok() {}
    let url = server.url();
    let script = "echo runs; while [ ! -e go ]; do sleep 0.02; done";
    let mut command = leasehold(&arguments(&url, &name, &[], script));
    command.env("NOTIFY_SOCKET", &path);
    let run = Run::of(command, "").says("runs");
    let heard = || {
        let mut read = [0; 256];
        let length = socket.recv(&mut read).unwrap();
        String::from_utf8(read[..length].to_vec()).unwrap()
    };
    let mut states = std::iter::repeat_with(heard).filter(|it| it != "full");
    assert_eq!(states.next(), Some(format!("READY=1\nSTATUS=running under the lock {name}")));
    run.write("go");
    assert_eq!(states.next().as_deref(), Some("STOPPING=1"));
    assert_eq!(run.ended(&name).code, Some(0));
}

#[test]
fn a_socket_that_is_not_there_stops_nothing() {
    let (server, name) = (Server::start(), name());
    let url = server.url();
    let mut command = leasehold(&arguments(&url, &name, &["-v"], "true"));
    command.env("NOTIFY_SOCKET", "/nowhere/notify");
    let ended = Run::of(command, "").ended(&name);
    assert!(ended.code == Some(0) && ended.err.contains("cannot notify /nowhere/notify"), "{ended:?}");
}

/// The grace is longer than a test may take: whoever waits for what has ended fails by that.
#[test]
fn a_process_that_has_ended_and_is_not_collected_does_not_keep_the_lock() {
    let (server, name) = (Server::start(), name());
    // A member of the group ends, and its parent, which has left the group, never collects it.
    let script = "trap '' TERM; (sh -c 'sleep 0.1 & echo $! > ended; exec setsid sleep 1000' & echo $! > left); \
                  while [ ! -s ended ]; do sleep 0.02; done; \
                  until grep -q '^State:.Z' /proc/$(cat ended)/status; do sleep 0.02; done; exit 3";
    let run = Run::start(&server, &name, &["--ttl", "30m", "--grace", "8m"], script);
    let parent = |run: &Run| run.read("left").trim().parse().ok().and_then(Pid::from_raw);
    until("it has left", || parent(&run).is_some());
    let left = parent(&run).unwrap();
    let ended = run.finished();
    kill_process(left, Signal::KILL).unwrap();
    assert_eq!((ended.code, &*ended.err), (Some(3), ""));
}

#[test]
fn a_command_gets_no_settings_of_leasehold_if_its_environment_is_to_be_clean() {
    let server = Server::start();
    for (options, inherits) in [(&["--clean-env"][..], false), (&[][..], true)] {
        let (name, url) = (name(), server.url());
        let mut command = leasehold(&arguments(&url, &name, options, "env"));
        command.env("LEASEHOLD_STORE_URL", "redis://:secret@127.0.0.1:1");
        let ended = Run::of(command, "").ended(&name);
        assert_eq!(ended.out.contains("secret"), inherits, "{ended:?}");
        assert_eq!(ended.out.contains("LEASEHOLD_STORE_"), inherits, "{ended:?}");
        assert!(ended.out.contains(&format!("LEASEHOLD_RESOURCE={name}\n")), "{ended:?}");
    }
}

#[test]
fn a_script_that_does_not_name_its_interpreter_runs_by_sh() {
    let (server, directory) = (Server::start(), tempfile::tempdir().unwrap());
    let script = directory.path().join("script");
    fs::write(&script, "echo $1 $LEASEHOLD_RESOURCE; exit 5\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let path = format!("/nowhere::{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    for program in [script.to_str().unwrap(), "script"] {
        let (name, url) = (name(), server.url());
        let mut command = leasehold(&["run", &name, "--store", &url, "--", program, "one"]);
        command.env("PATH", &path);
        let ended = Run::of(command, "").ended(&name);
        let out = format!("one {name}\n");
        assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(5), &*out, ""), "{program}");
    }
}
