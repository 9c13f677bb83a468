//! A load that shifts: its requests, its phases, what is in time, and the fixed settings that are tried on it.
//!
//! A simulation and a run on real servers have the same load.

use std::{fmt::Write as _, time::Duration};

use leasehold::{TunerSettings, text::exact};
use serde::Serialize;

use super::{chance::Chance, report::Waits};

/// The names of the phases, and the seconds at which they begin and end. All the time jobs come in bursts, which take 1.2 s to
/// serve. In the sale customers come as well, 20 times as many as can be served. In the last phase each hand-over takes half
/// as long as a lock is held.
const PHASES: [(&str, u32, u32); 4] =
    [("idle", 0, 20), ("sale", 20, 50), ("recovery", 50, 70), ("slow server", 70, 90)];
/// The rate of the customers, a second; ten can be served.
const SALE: f64 = 200.0;
/// The number of jobs in a burst, the seconds from one burst to the next, and those within which its jobs come.
const BURST: (u32, f64, f64) = (12, 4.0, 0.05);
/// The times within which an answer is of use: in the sale, and to a job.
const USEFUL: [Duration; 2] = [Duration::from_millis(800), Duration::from_millis(2_400)];
/// The factor by which the work of a call is larger in the last phase.
const SLOW: f64 = 3_000.0;
/// The fixed settings that are tried: waits in milliseconds, and bounds of the queue.
const WAITS: [u64; 5] = [400, 800, 1_200, 2_000, 4_000];
const BOUNDS: [u32; 6] = [1, 2, 4, 8, 16, 10_000];

/// The seed of the requests for which the bounds of the tuner in [`ShiftingLoad::workload`] were chosen.
pub const SEED: u64 = 7;
/// The number of processes.
pub const PROCESSES: u32 = 2;

/// The load.
#[derive(Clone, Copy, Debug)]
pub struct ShiftingLoad {
    /// The factor by which phases are longer.
    pub phases: f64,
    /// The factor by which all other times are longer: from one request to the next, held, and waited.
    pub times: f64,
}

/// A phase of the load.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// The name.
    pub name: &'static str,
    from: Duration,
    until: Duration,
    /// The longest wait after which an answer is of use.
    pub useful: Duration,
}

/// Settings that are tried, in the words of `config.toml`.
pub type LoadSettings = Vec<(&'static str, String)>;

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct LoadOutcome {
    /// The requests that were served in time, in each phase.
    pub in_time: [usize; 4],
    /// The 99th percentile of the waits of those that were served; `None` if nobody was.
    pub p99_seconds: Option<f64>,
    /// The 90th percentile in each phase; `None` where nobody was served.
    pub p90_seconds: [Option<f64>; 4],
    /// The changes that a tuner made each minute, in each process.
    pub changes_per_minute: f64,
}

/// Returns the tuner with the bounds of the load.
pub fn enabled() -> LoadSettings {
    vec![("tuner.enabled", "true".to_owned())]
}

/// Returns the tuner with the bounds of the default.
pub fn defaults() -> LoadSettings {
    let bounds = TunerSettings::default();
    let mut set = enabled();
    set.push(("tuner.burst_wait", text(bounds.burst_wait)));
    set.push(("tuner.standing_wait", text(bounds.standing_wait)));
    set.push(("tuner.min_waiters", bounds.min_waiters.to_string()));
    set
}

impl ShiftingLoad {
    /// Returns the workload, with the trace in a file of that name beside it.
    pub fn workload(&self) -> String {
        let [.., slow] = self.phases();
        let time = |millis: u64| text(Duration::from_millis(millis).mul_f64(self.times));
        format!(
            "name = 'shifting load'\n\
             duration = '{until}'\n\
             processes = {PROCESSES}\n\
             arrivals = {{ kind = 'trace', file = 'trace' }}\n\
             hold = {{ kind = 'constant', time = '{hold}' }}\n\
             slow_server = {{ from = '{from}', until = '{until}', factor = {factor} }}\n\
             [config]\n\
             wait.timeout = '{wait}'\n\
             wait.local_handover_limit = 2\n\
             [config.tuner]\n\
             burst_wait = '{burst}'\n\
             standing_wait = '{standing}'\n\
             min_waiters = 2\n",
            from = text(slow.from),
            until = text(slow.until),
            hold = time(100),
            factor = (SLOW * self.times).min(10_000.0),
            wait = time(4_000),
            burst = time(1_400),
            standing = time(400),
        )
    }

    /// Returns the trace: the times at which requests are made.
    pub fn trace(&self, seed: u64) -> String {
        let mut chance = Chance::of(seed, 0);
        let [_, (_, from, until), .., (.., end)] = PHASES
            .map(|(name, from, until)| (name, f64::from(from) * self.phases, f64::from(until) * self.phases));
        let (jobs, every, within) = BURST;
        let mut times = Vec::new();
        let starts = (0_u32..).map(|number| f64::from(number) * every * self.times);
        for start in starts.take_while(|start| *start < end) {
            times.extend((0..jobs).map(|_| start + within * self.times * chance.share()));
        }
        let mut at = from;
        while at < until {
            times.push(at);
            at += chance.exponential() / SALE * self.times;
        }
        times.sort_by(f64::total_cmp);
        let mut text = String::new();
        for at in times {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{{\"at\": \"{}us\"}}", (at * 1e6) as u64);
        }
        text
    }

    /// Returns the phases, in their order.
    pub fn phases(&self) -> [Phase; 4] {
        let at = |seconds: u32| Duration::from_secs(seconds.into()).mul_f64(self.phases);
        PHASES.map(|(name, from, until)| {
            let useful = USEFUL[usize::from(name != "sale")].mul_f64(self.times);
            Phase { name, from: at(from), until: at(until), useful }
        })
    }

    /// Returns every fixed setting of the grid, with its name.
    pub fn grid(&self) -> Vec<(String, LoadSettings)> {
        let waits = WAITS.map(|wait| Duration::from_millis(wait).mul_f64(self.times));
        let all = waits.iter().flat_map(|wait| BOUNDS.map(|bound| (text(*wait), bound.to_string())));
        let named = |(wait, bound): (String, String)| {
            (format!("{wait}, {bound}"), vec![("wait.timeout", wait), ("limits.max_waiters", bound)])
        };
        all.map(named).collect()
    }

    /// Returns the figures of the requests that were served, each with the time at which it was made and its wait, in
    /// microseconds, and of so many changes of a tuner.
    pub fn outcome(&self, served: &[(u64, u64)], changes: usize) -> LoadOutcome {
        let phases = self.phases();
        let waits_in = |phase: &Phase| -> Vec<u64> {
            let (from, until) = (phase.from.as_micros(), phase.until.as_micros());
            let made = served.iter().filter(|(at, _)| (from..until).contains(&u128::from(*at)));
            made.map(|(_, waited)| *waited).collect()
        };
        let in_time = |phase: &Phase| {
            waits_in(phase).iter().filter(|waited| u128::from(**waited) <= phase.useful.as_micros()).count()
        };
        let seconds =
            |waits: Vec<u64>, of: fn(&Waits) -> f64| (!waits.is_empty()).then(|| of(&Waits::of(waits)) / 1e6);
        let minutes = phases[3].until.as_secs_f64() / 60.0;
        LoadOutcome {
            in_time: phases.each_ref().map(in_time),
            p99_seconds: seconds(served.iter().map(|(_, waited)| *waited).collect(), |it| it.p99),
            p90_seconds: phases.each_ref().map(|phase| seconds(waits_in(phase), |it| it.p90)),
            changes_per_minute: changes as f64 / f64::from(PROCESSES) / minutes,
        }
    }
}

impl LoadOutcome {
    /// Returns the number of requests that were served in time.
    pub fn total(&self) -> usize {
        self.in_time.iter().sum()
    }
}

/// Returns a time in the words of a configuration.
fn text(time: Duration) -> String {
    exact(time).to_string()
}
