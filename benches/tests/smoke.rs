//! The benchmark itself: workloads with several servers, threads or dropped calls run through and find nothing wrong.

use std::{fs, process::Command};

use serde_json::Value;

/// Runs these workloads for so many seconds: long enough for a turn on a machine that is busy with other tests. Returns the
/// rows of the report.
fn rows(workloads: &[&str], lockers: &str, seconds: &str) -> Vec<(String, Value)> {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let only = workloads.iter().flat_map(|name| ["--only", name]);
    let output = Command::new(env!("CARGO_BIN_EXE_leasehold-bench"))
        .args(["--quick", "--seconds", seconds, "--lockers", lockers, "--json"])
        .arg(&json)
        .args(only)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Vec<Value> = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(report.len(), workloads.len());
    let named =
        |summary: &Value, row: &Value| (format!("{} {}", summary["name"], row["locker"]), row.clone());
    let rows = |summary: &Value| -> Vec<_> {
        summary["lockers"].as_array().unwrap().iter().map(|row| named(summary, row)).collect()
    };
    report.iter().flat_map(rows).collect()
}

fn figure(row: &Value, name: &str) -> f64 {
    row[name][0].as_f64().unwrap_or(0.0)
}

fn assert_measured(rows: &[(String, Value)], name: &str) {
    for (whose, row) in rows {
        assert!(figure(row, name) > 0.0, "{whose}: {name} in {row}");
    }
}

#[test]
fn quorums_are_measured_also_when_a_master_fails() {
    let found = rows(&["quorum5/8/killed", "quorum5/8/stopped"], "raw,leasehold", "5");
    assert_eq!(found.len(), 4);
    for name in ["turns_a_second", "server_cores"] {
        assert_measured(&found, name);
    }
}

#[test]
fn processes_share_one_key_of_a_quorum() {
    let found = rows(&["quorum5/4x2"], "raw,leasehold", "3");
    assert_eq!(found.len(), 2);
    assert_measured(&found, "longest_wait_us");
    for (whose, row) in found {
        // Whoever finds it taken comes again by chance, so either part alone may be without a turn.
        let turns = figure(&row, "turns_a_second") + figure(&row, "first_turns_a_second");
        assert!(turns > 0.0, "{whose}: {row}");
    }
}

#[test]
fn a_quorum_of_three_is_measured_with_all_lockers_that_know_quorums() {
    let found = rows(&["quorum3/64"], "raw,leasehold,rslock,redisson", "5");
    assert_eq!(found.len(), 3);
    assert_measured(&found, "turns_a_second");
}

#[test]
fn threads_of_callers_and_of_the_manager_are_told_apart() {
    let found = rows(&["uncontended/64/2threads"], "leasehold", "5");
    for name in ["turns_a_second", "manager_cores", "caller_cores"] {
        assert_measured(&found, name);
    }
}

#[test]
fn acquisitions_are_dropped_in_flight_and_nothing_stays_locked() {
    let found = rows(&["dropped/64"], "raw,leasehold,rslock", "5");
    assert_eq!(found.len(), 2, "rslock cannot release what a dropped call was granted");
    assert_measured(&found, "turns_a_second");
    for (name, row) in found {
        assert!(row["dropped"].as_u64().is_some_and(|dropped| dropped > 0), "{name}: {row}");
    }
}
