//! The figures of a run: success, waits, what the server had to do, and fairness.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    laboratory::{drive::Served, units, workload::Workload},
    tuner::TunerEvent,
};

/// The figures of a workload, simulated or measured. Times are in microseconds, in JSON in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The name of the workload.
    pub name: String,
    /// The number of requests.
    pub requests: u64,
    /// The number of requests that got their lease.
    pub granted: u64,
    /// The numbers of the other requests, by outcome: `gone` for a caller that went away, else the
    /// [kind](leasehold::AcquireError::kind) of the error.
    pub others: BTreeMap<String, u64>,
    /// The share of the requests that got their lease.
    pub success_rate: f64,
    /// The waits of granted requests.
    #[serde(rename = "waited_seconds")]
    pub waited: Waits,
    /// The waits of the other requests: for how long a caller does not know that it gets nothing.
    #[serde(rename = "waited_in_vain_seconds")]
    pub waited_in_vain: Waits,
    /// The calls that servers served, for each granted request.
    pub commands: f64,
    /// The processor time of servers, for each granted request.
    #[serde(rename = "server_time_seconds", with = "units::micros")]
    pub server_time: f64,
    /// The share of a core that servers needed, all together.
    pub server_load: f64,
    /// The attempts that were made, for each granted request.
    pub attempts: f64,
    /// The share of the attempts that were not granted.
    pub wasted: f64,
    /// The changes that [tuners](crate::tuner) made, in order.
    #[serde(default)]
    pub changes: Vec<Tuned>,
    /// Jain's index of the callers' shares of granted requests: 1 if all are served alike, 1/n if one of n is alone.
    pub fairness: f64,
}

/// A distribution of waits, in microseconds, in JSON in seconds; all zero if there was none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Waits {
    /// The mean.
    #[serde(with = "units::micros")]
    pub mean: f64,
    /// The median.
    #[serde(with = "units::micros")]
    pub p50: f64,
    /// The 90th percentile.
    #[serde(with = "units::micros")]
    pub p90: f64,
    /// The 99th percentile.
    #[serde(with = "units::micros")]
    pub p99: f64,
    /// The longest.
    #[serde(with = "units::micros")]
    pub max: f64,
    /// The percentiles from 0 to 100, for pictures.
    #[serde(with = "units::all_micros")]
    pub percentiles: Vec<f64>,
}

/// What a run needed, of servers and managers together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// The attempts that managers made.
    pub attempts: u64,
    /// The calls that servers served.
    pub commands: u64,
    /// The processor time of servers.
    pub server_time: Duration,
    /// The time from the start to the last answer.
    pub elapsed: Duration,
    /// The changes that [tuners](crate::tuner) made, in order.
    pub changes: Vec<Tuned>,
}

/// A change that a tuner made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tuned {
    /// The time since the start, in microseconds.
    #[serde(rename = "at_seconds", with = "units::whole_micros")]
    pub at: u64,
    /// The process whose tuner it was, counted from 0.
    pub process: u32,
    /// The [rule](crate::tuner::TunerRule).
    pub rule: String,
    /// The reason.
    pub reason: String,
}

impl Tuned {
    /// Creates what a report tells of a change of the tuner of a process.
    pub fn new(since_start: Duration, process: u32, event: &TunerEvent) -> Self {
        let TunerEvent { rule, reason, .. } = event;
        Self { at: units::whole_micros(since_start), process, rule: rule.to_string(), reason: reason.clone() }
    }
}

impl Report {
    /// Creates the report of the requests of all processes.
    pub fn new(workload: &Workload, served: &[Served], spent: &Spent) -> Self {
        let (granted, others): (Vec<&Served>, Vec<&Served>) = served.iter().partition(|it| it.is_granted());
        let mut counts = BTreeMap::new();
        for other in &others {
            *counts.entry(other.outcome.clone()).or_insert(0) += 1;
        }
        let each = |sum: f64| if granted.is_empty() { 0.0 } else { sum / granted.len() as f64 };
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let (attempts, server_time) = (spent.attempts as f64, spent.server_time.as_secs_f64());
        Self {
            name: workload.name.clone(),
            requests: served.len() as u64,
            granted: granted.len() as u64,
            others: counts,
            success_rate: share(granted.len() as f64, served.len() as f64),
            waited: Waits::of(granted.iter().map(|it| it.waited)),
            waited_in_vain: Waits::of(others.iter().map(|it| it.waited)),
            commands: each(spent.commands as f64),
            server_time: each(server_time * 1e6),
            server_load: share(server_time, spent.elapsed.as_secs_f64()),
            attempts: each(attempts),
            wasted: share(attempts - granted.len() as f64, attempts).max(0.0),
            changes: spent.changes.clone(),
            fairness: fairness(served),
        }
    }
}

impl Workload {
    /// Returns the figures of the requests as they were recorded; `None` unless this is a trace with outcomes. What servers had
    /// to do for them is not known, and zero.
    pub fn recorded(&self) -> Option<Report> {
        let served = self.recorded_answers().map(|(at, waited, outcome)| Served {
            caller: 0,
            at: units::whole_micros(at),
            waited: units::whole_micros(waited),
            outcome: outcome.to_owned(),
        });
        let served: Vec<Served> = served.collect();
        (!served.is_empty()).then(|| Report::new(self, &served, &Spent::default()))
    }
}

impl Waits {
    /// Returns the distribution of these waits.
    pub(super) fn of(waits: impl IntoIterator<Item = u64>) -> Self {
        let mut waits: Vec<f64> = waits.into_iter().map(|wait| wait as f64).collect();
        waits.sort_by(f64::total_cmp);
        let Some(last) = waits.len().checked_sub(1) else { return Self::default() };
        let percentile = |percent: usize| waits[(last * percent).div_ceil(100)];
        Self {
            mean: waits.iter().sum::<f64>() / waits.len() as f64,
            p50: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            max: waits[last],
            percentiles: (0..=100).map(percentile).collect(),
        }
    }
}

/// Returns Jain's index of the shares of its requests that each caller got (Jain, Chiu, Hawe: "A Quantitative Measure of
/// Fairness", 1984).
fn fairness(served: &[Served]) -> f64 {
    let mut callers: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for it in served {
        let (requests, granted) = callers.entry(it.caller).or_default();
        *requests += 1.0;
        *granted += f64::from(u8::from(it.is_granted()));
    }
    let shares = callers.values().map(|(requests, granted)| granted / requests);
    let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), it| (sum + it, squares + it * it));
    if squares > 0.0 { sum * sum / (callers.len() as f64 * squares) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(caller: u32, waited: u64, outcome: &str) -> Served {
        Served { caller, at: 0, waited, outcome: outcome.to_owned() }
    }

    fn report(served: &[Served], spent: &Spent) -> Report {
        let text = "duration = '1s'\narrivals = { kind = 'constant', rate = 1 }\n\
                    hold = { kind = 'constant', time = '1ms' }";
        Report::new(&Workload::from_toml(text, &[]).unwrap(), served, spent)
    }

    #[test]
    fn figures_count_for_each_granted_request() {
        let all: Vec<_> = (1..=4)
            .map(|number| served(number % 2, u64::from(number) * 10, "granted"))
            .chain([served(0, 500, "held"), served(1, 300, "gone")])
            .collect();
        let spent = Spent {
            attempts: 16,
            commands: 20,
            server_time: Duration::from_micros(400),
            elapsed: Duration::from_millis(1),
            changes: Vec::new(),
        };
        let report = report(&all, &spent);
        assert_eq!((report.requests, report.granted), (6, 4));
        assert_eq!(report.others, BTreeMap::from([("held".to_owned(), 1), ("gone".to_owned(), 1)]));
        assert_eq!([report.success_rate, report.commands, report.server_time], [4.0 / 6.0, 5.0, 100.0]);
        assert_eq!([report.server_load, report.attempts, report.wasted], [0.4, 4.0, 0.75]);
        assert_eq!([report.waited.mean, report.waited.p50, report.waited.max], [25.0, 30.0, 40.0]);
        assert_eq!((report.waited_in_vain.max, report.fairness), (500.0, 1.0));
    }

    #[test]
    fn a_run_without_requests_has_no_figures_and_no_odd_numbers() {
        let report = report(&[], &Spent::default());
        assert_eq!((report.success_rate, report.commands, report.fairness), (0.0, 0.0, 1.0));
        assert_eq!(report.waited, Waits::default());
    }

    #[test]
    fn one_caller_that_gets_everything_is_unfair() {
        let all: Vec<_> =
            (0..4).map(|caller| served(caller, 1, if caller == 0 { "granted" } else { "held" })).collect();
        assert_eq!(report(&all, &Spent::default()).fairness, 0.25);
    }
}
