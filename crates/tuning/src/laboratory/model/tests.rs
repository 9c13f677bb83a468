//! The simulation as a whole: what it must say of workloads whose figures are known.

use super::*;
use crate::laboratory::workload::Workload;

const TEXT: &str = r#"
    duration = "2s"
    arrivals = { kind = "constant", rate = 100.0 }
    hold = { kind = "constant", time = "5ms" }
    config.wait.timeout = "1s"
"#;

/// A server whose round trips take 100 µs, and its work nothing that disturbs the figures.
fn profile() -> ServerProfile {
    let mut profile = ServerProfile {
        round_trips: vec![100.0],
        warm_round_trips: vec![100.0],
        idle: 0.0,
        wake: 0.0,
        call: 10.0,
        ..ServerProfile::default()
    };
    (profile.granted, profile.released) = (5.0, 5.0);
    profile.late = vec![0.0];
    profile
}

fn report(set: &[(&str, &str)]) -> Report {
    simulate(&Workload::from_toml(TEXT, set).unwrap(), &profile()).unwrap()
}

#[test]
fn an_uncontended_lock_takes_a_round_trip_and_two_calls() {
    let report = report(&[]);
    assert_eq!((report.requests, report.granted, report.commands), (200, 200, 2.0));
    assert!((report.waited.p50 - 115.0).abs() < 2.0 && report.waited.max < 120.0, "{:?}", report.waited);
    assert!((report.server_time - 30.0).abs() < 0.1, "{}", report.server_time);
}

#[test]
fn a_simulation_repeats_itself() {
    let arrivals = ("arrivals", "{ kind = \"poisson\", rate = 150.0 }");
    let set = [arrivals, ("processes", "3"), ("store.layout", "plain")];
    assert_eq!(report(&set), report(&set));
}

#[test]
fn a_lock_in_demand_is_served_in_turn_at_the_rate_of_its_holds() {
    // 400 a second, of which 5 ms each leave less than 200.
    let report = report(&[("arrivals.rate", "400.0"), ("processes", "2"), ("wait.timeout", "500ms")]);
    let rate = report.granted as f64 / 2.5;
    assert!((185.0..200.0).contains(&rate), "{rate} a second: {report:?}");
    assert!((480_000.0..520_000.0).contains(&report.waited.p99), "{:?}", report.waited);
    assert!(report.fairness > 0.99 && report.others["held"] > 300, "{report:?}");
}

#[test]
fn pauses_decide_over_plain_locks_and_not_over_queues() {
    let arrivals = "{ kind = \"poisson\", rate = 120.0 }";
    let demand = [("arrivals", arrivals), ("processes", "4"), ("wait.timeout", "2s")];
    let wait = |layout: &str, initial: &str| {
        let pauses = [("store.layout", layout), ("backoff.initial", initial), ("backoff.max", initial)];
        report(&[&demand[..], &pauses].concat()).waited.mean
    };
    let (slow, fast) = (wait("plain", "200ms"), wait("plain", "10ms"));
    assert!(slow > 2.0 * fast, "{slow} and {fast} µs");
    let (slow, fast) = (wait("full", "200ms"), wait("full", "10ms"));
    assert!((slow / fast - 1.0).abs() < 0.1, "{slow} and {fast} µs");
}

#[test]
fn a_server_without_capacity_lets_calls_wait() {
    let slow = ServerProfile { call: 4_000.0, ..profile() };
    let arrivals = ("arrivals", "{ kind = \"poisson\", rate = 100.0 }");
    let resources = ("resources", "{ kind = \"uniform\", count = 1000 }");
    let report = simulate(&Workload::from_toml(TEXT, &[arrivals, resources]).unwrap(), &slow).unwrap();
    assert!((0.6..0.9).contains(&report.server_load), "{}", report.server_load);
    assert!(report.waited.p90 > 8_200.0, "{:?}", report.waited);
}

#[test]
fn a_quorum_asks_a_majority_and_pays_for_all() {
    let report = report(&[("nodes", "5")]);
    assert_eq!(report.granted, 200, "{report:?}");
    assert!((9.5..11.0).contains(&report.commands), "{}", report.commands);
    assert!((115.0..400.0).contains(&report.waited.p50), "{:?}", report.waited);
}

#[test]
fn a_caller_without_patience_goes_away() {
    let set = [("arrivals.rate", "400.0"), ("patience", "{ kind = \"constant\", time = \"20ms\" }")];
    let report = report(&set);
    assert!(report.others["gone"] > 300, "{report:?}");
    assert!(report.waited.max <= 20_100.0 && report.waited_in_vain.max <= 20_100.0, "{report:?}");
}

#[test]
fn readers_go_together_and_permits_as_many_as_there_are() {
    let demand = [("arrivals.rate", "600.0"), ("wait.timeout", "100ms")];
    let granted = |mode: &str| report(&[&demand[..], &[("mode", mode)]].concat()).success_rate;
    let exclusive = granted("{ kind = \"exclusive\" }");
    assert!((0.3..0.4).contains(&exclusive), "{exclusive}");
    assert_eq!(granted("{ kind = \"read_write\", readers = 1.0 }"), 1.0);
    assert_eq!(granted("{ kind = \"permits\", of = 4 }"), 1.0);
}
