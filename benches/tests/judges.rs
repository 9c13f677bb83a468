//! The judges of predictions and of the tuner: that their runs go through, and what is printed. How near a prediction comes, and
//! how well a setting does, says nothing on a machine that is busy with tests.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

const WORKLOAD: &str = r#"
    duration = "400ms"
    processes = 2
    arrivals = { kind = "constant", rate = 50.0 }
    hold = { kind = "constant", time = "2ms" }
    [config]
    wait.timeout = "30s"
"#;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leasehold-bench")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks the prediction of a workload, and returns what was found.
fn check(workload: &str, options: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("workload.toml");
    fs::write(&file, workload).unwrap();
    let quick = ["check", "--quick", "--json", file.to_str().unwrap()];
    let output = bench(&[&quick[..], options].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// Servers, a measurement, a simulation and a run by processes: all of it. How near they are says nothing on a machine that is
/// busy with tests; how many are served does not depend on that.
#[test]
fn a_check_measures_predicts_and_runs() {
    for (name, nodes, commands) in [("one", "1", 2.0), ("three", "3", 6.0)] {
        let text = format!("nodes = {nodes}\nresources = {{ kind = 'uniform', count = 1000 }}\n{WORKLOAD}");
        let found = check(&text, &["--repetitions", "2"]);
        assert_eq!(found[0]["measured"].as_array().map(Vec::len), Some(2), "{found}");
        for (side, report) in [("predicted", ""), ("measured", "/0"), ("measured", "/1")] {
            let report = &found[0].pointer(&format!("/{side}{report}")).unwrap();
            assert_eq!(
                (&report["requests"], &report["granted"]),
                (&20.into(), &20.into()),
                "{name} {side}: {report}"
            );
            // On a busy machine requests share a call, and a late answer costs another one.
            let (each, is_exact) = (report["commands"].as_f64().unwrap(), side == "predicted");
            let expected = if is_exact { commands..commands * 1.4 } else { f64::MIN_POSITIVE..f64::MAX };
            assert!(expected.contains(&each), "{name} {side}: {each} commands");
        }
        let trips = found[0]["profile"]["round_trips"].as_array().unwrap();
        assert!(
            trips.iter().all(|trip| trip.as_f64().is_some_and(|trip| (1.0..1e8).contains(&trip))),
            "{trips:?}"
        );
    }
}

#[test]
fn a_check_slows_its_own_servers_down_as_the_prediction_does() {
    let workload = "
        duration = '500ms'
        arrivals = { kind = 'callers', callers = 1, pause = { kind = 'constant', time = '1ms' } }
        hold = { kind = 'constant', time = '1ms' }
        slow_server = { from = '0s', until = '10m', factor = 10000 }
        config.wait.timeout = '30s'
    ";
    let checked = check(workload, &[]);
    let requests = checked[0]["measured"][0]["requests"].as_u64();
    assert!(requests.is_some_and(|requests| (1..50).contains(&requests)), "{checked}");
}

#[test]
fn settings_run_under_a_shifting_load_beside_each_other() {
    let two = ["--only", "800ms, 1", "--repetitions", "2", "--at-once", "4", "--scale", "0.03", "--json"];
    let output = bench(&[&["shifting"][..], &two].concat());
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
        assert!(
            run["p99_seconds"].as_f64().is_some_and(|p99| p99 < 20.0) && run["changes_per_minute"] == 0.0,
            "{run}"
        );
    }
}

#[test]
fn the_tuner_runs_in_each_process_and_its_changes_are_counted() {
    let shown = bench(&["shifting", "--only", "tuner", "--at-once", "2", "--scale", "0.1"]);
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
fn wrong_options_are_told_with_their_name() {
    for (option, value, expected) in [
        ("--only", "never", "--only: no setting has this in its name"),
        ("--at-once", "0", "--at-once"),
        ("--repetitions", "0", "--repetitions"),
        ("--scale", "2", "0.01 to 1 is expected"),
    ] {
        let output = bench(&["shifting", option, value]);
        let told = text(&output.stderr);
        assert!(!output.status.success() && told.contains(expected), "{told}");
    }
}
