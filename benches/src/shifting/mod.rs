//! `leasehold-bench shifting`: the tuner against fixed settings under a load that shifts, on real servers.

mod table;

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use leasehold::ConfigError;
use leasehold_tuning::{
    Served, Workload,
    servers::Run,
    shifting::{LoadOutcome, LoadSettings, SEED, ShiftingLoad, defaults, enabled},
};

use self::table::{Tried, table};
use crate::{Failure, WORKLOAD_WORKER, server::Server};

/// Compares the tuner with thirty fixed settings under a load that shifts, on servers of our own
///
/// It is idle, has a flash sale for 30 s with 20 times as many customers as can be served, recovers, and has a slow server for
/// 20 s. Servers and processes are started on this machine, so redis-server must be installed. A run takes 95 seconds; there are
/// 32 settings, each with so many repetitions. With more than one the median counts, and the smallest and the largest are shown.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only settings with this in their name: tuner, or 800ms
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// How often each setting runs
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repetitions: u32,
    /// How many runs there are at a time, each with a server of its own
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    at_once: NonZeroUsize,
    /// The seed of the requests
    #[arg(long, value_name = "NUMBER", default_value_t = SEED)]
    seed: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// The length of the phases, as a share of what it is else
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share, hide = true)]
    scale: f64,
}

/// The runs of all settings.
struct Runs<'a> {
    load: ShiftingLoad,
    file: PathBuf,
    settings: &'a [(String, LoadSettings)],
    next: AtomicUsize,
    count: usize,
    done: AtomicUsize,
    /// True once a run has failed: no other one begins.
    failed: AtomicBool,
    /// The settings that ran, by their place, and how they did.
    outcomes: Mutex<Vec<(usize, LoadOutcome)>>,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let load = ShiftingLoad { phases: options.scale, times: 1.0 };
    let mut settings = settings(&load);
    settings.retain(|(name, _)| options.only.as_ref().is_none_or(|only| name.contains(only)));
    if settings.is_empty() {
        return Err(
            "--only: no setting has this in its name; a part of `tuner` or `800ms, 4` is expected".into()
        );
    }
    let folder = tempfile::tempdir()?;
    let runs = Runs {
        load,
        file: written(&load, options.seed, folder.path())?,
        settings: &settings,
        next: AtomicUsize::new(0),
        count: settings.len() * options.repetitions as usize,
        done: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        outcomes: Mutex::default(),
    };
    let ended = runs.go(options.at_once);
    // What has run is shown even if a run has failed: it has taken its time.
    let tried = tried(&settings, runs.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner));
    if options.json {
        println!("{}", serde_json::to_string_pretty(&tried)?);
    } else {
        println!("{}", table(&load, &tried, ended.is_ok()));
    }
    ended
}

/// Returns everything that is tried: the tuner with bounds that fit the load and with those of the default, and the grid.
fn settings(load: &ShiftingLoad) -> Vec<(String, LoadSettings)> {
    let tuners = [("tuner".to_owned(), enabled()), ("tuner, defaults".to_owned(), defaults())];
    tuners.into_iter().chain(load.grid()).collect()
}

/// Writes the workload and its trace into a folder.
fn written(load: &ShiftingLoad, seed: u64, folder: &Path) -> Result<PathBuf, Failure> {
    let file = folder.join("shifting.toml");
    fs::write(folder.join("trace"), load.trace(seed))?;
    fs::write(&file, load.workload())?;
    Ok(file)
}

/// Puts the outcomes of a setting together, and leaves out what did not run.
fn tried(settings: &[(String, LoadSettings)], outcomes: Vec<(usize, LoadOutcome)>) -> Vec<Tried> {
    let mut tried: Vec<_> =
        settings.iter().map(|(name, _)| Tried { setting: name.clone(), runs: Vec::new() }).collect();
    for (place, outcome) in outcomes {
        tried[place].runs.push(outcome);
    }
    tried.retain(|it| !it.runs.is_empty());
    tried
}

impl Runs<'_> {
    /// Runs all of them, so many at a time.
    fn go(&self, at_once: NonZeroUsize) -> Result<(), Failure> {
        thread::scope(|scope| {
            let work = || self.work().inspect_err(|_| self.failed.store(true, Ordering::Relaxed));
            let threads: Vec<_> = (0..at_once.get().min(self.count)).map(|_| scope.spawn(work)).collect();
            for thread in threads {
                thread.join().map_err(|_| "a run has panicked")??;
            }
            Ok(())
        })
    }

    /// Runs one after the other, until none is left. All settings run once before one runs again: a machine is not the same from
    /// one minute to the next.
    fn work(&self) -> Result<(), Failure> {
        while !self.failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                break;
            }
            let place = number % self.settings.len();
            let (name, set) = &self.settings[place];
            let outcome = self.one(set).map_err(|error| format!("{name}: {error}"))?;
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            eprintln!("{done} of {}: {name}: {} in time", self.count, outcome.total());
            self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((place, outcome));
        }
        Ok(())
    }

    fn one(&self, set: &LoadSettings) -> Result<LoadOutcome, Failure> {
        let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let workload = changed(&self.file, &set)?;
        let server = Server::start()?;
        let run = Run {
            workload: &workload,
            file: &self.file,
            set: &set,
            url: &server.url(),
            servers: &[server.process()],
            worker: &[WORKLOAD_WORKER],
        };
        let (served, spent) = run.go()?;
        let granted: Vec<_> =
            served.iter().filter(|it| Served::is_granted(it)).map(|it| (it.at, it.waited)).collect();
        Ok(self.load.outcome(&granted, spent.changes.len()))
    }
}

fn changed(file: &Path, set: &[(String, String)]) -> Result<Workload, ConfigError> {
    let set: Vec<_> = set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    Workload::from_file(file, &set)
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.01..=1.0).contains(share));
    share.ok_or_else(|| "0.01 to 1 is expected".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const LOAD: ShiftingLoad = ShiftingLoad { phases: 1.0, times: 1.0 };

    #[test]
    fn every_setting_is_one_of_the_load_and_has_a_name_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(&LOAD, SEED, folder.path()).unwrap();
        let settings = settings(&LOAD);
        let names: BTreeSet<_> = settings.iter().map(|(name, _)| name).collect();
        assert_eq!((settings.len(), names.len()), (32, 32), "{names:?}");
        for (name, set) in &settings {
            let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
            let config = changed(&file, &set).unwrap().config().unwrap();
            assert_eq!(config.tuner.enabled, name.starts_with("tuner"), "{name}");
        }
    }

    #[test]
    fn a_shorter_load_has_the_same_rates() {
        let short = ShiftingLoad { phases: 0.1, times: 1.0 };
        let [long, short] = [LOAD, short].map(|load| load.trace(SEED).lines().count());
        // 23 bursts and 6,000 customers; 3 and 600.
        assert!((6_000..6_500).contains(&long) && (560..720).contains(&short), "{long} {short}");
        for wrong in ["0", "-1", "1.5", "NaN", "short"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(share("0.05"), Ok(0.05));
    }

    #[test]
    fn what_is_in_time_depends_on_the_phase() {
        let second = 1_000_000;
        let served =
            [(0, 2 * second), (19 * second, 3 * second), (20 * second, 800_000), (49 * second, 2 * second)];
        let outcome = LOAD.outcome(&served, 6);
        assert_eq!((outcome.in_time, outcome.total()), ([1, 1, 0, 0], 2));
        assert_eq!(
            (outcome.p99_seconds, outcome.p90_seconds),
            (Some(3.0), [Some(3.0), Some(2.0), None, None])
        );
        assert_eq!(outcome.changes_per_minute, 2.0, "in each of two processes, in one and a half minutes");
    }
}
