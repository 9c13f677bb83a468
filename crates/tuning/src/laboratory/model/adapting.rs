//! Loads that only some rules of a tuner answer: a server that is polled, and waits in vain.

use std::{fmt::Write as _, fs};

use super::*;
use crate::laboratory::report::Tuned;

fn changes(text: &str) -> (Report, Vec<Tuned>) {
    let workload = Workload::from_toml(text, &[]).unwrap();
    let report = simulate(&workload, &ServerProfile::default()).unwrap();
    let changes = report.changes.clone();
    for it in &changes {
        println!("{:6} ms, process {}: {}: {}", it.at / 1_000, it.process, it.rule, it.reason);
    }
    (report, changes)
}

/// The numbers of changes by a rule before and after a time, in seconds.
fn by(changes: &[Tuned], rule: &str, at: u64) -> [usize; 2] {
    let (before, after): (Vec<_>, Vec<_>) =
        changes.iter().filter(|it| it.rule == rule).partition(|it| it.at < at * 1_000_000);
    [before.len(), after.len()]
}

#[test]
fn a_server_that_is_loaded_is_polled_less_until_it_is_idle_again() {
    let text = |enabled: bool| {
        format!(
            "
        duration = '60s'
        processes = 8
        arrivals = {{ kind = 'callers', callers = 16, pause = {{ kind = 'constant', time = '1ms' }} }}
        hold = {{ kind = 'constant', time = '100ms' }}
        slow_server = {{ from = '10s', until = '25s', factor = 300 }}
        [config]
        store.layout = 'plain'
        wait.timeout = '20s'
        backoff.initial = '10ms'
        backoff.max = '10ms'
        tuner.enabled = {enabled}
    "
        )
    };
    let (tuned, changes) = changes(&text(true));
    let fixed =
        simulate(&Workload::from_toml(&text(false), &[]).unwrap(), &ServerProfile::default()).unwrap();
    let (slower, faster) = (by(&changes, "poll_slower", 27), by(&changes, "poll_faster", 20));
    println!(
        "{} of {} commands, {} of {} granted",
        tuned.commands, fixed.commands, tuned.granted, fixed.granted
    );
    assert!(slower[0] >= 8 && slower[1] == 0, "{slower:?}");
    assert!(faster[0] == 0 && faster[1] == slower[0], "{faster:?}");
    assert!(tuned.commands < 0.8 * fixed.commands, "{} and {} commands", tuned.commands, fixed.commands);
}

#[test]
fn waits_become_shorter_while_most_are_in_vain_and_longer_again() {
    // Three times as many as can be served, for 15 s, and then nobody for 25 s.
    let (report, changes) = changes(
        "
        duration = '56s'
        processes = 2
        arrivals = { kind = 'bursts', every = '40s', size = 450, within = '15s' }
        mode = { kind = 'permits', of = 2 }
        hold = { kind = 'constant', time = '200ms' }
        [config]
        wait.timeout = '2s'
        tuner.enabled = true
    ",
    );
    let sooner = by(&changes, "give_up_sooner", 19);
    assert!(sooner[0] >= 2, "{sooner:?} {report:?}");
    for process in 0..2 {
        let last = changes.iter().rfind(|it| it.process == process && it.at < 40_000_000);
        assert_eq!(last.map(|it| it.rule.as_str()), Some("wait_longer"), "process {process}: {changes:?}");
    }
}

#[test]
fn a_wait_that_a_sale_made_short_returns_though_a_burst_comes_now_and_then() {
    // 100 a second for 20 s, of which ten can be served, and then 12 jobs each 4 s.
    let customers = (0..2_000_u64).map(|number| 1_000 + number * 10);
    let jobs = (7..40_u64).flat_map(|burst| (0..12).map(move |job| burst * 4_000 + job));
    let trace = customers.chain(jobs).fold(String::new(), |mut text, millis| {
        writeln!(text, "{{\"at\": \"{millis}ms\"}}").unwrap();
        text
    });
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("trace"), trace).unwrap();
    let text = "
        duration = '165s'
        processes = 1
        arrivals = { kind = 'trace', file = 'trace' }
        hold = { kind = 'constant', time = '100ms' }
        [config]
        wait.timeout = '2s'
        tuner.enabled = true
        # The bound of the queue would leave nobody who waits in vain.
        tuner.burst_wait = '1h'
        tuner.standing_wait = '1h'
    ";
    let file = folder.path().join("workload.toml");
    fs::write(&file, text).unwrap();
    let report = simulate(&Workload::from_file(&file, &[]).unwrap(), &ServerProfile::default()).unwrap();
    let waits =
        report.changes.iter().filter(|it| ["give_up_sooner", "wait_longer"].contains(&it.rule.as_str()));
    let waits: Vec<_> = waits.map(|it| (it.at / 1_000_000, it.rule.as_str())).collect();
    let steps = |rule: &str| waits.iter().filter(|(_, it)| *it == rule).count();
    assert!(steps("give_up_sooner") >= 3, "{waits:?}");
    assert_eq!(
        steps("wait_longer"),
        steps("give_up_sooner"),
        "the last wait is not that of the settings: {waits:?}"
    );
}
