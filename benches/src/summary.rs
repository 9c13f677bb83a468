//! The repetitions of a workload made one figure for each locker: median, least, most.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::{Failure, coordinator::Outcome, lockers::Kind, plan::Measured};

/// What was found about one workload.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) renewed: bool,
    pub(crate) lockers: Vec<Row>,
}

/// One locker in one workload: a figure for each repetition.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) locker: Kind,
    pub(crate) turns_a_second: Vec<f64>,
    /// The rate in the first half-second after the start.
    pub(crate) first_turns_a_second: Vec<f64>,
    pub(crate) p50_us: Vec<f64>,
    pub(crate) p99_us: Vec<f64>,
    pub(crate) longest_us: Vec<f64>,
    pub(crate) longest_wait_us: Vec<f64>,
    /// Processor time for a turn.
    pub(crate) client_us: Vec<f64>,
    pub(crate) server_us: Vec<f64>,
    /// Processor time for a second.
    pub(crate) client_cores: Vec<f64>,
    pub(crate) server_cores: Vec<f64>,
    /// Processor time of the client for a second, by what its threads do.
    pub(crate) manager_cores: Vec<f64>,
    pub(crate) caller_cores: Vec<f64>,
    pub(crate) other_cores: Vec<f64>,
    /// Cores of the machine that had nothing to do.
    pub(crate) idle_cores: Vec<f64>,
    /// The turns of the caller that had the fewest and the most, in shares of the mean.
    pub(crate) fewest: Vec<f64>,
    pub(crate) most: Vec<f64>,
    pub(crate) bytes_a_lease: Vec<f64>,
    pub(crate) lost: u64,
    /// Acquisitions that were dropped in flight, and resources that stayed locked afterwards.
    pub(crate) dropped: u64,
    pub(crate) left: u64,
    pub(crate) commands: Option<f64>,
    pub(crate) violations: u64,
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<String>,
}

impl Summary {
    pub(crate) fn new(measured: &Measured, lockers: &[Kind]) -> Self {
        Self {
            name: measured.name,
            about: measured.about,
            renewed: measured.is_renewed(),
            lockers: lockers.iter().map(|locker| Row::new(*locker)).collect(),
        }
    }

    /// Adds a repetition of the locker in this place.
    pub(crate) fn add(&mut self, place: usize, outcome: Outcome) -> Result<(), Failure> {
        self.lockers[place].add(&outcome)
    }

    pub(crate) fn count_commands(&mut self, place: usize, commands: Option<f64>) {
        self.lockers[place].commands = commands;
    }

    /// Counts violations of mutual exclusion, leases that were lost, and locks that were left.
    pub(crate) fn faults(&self) -> u64 {
        self.lockers.iter().map(|row| row.violations + row.lost + row.left).sum()
    }

    /// The throughput of a locker in shares of raw's: the median over repetitions, each against its own.
    pub(crate) fn ratio_to_raw(&self, row: &Row) -> Option<f64> {
        let raw = self.lockers.iter().find(|row| row.locker == Kind::Raw)?;
        let ratios = row.turns_a_second.iter().zip(&raw.turns_a_second).map(|(ours, raws)| ours / raws);
        Some(median(&ratios.collect::<Vec<_>>())).filter(|ratio| ratio.is_finite())
    }
}

impl Row {
    const fn new(locker: Kind) -> Self {
        Self {
            locker,
            turns_a_second: Vec::new(),
            first_turns_a_second: Vec::new(),
            p50_us: Vec::new(),
            p99_us: Vec::new(),
            longest_us: Vec::new(),
            longest_wait_us: Vec::new(),
            client_us: Vec::new(),
            server_us: Vec::new(),
            client_cores: Vec::new(),
            server_cores: Vec::new(),
            manager_cores: Vec::new(),
            caller_cores: Vec::new(),
            other_cores: Vec::new(),
            idle_cores: Vec::new(),
            fewest: Vec::new(),
            most: Vec::new(),
            bytes_a_lease: Vec::new(),
            lost: 0,
            dropped: 0,
            left: 0,
            commands: None,
            violations: 0,
            failures: 0,
            first_failure: None,
        }
    }

    fn add(&mut self, outcome: &Outcome) -> Result<(), Failure> {
        let samples = &outcome.samples;
        // The processes run side by side, each for the same time.
        let seconds = samples.iter().map(|sample| sample.seconds).sum::<f64>() / samples.len() as f64;
        let processor: f64 = samples.iter().map(|sample| sample.processor).sum();
        self.client_cores.push(processor / seconds);
        self.server_cores.push(outcome.server / seconds);
        self.add_groups(outcome, processor, seconds);
        let turns = outcome.turns() as f64;
        self.turns_a_second.push(turns / seconds);
        let first: Option<f64> = samples.iter().map(|sample| sample.first).sum();
        self.first_turns_a_second.push(first.unwrap_or(f64::NAN));
        self.client_us.push(processor / turns * 1e6);
        self.server_us.push(outcome.server / turns * 1e6);
        self.add_fairness(outcome);
        self.add_latencies(outcome)?;
        self.left += outcome.left;
        for sample in samples {
            self.violations += sample.violations;
            self.failures += sample.failures;
            self.dropped += sample.dropped;
            if let Some(leases) = sample.leases {
                self.bytes_a_lease.push(leases.bytes_each);
                self.lost += leases.lost;
            }
            if let (None, Some(failure)) = (&self.first_failure, &sample.first_failure) {
                eprintln!("{}: {failure}", self.locker.name());
                self.first_failure = Some(failure.clone());
            }
        }
        Ok(())
    }

    fn add_groups(&mut self, outcome: &Outcome, processor: f64, seconds: f64) {
        let manager: f64 = outcome.samples.iter().map(|sample| sample.manager).sum();
        let callers: f64 = outcome.samples.iter().map(|sample| sample.callers).sum();
        self.manager_cores.push(manager / seconds);
        self.caller_cores.push(callers / seconds);
        // The clocks differ by a little.
        self.other_cores.push((processor - manager - callers).max(0.0) / seconds);
        self.idle_cores.push(outcome.idle);
    }

    fn add_fairness(&mut self, outcome: &Outcome) {
        let callers: Vec<u64> = outcome.samples.iter().flat_map(|sample| &sample.turns).copied().collect();
        let mean = outcome.turns() as f64 / callers.len() as f64;
        let share = |turns: Option<&u64>| turns.map_or(f64::NAN, |turns| *turns as f64 / mean);
        self.fewest.push(share(callers.iter().min()));
        self.most.push(share(callers.iter().max()));
    }

    fn add_latencies(&mut self, outcome: &Outcome) -> Result<(), Failure> {
        let mut latencies = Histogram::<u64>::new(3)?;
        for (nanos, count) in outcome.samples.iter().flat_map(|sample| &sample.latencies) {
            latencies.record_n(*nanos, *count)?;
        }
        let micros = |nanos: u64| if latencies.is_empty() { f64::NAN } else { nanos as f64 / 1e3 };
        self.p50_us.push(micros(latencies.value_at_quantile(0.5)));
        self.p99_us.push(micros(latencies.value_at_quantile(0.99)));
        self.longest_us.push(micros(latencies.max()));
        let waits = outcome.samples.iter().filter_map(|sample| sample.longest_wait);
        self.longest_wait_us.push(waits.max().map_or(f64::NAN, |nanos| nanos as f64 / 1e3));
        Ok(())
    }
}

/// The one in the middle; not a number if there is none.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = figures.iter().copied().filter(|figure| !figure.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// The least and the most.
pub(crate) fn spread(figures: &[f64]) -> (f64, f64) {
    let least = figures.iter().copied().fold(f64::NAN, f64::min);
    let most = figures.iter().copied().fold(f64::NAN, f64::max);
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, f64::NAN, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_spread_is_from_the_least_to_the_most() {
        assert_eq!(spread(&[3.0, 1.0, 2.0]), (1.0, 3.0));
    }
}
