//! The same workload, heavier than it was thought to be.

use std::time::Duration;

use leasehold::ConfigError;

use super::{Arrivals, Bucket, Times, TracedTurn, Workload};

impl Workload {
    /// Returns the workload with so many times the requests in a time, and locks that are held for so many times as long. The
    /// requests of a trace are the same ones, in less time.
    pub(crate) fn scaled(&self, requests: f64, holds: f64) -> Result<Self, ConfigError> {
        let traced = |it: &TracedTurn| TracedTurn {
            at: it.at.div_f64(requests),
            hold: it.hold.map(|hold| hold.mul_f64(holds)),
            ..it.clone()
        };
        let scaled = Self {
            arrivals: self.arrivals.scaled(requests),
            hold: self.hold.scaled(holds),
            trace: self.trace.iter().map(traced).collect(),
            ..self.clone()
        };
        scaled.check()?;
        Ok(scaled)
    }
}

impl Arrivals {
    fn scaled(&self, times: f64) -> Self {
        let count = |count: u32| (f64::from(count) * times).round() as u32;
        match self.clone() {
            Self::Constant { rate } => Self::Constant { rate: rate * times },
            Self::Poisson { rate } => Self::Poisson { rate: rate * times },
            Self::Bursts { every, size, within } => Self::Bursts { every, size: count(size), within },
            Self::Callers { callers, pause } => Self::Callers { callers: count(callers), pause },
            trace @ Self::Trace { .. } => trace,
        }
    }
}

impl Times {
    fn scaled(&self, times: f64) -> Self {
        let longer = |time: Duration| time.mul_f64(times);
        match self.clone() {
            Self::Constant { time } => Self::Constant { time: longer(time) },
            Self::Exponential { mean } => Self::Exponential { mean: longer(mean) },
            Self::LogNormal { median, p99 } => Self::LogNormal { median: longer(median), p99: longer(p99) },
            Self::Recorded { buckets } => {
                let bucket = |Bucket { up_to, count }| Bucket { up_to: longer(up_to), count };
                Self::Recorded { buckets: buckets.into_iter().map(bucket).collect() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_workload_has_more_requests_and_longer_holds() {
        let text = "duration = '1s'\narrivals = { kind = 'bursts', every = '1s', size = 40 }\n\
                    hold = { kind = 'log_normal', median = '8ms', p99 = '20ms' }";
        let workload = Workload::from_toml(text, &[]).unwrap();
        let scaled = workload.scaled(1.25, 1.5).unwrap();
        let expected = [("arrivals.size", "50"), ("hold.median", "12ms"), ("hold.p99", "30ms")];
        assert_eq!(scaled, Workload::from_toml(text, &expected).unwrap());
        let error = workload.scaled(1e9, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("invalid arrivals.size"), "{error}");
    }
}
