//! A load that shifts: the tuner beside fixed settings.

use std::{fmt::Write as _, fs};

use super::*;
use crate::tuning::chance::Chance;

/// The phases, in seconds: idle, a flash sale, recovery, a slow server.
const PHASES: [(&str, u64, u64); 4] = [("idle", 0, 20), ("sale", 20, 50), ("recovery", 50, 70), ("slow", 70, 90)];

/// The times at which requests are made: in bursts, and without a pause in the sale.
fn trace(burst: u32, every: f64, sale: f64) -> String {
    let mut chance = Chance::of(7, 0);
    let mut times = Vec::new();
    let mut start = 0.0;
    while start < 90.0 {
        times.extend((0..burst).map(|_| start + 0.05 * chance.share()));
        start += every;
    }
    let mut at = 20.0;
    while at < 50.0 {
        times.push(at);
        at += chance.exponential() / sale;
    }
    times.sort_by(f64::total_cmp);
    times.iter().fold(String::new(), |mut text, at| {
        writeln!(text, "{{\"at\": \"{}us\"}}", (at * 1e6) as u64).unwrap();
        text
    })
}

struct Outcome {
    granted: usize,
    p99: f64,
    phases: [(usize, f64); 4],
    changes: Vec<crate::tuning::report::Tuned>,
}

fn p99<'a>(waits: impl Iterator<Item = &'a Served>) -> (usize, f64) {
    let mut waits: Vec<u64> = waits.map(|it| it.waited).collect();
    waits.sort_unstable();
    let place = (waits.len() * 99).div_ceil(100).saturating_sub(1);
    (waits.len(), waits.get(place).map_or(0.0, |micros| *micros as f64 / 1e3))
}

fn outcome(text: &str, folder: &Path, set: &[(&str, &str)]) -> Outcome {
    let file = folder.join("w.toml");
    fs::write(&file, text).unwrap();
    let workload = Workload::from_file(&file, set).unwrap();
    let run = run(&workload, &ServerProfile::default()).unwrap();
    let granted = || run.served.iter().filter(|it| it.is_granted());
    let (count, all) = p99(granted());
    let phases = PHASES.map(|(_, from, until)| {
        p99(granted().filter(|it| (from * 1_000_000..until * 1_000_000).contains(&it.at)))
    });
    Outcome { granted: count, p99: all, phases, changes: run.spent.changes }
}

use std::path::Path;

#[test]
fn explore() {
    let folder = tempfile::tempdir().unwrap();
    let env = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let burst = env("BURST", "24").parse().unwrap();
    let every = env("EVERY", "2").parse().unwrap();
    let sale = env("SALE", "780").parse().unwrap();
    fs::write(folder.path().join("trace"), trace(burst, every, sale)).unwrap();
    let text = format!("
        duration = '90s'
        processes = {}
        arrivals = {{ kind = 'trace', file = 'trace' }}
        hold = {{ kind = 'constant', time = '{}' }}
        slow_server = {{ from = '70s', until = '90s', factor = {} }}
        [config]
        wait.timeout = '2s'
        store.layout = '{}'
        {}
    ", env("PROCESSES", "4"), env("HOLD", "25ms"), env("FACTOR", "1000"), env("LAYOUT", "full"), env("EXTRA", ""));
    let show = |name: &str, it: &Outcome| {
        let phases: Vec<String> = it.phases.iter().map(|(n, p99)| format!("{n:5} {p99:7.0}")).collect();
        println!("{name:24} {:6} {:7.0} | {} | {}", it.granted, it.p99, phases.join(" | "), it.changes.len());
    };
    let tuned = outcome(&text, folder.path(), &[("tuner.enabled", "true")]);
    show("tuner", &tuned);
    for change in &tuned.changes {
        if change.process == 0 { println!("   {:7} {} {}", change.at / 1000, change.rule, change.reason); }
    }
    for wait in ["200ms", "500ms", "1s", "2s", "5s"] {
        for bound in ["4", "16", "10000"] {
            let it = outcome(&text, folder.path(), &[("wait.timeout", wait), ("limits.max_waiters", bound)]);
            show(&format!("{wait} {bound}"), &it);
        }
    }
}
