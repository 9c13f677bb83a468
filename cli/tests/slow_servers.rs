//! `leasehold tune run` on servers of our own that are slow, and what is left of it.

use std::{
    fs,
    process::{Child, Command, Output},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

fn tune(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leasehold")).arg("tune").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn only_servers_of_our_own_are_slowed_down() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.toml");
    let workload = "
        duration = '600ms'
        arrivals = { kind = 'callers', callers = 1, pause = { kind = 'constant', time = '1ms' } }
        hold = { kind = 'constant', time = '1ms' }
        slow_server = { from = '0s', until = '10m', factor = 10000 }
        [config]
        wait.timeout = '30s'
    ";
    fs::write(&file, workload).unwrap();
    let output = tune(&["run", "--json", "--workload", file.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Each request and each release meets a server that hardly ever runs.
    assert!(report["requests"].as_u64().is_some_and(|requests| (1..50).contains(&requests)), "{report}");
    assert_eq!(report["requests"], report["granted"], "{report}");
    let output = tune(&["run", "--store", "redis://127.0.0.1:1", "--workload", file.to_str().unwrap()]);
    assert!(
        text(&output.stderr).starts_with("slow_server is left out: only servers of our own"),
        "{output:?}"
    );
}

/// A process that is killed when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the processes that this one has started, and what each is called.
fn children(parent: u32) -> Vec<(u32, String)> {
    let stat = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("stat")).ok();
    let all = fs::read_dir("/proc").unwrap().flatten().filter_map(stat);
    let child = |stat: String| {
        let (start, rest) = stat.rsplit_once(") ")?;
        let (id, name) = start.split_once(" (")?;
        let is_child = rest.split(' ').nth(1)? == parent.to_string();
        is_child.then(|| (id.parse().unwrap(), name.to_owned()))
    };
    all.filter_map(child).collect()
}

/// Returns true if a process lives. What has ended and was not waited for does not.
fn lives(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(") ").next().unwrap().starts_with('Z'))
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_is_left_of_a_run_that_is_killed_in_its_slow_phase() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.toml");
    let workload = "
        duration = '10m'
        processes = 2
        arrivals = { kind = 'constant', rate = 20 }
        hold = { kind = 'constant', time = '1ms' }
        slow_server = { from = '0s', until = '10m', factor = 10000 }
    ";
    fs::write(&file, workload).unwrap();
    let mut run = Killed(
        Command::new(env!("CARGO_BIN_EXE_leasehold"))
            .args(["tune", "run", "--workload", file.to_str().unwrap()])
            .spawn()
            .unwrap(),
    );
    let mut started = Vec::new();
    until("a server, its guard and two workers start", || {
        started = children(run.0.id());
        started.len() == 4
    });
    let server = started.iter().find(|(_, name)| name == "redis-server").unwrap().0;
    let stat = || fs::read_to_string(format!("/proc/{server}/stat")).unwrap();
    until("the server is slow", || stat().rsplit(") ").next().unwrap().starts_with('T'));
    run.0.kill().unwrap();
    run.0.wait().unwrap();
    for (process, name) in started {
        until(&format!("{name} lives"), || !lives(process));
    }
}

#[test]
fn what_cannot_be_written_is_a_failure_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.toml");
    let workload = "
        duration = '100ms'
        arrivals = { kind = 'constant', rate = 20 }
        hold = { kind = 'constant', time = '1ms' }
    ";
    fs::write(&file, workload).unwrap();
    for format in [&[][..], &["--json"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let simulate = ["tune", "simulate", "--workload", file.to_str().unwrap()];
        let output = Command::new(env!("CARGO_BIN_EXE_leasehold"))
            .args(simulate)
            .args(format)
            .stdout(full)
            .stderr(std::process::Stdio::piped())
            .output()
            .unwrap();
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains("No space left"), "{told}");
    }
}
