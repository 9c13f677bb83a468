//! A load that shifts, under which a tuner is compared with fixed settings.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::*;
use crate::laboratory::{
    report::Tuned,
    shifting::{LoadOutcome, LoadSettings, SEED, ShiftingLoad, defaults, enabled},
};

/// The load of the table in docs/tuning.md.
const USUAL: ShiftingLoad = ShiftingLoad { phases: 1.0, times: 1.0 };

/// The best fixed setting of the grid.
fn best() -> LoadSettings {
    vec![("wait.timeout", "800ms".to_owned()), ("limits.max_waiters", "4".to_owned())]
}

fn row(name: &str, it: &LoadOutcome) -> String {
    let millis = |it: Option<f64>| it.map_or("nobody".to_owned(), |it| format!("{:5.0} ms", it * 1e3));
    let phases =
        it.in_time.iter().zip(it.p90_seconds).map(|(in_time, p90)| format!("{in_time:4} {}", millis(p90)));
    let phases: Vec<_> = phases.collect();
    format!(
        "{name:12} {:5} {} | {} | {:.1}",
        it.total(),
        millis(it.p99_seconds),
        phases.join(" | "),
        it.changes_per_minute
    )
}

/// A folder with the workload and its trace.
struct Files {
    load: ShiftingLoad,
    folder: tempfile::TempDir,
}

impl Files {
    fn of(load: ShiftingLoad, seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("trace"), load.trace(seed)).unwrap();
        fs::write(folder.path().join("shifting.toml"), load.workload()).unwrap();
        Self { load, folder }
    }

    /// The outcome of settings, and the changes of the tuners.
    fn run(&self, set: &[(&str, String)]) -> (LoadOutcome, Vec<Tuned>) {
        let set: Vec<_> = set.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let workload = Workload::from_file(self.folder.path().join("shifting.toml"), &set).unwrap();
        let run = run(&workload, &ServerProfile::default()).unwrap();
        let granted = run.served.iter().filter(|it| it.is_granted());
        let served: Vec<_> = granted.map(|it| (it.at, it.waited)).collect();
        (self.load.outcome(&served, run.spent.changes.len()), run.spent.changes)
    }

    fn outcome(&self, set: &[(&str, String)]) -> LoadOutcome {
        self.run(set).0
    }

    /// The outcomes of fixed settings, two at a time.
    fn fixed(&self, grid: &[(String, LoadSettings)]) -> Vec<(String, LoadOutcome)> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut outcomes = Vec::new();
            while let Some((name, set)) = grid.get(next.fetch_add(1, Ordering::Relaxed)) {
                outcomes.push((name.clone(), self.outcome(set)));
            }
            outcomes
        };
        thread::scope(|scope| {
            let workers = [scope.spawn(work), scope.spawn(work)];
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        })
    }
}

/// Compares a tuner with fixed settings.
fn compare(grid: &[(String, LoadSettings)]) {
    let files = Files::of(USUAL, SEED);
    let tuned = files.outcome(&enabled());
    let phases = USUAL.phases().map(|phase| phase.name).join(" | ");
    println!("in time, p99 of all | in time and p90: {phases} | changes a minute of each process");
    println!("{}", row("tuner", &tuned));
    let fixed = files.fixed(grid);
    assert_eq!(fixed.len(), grid.len());
    for (name, it) in &fixed {
        println!("{}", row(name, it));
    }
    for (name, it) in &fixed {
        assert!(
            tuned.total() * 100 > it.total() * 105,
            "{name}: {} in time, tuned {}",
            it.total(),
            tuned.total()
        );
    }
}

#[test]
fn a_tuner_serves_more_in_time_than_the_best_fixed_setting_and_the_one_it_began_with() {
    compare(&[("best".to_owned(), best()), ("4s".to_owned(), LoadSettings::new())]);
}

#[test]
#[ignore = "half a minute, for the table in docs/tuning.md"]
fn a_tuner_serves_more_in_time_than_each_of_thirty_fixed_settings() {
    compare(&USUAL.grid());
}

#[test]
#[ignore = "half a minute, for the table in docs/tuning.md"]
fn a_tuner_serves_more_in_time_than_the_setting_it_began_with_also_with_other_seeds_and_its_defaults() {
    for seed in SEED..SEED + 5 {
        let files = Files::of(USUAL, seed);
        let [tuned, usual, best, fixed] =
            [enabled(), defaults(), best(), LoadSettings::new()].map(|set| files.outcome(&set));
        for (name, it) in [("tuner", &tuned), ("its defaults", &usual), ("800ms, 4", &best), ("4s", &fixed)] {
            println!("seed {seed}: {}", row(name, it));
        }
        assert!(tuned.total() > fixed.total() && usual.total() > fixed.total());
    }
}

/// The load, ten times as fast, and ten times as slow.
const LOADS: [ShiftingLoad; 3] =
    [USUAL, ShiftingLoad { phases: 1.0, times: 0.1 }, ShiftingLoad { phases: 10.0, times: 10.0 }];

#[test]
#[ignore = "half a minute, for the defaults of [tuner]"]
fn no_other_smallest_bound_serves_more_in_time_than_the_default_on_three_loads() {
    for load in LOADS {
        for seed in [SEED, SEED + 1] {
            let with = |least: u32| {
                let mut set = defaults();
                set.push(("tuner.min_waiters", least.to_string()));
                (format!("{least}"), set)
            };
            let sets: Vec<_> =
                [("default".to_owned(), defaults())].into_iter().chain([1, 2, 4, 6].map(with)).collect();
            let tried = Files::of(load, seed).fixed(&sets);
            for (name, it) in &tried {
                println!("{} seed {seed} {}", load.times, row(name, it));
            }
            let total = |name: &str| tried.iter().find(|(it, _)| it == name).unwrap().1.total();
            assert!(tried.iter().all(|(_, it)| it.total() <= total("default")), "{seed}");
        }
    }
}

#[test]
fn a_tuner_follows_a_load_that_shifts_and_does_not_oscillate() {
    let (tuned, changes) = Files::of(USUAL, SEED).run(&enabled());
    println!("{}", row("tuner", &tuned));
    for it in &changes {
        println!("{:6} ms, process {}: {}: {}", it.at / 1_000, it.process, it.rule, it.reason);
    }
    let [idle, sale, recovery, slow] = tuned.in_time;
    assert!(idle == 60 && sale > 260 && recovery >= 50 && slow >= 35, "{tuned:?}");
    assert!(tuned.p90_seconds[1].is_some_and(|p90| p90 <= 0.8), "{tuned:?}");
    assert!((1.0..6.0).contains(&tuned.changes_per_minute), "{tuned:?}");
}

#[test]
fn a_tuner_that_only_tells_changes_nothing() {
    let files = Files::of(USUAL, SEED);
    let (without, none) = files.run(&[]);
    let mut dry = enabled();
    dry.push(("tuner.dry_run", "true".to_owned()));
    let (dry, told) = files.run(&dry);
    // To ask the server for its load takes a round trip now and then.
    let differ = dry.in_time.iter().zip(without.in_time).map(|(one, other)| one.abs_diff(other)).max();
    assert!(differ <= Some(3) && none.is_empty(), "{:?} {:?}", dry.in_time, without.in_time);
    assert!(told.iter().any(|it| it.rule == "shed_early"), "{told:?}");
}
