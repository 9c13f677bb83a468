//! Workloads as files: what they mean, and how a wrong one is refused.

use super::*;

const TEXT: &str = r#"
    duration = "2s"
    processes = 3
    arrivals = { kind = "poisson", rate = 200.0 }
    hold = { kind = "constant", time = "1ms" }
"#;

fn turns(text: &str, set: &[(&str, &str)]) -> Vec<Vec<RequestTurn>> {
    let workload = Workload::from_toml(text, set).unwrap();
    let of = |process| match workload.turns(process) {
        ProcessTurns::Open(turns) => turns,
        ProcessTurns::Callers(callers) => panic!("{callers:?}"),
    };
    (0..workload.processes).map(of).collect()
}

#[test]
fn processes_share_the_load_and_a_seed_repeats_it() {
    let turns_of_all = turns(TEXT, &[]);
    let sizes: Vec<_> = turns_of_all.iter().map(Vec::len).collect();
    assert!(sizes.iter().all(|size| (90..180).contains(size)), "{sizes:?}");
    assert_eq!(turns(TEXT, &[]), turns_of_all);
    assert_ne!(turns(TEXT, &[("seed", "2")]), turns_of_all);
}

#[test]
fn a_setting_does_not_change_who_asks_when() {
    let settings = [("backoff.initial", "80ms"), ("wait.timeout", "1s"), ("store.layout", "plain")];
    assert_eq!(turns(TEXT, &settings), turns(TEXT, &[]));
}

#[test]
fn callers_are_spread_over_processes_and_pause_between_turns() {
    let set = [(
        "arrivals",
        "{ kind = \"callers\", callers = 7, pause = { kind = \"constant\", time = \"10ms\" } }",
    )];
    let workload = Workload::from_toml(TEXT, &set).unwrap();
    let ProcessTurns::Callers(mut callers) = workload.turns(0) else { panic!("not callers") };
    assert_eq!(callers.iter().map(|caller| caller.number).collect::<Vec<_>>(), [0, 3, 6]);
    let (first, later) = (callers[0].next(Duration::ZERO), callers[0].next(Duration::from_secs(1)));
    assert!(first.at < Duration::from_millis(10), "{first:?}");
    assert_eq!(later.at, Duration::from_millis(1_010));
}

#[test]
fn readers_are_the_share_that_the_mode_says() {
    let turns = turns(TEXT, &[("mode", "{ kind = \"read_write\", readers = 0.8 }")]).concat();
    let readers = turns.iter().filter(|turn| turn.reads).count() as f64 / turns.len() as f64;
    assert!((0.7..0.9).contains(&readers), "{readers}");
}

#[test]
fn a_trace_is_read_beside_the_file_of_the_workload() {
    let folder = tempfile::tempdir().unwrap();
    let (file, trace) = (folder.path().join("w.toml"), folder.path().join("t.jsonl"));
    fs::write(&file, TEXT).unwrap();
    fs::write(trace, "{\"at\": \"5ms\", \"hold\": \"7ms\"}\n{\"at\": \"9s\"}").unwrap();
    let set = [("arrivals", "{ kind = \"trace\", file = \"t.jsonl\" }"), ("processes", "1")];
    let workload = Workload::from_file(&file, &set).unwrap();
    let ProcessTurns::Open(turns) = workload.turns(0) else { panic!("not open") };
    let times: Vec<_> = turns.iter().map(|turn| (turn.at.as_millis(), turn.hold.as_millis())).collect();
    assert_eq!(times, [(5, 7)], "what comes after the duration is left out");
}

#[test]
fn who_went_away_in_a_trace_goes_away_after_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.jsonl");
    let lines = [
        r#"{"at": "1ms", "hold": "5ms", "waited": "0ms", "outcome": "granted"}"#,
        r#"{"at": "2ms", "waited": "100ms", "outcome": "gone"}"#,
        r#"{"at": "3ms", "waited": "100ms", "outcome": "held"}"#,
    ];
    fs::write(&trace, lines.join("\n")).unwrap();
    let patience = |set: &[(&str, &str)]| {
        let ProcessTurns::Open(turns) = Workload::from_trace(&trace, "", set).unwrap().turns(0) else {
            panic!()
        };
        turns.iter().map(|turn| turn.patience.map(|it| it.as_millis())).collect::<Vec<_>>()
    };
    assert_eq!(patience(&[]), [None, Some(100), None]);
    let others = [("patience", "{ kind = 'constant', time = '7ms' }")];
    assert_eq!(patience(&others), [Some(7), Some(100), Some(7)]);
}

#[test]
fn locks_that_do_not_exist_are_refused() {
    let plain = ("store.layout", "plain");
    let (shared, permits) = ("{ kind = \"read_write\", readers = 0.5 }", "{ kind = \"permits\", of = 2 }");
    for (set, field) in [
        ([plain, ("nodes", "3")], "nodes"),
        ([plain, ("mode", shared)], "mode.kind"),
        ([plain, ("mode", permits)], "mode.kind"),
        ([("nodes", "3"), ("mode", permits)], "mode.kind"),
    ] {
        match Workload::from_toml(TEXT, &set) {
            Err(ConfigError::Invalid(invalid)) => assert_eq!(invalid.field, field, "{set:?}"),
            other => panic!("{set:?}: {other:?}"),
        }
    }
    Workload::from_toml(TEXT, &[("nodes", "3"), ("mode", shared)]).unwrap();
}

#[test]
fn a_wrong_workload_is_refused_with_its_key() {
    for (key, value, expected) in [
        ("duration", "1ms", "invalid duration: 1ms (allowed: 10ms to 1d)"),
        ("processes", "0", "invalid processes: 0 (allowed: 1 to 64)"),
        ("nodes", "2", "invalid nodes: 2 (allowed: 1, or 3 to 9 for a quorum)"),
        ("hold.kind", "random", "unknown variant `random`"),
        ("hold.tmie", "1s", "unknown field `tmie`"),
        ("rate", "5", "unknown field `rate`"),
        ("arrivals.rate", "1e9", "invalid arrivals.rate: 1000000000 (allowed: more than 0"),
        ("arrivals.rate", "900000", "invalid arrivals: 1800000 requests (allowed: at most 1000000 requests"),
        ("mode", "{ kind = \"read_write\", readers = 2.0 }", "invalid mode.readers: 2 (allowed: 0 to 1)"),
        ("mode", "{ kind = \"permits\", of = 0 }", "invalid mode.of: 0 (allowed: 1 or more)"),
        ("backoff.initial", "soon", "config: backoff.initial: "),
        ("backoff.inital", "1s", "config: backoff.inital: unknown field"),
        ("wait.grant_window", "1ms", "invalid wait.grant_window: 1ms"),
        ("store.url", "redis://h", "invalid config.store.url: an address (allowed: nothing"),
        ("duration.x", "1", "duration is no section with keys of its own"),
        ("arrivals.", "1", "invalid key: arrivals. (allowed: words with dots between them)"),
    ] {
        let error = Workload::from_toml(TEXT, &[(key, value)]).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{key} = {value}: {error}");
    }
}
