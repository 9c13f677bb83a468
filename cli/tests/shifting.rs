//! `leasehold tune shifting` as a command, and servers of our own that are slow: that the runs go through, and what is printed.
//! How well a setting does says nothing on a machine that is busy with tests.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

fn tune(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leasehold")).arg("tune").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn settings_run_under_a_shifting_load_beside_each_other() {
    let two = ["--only", "800ms, 1", "--repetitions", "2", "--at-once", "4", "--scale", "0.03", "--json"];
    let output = tune(&[&["shifting"][..], &two].concat());
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.lines().count() == 6 && told.contains("6 of 6: 800ms, 1"), "{told}");
    let found: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> = found.iter().map(|it| it["setting"].as_str().unwrap()).collect();
    assert_eq!(names, ["800ms, 1", "800ms, 16", "800ms, 10000"]);
    for run in found.iter().flat_map(|it| it["runs"].as_array().unwrap()) {
        let in_time: Vec<_> = run["in_time"].as_array().unwrap().iter().flat_map(Value::as_u64).collect();
        assert!(in_time.len() == 4 && in_time.iter().sum::<u64>() > 0, "{run}");
        // Waits of 800 ms, and that a machine is busy.
        assert!(run["p99"].as_u64().is_some_and(|p99| p99 < 20_000) && run["changes"] == 0.0, "{run}");
    }
}

#[test]
fn the_tuner_runs_in_each_process_and_its_changes_are_counted() {
    let shown = tune(&["shifting", "--only", "tuner", "--at-once", "2", "--scale", "0.1"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let shown = text(&shown.stdout);
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .filter(|line| line.starts_with("| tuner"))
        .map(|line| line.split(" | ").collect())
        .collect();
    assert_eq!(rows.len(), 2, "{shown}");
    for row in rows {
        let changes: f64 = row.last().unwrap().trim_end_matches(" |").parse().unwrap();
        assert!(changes > 0.0, "{shown}");
    }
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

#[test]
fn wrong_options_are_told_with_their_name() {
    for (option, value, expected) in [
        ("--only", "never", "--only: no setting has this in its name"),
        ("--at-once", "0", "--at-once"),
        ("--repetitions", "0", "--repetitions"),
        ("--scale", "2", "0.01 to 1 is expected"),
    ] {
        let output = tune(&["shifting", option, value]);
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(expected), "{told}");
    }
}
