//! The figures of a setting that are compared: those of one seed, or their means.

use serde::Serialize;

use crate::laboratory::{report::Report, units};

/// The figures of a setting: of a simulation, or the means of several seeds. Times are in microseconds, in JSON in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// The share of the requests that got their lease.
    #[serde(rename = "success_rate")]
    pub success: f64,
    /// The median of the waits of granted requests.
    #[serde(rename = "waited_p50_seconds", with = "units::micros")]
    pub p50_wait: f64,
    /// The 99th percentile of the waits of granted requests.
    #[serde(rename = "waited_p99_seconds", with = "units::micros")]
    pub p99_wait: f64,
    /// The median of the waits of the other requests.
    #[serde(rename = "waited_in_vain_p50_seconds", with = "units::micros")]
    pub wait_in_vain: f64,
    /// The calls that servers served, for each granted request.
    pub commands: f64,
    /// The processor time of servers, for each granted request.
    #[serde(rename = "server_time_seconds", with = "units::micros")]
    pub server_time: f64,
    /// The share of the attempts that were not granted.
    pub wasted: f64,
}

impl Figures {
    pub(super) const fn of(report: &Report) -> Self {
        Self {
            success: report.success_rate,
            p50_wait: report.waited.p50,
            p99_wait: report.waited.p99,
            wait_in_vain: report.waited_in_vain.p50,
            commands: report.commands,
            server_time: report.server_time,
            wasted: report.wasted,
        }
    }

    /// Returns the means; all zero if there are none.
    pub(super) fn mean(each: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| each.iter().map(of).sum::<f64>() / each.len().max(1) as f64;
        Self {
            success: mean(|it| it.success),
            p50_wait: mean(|it| it.p50_wait),
            p99_wait: mean(|it| it.p99_wait),
            wait_in_vain: mean(|it| it.wait_in_vain),
            commands: mean(|it| it.commands),
            server_time: mean(|it| it.server_time),
            wasted: mean(|it| it.wasted),
        }
    }
}
