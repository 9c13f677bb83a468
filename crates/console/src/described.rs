//! The shapes of JSON that the library writes, for the description of the API: its own types know nothing of descriptions.
#![expect(dead_code, reason = "nobody makes a value of a shape")]

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// The counters of a manager.
#[derive(ToSchema)]
pub(crate) struct Statistics {
    requests: u64,
    attempts: u64,
    granted: u64,
    refused: u64,
    timed_out: u64,
    cancelled: u64,
    failed: BTreeMap<String, u64>,
    pending: u64,
    held: u64,
    released: u64,
    releases_unconfirmed: u64,
    lost: BTreeMap<String, u64>,
    renewals: u64,
    missed_renewals: u64,
    near_misses: u64,
    renewer_restarts: u64,
    manager_restarts: u64,
    reclaimed: u64,
    retries: Distribution,
    waited_seconds: Seconds,
    held_seconds: Seconds,
    last_minute: Summary,
    last_hour: Summary,
    classes: BTreeMap<String, Summary>,
}

/// The load of a span of time.
#[derive(ToSchema)]
pub(crate) struct Summary {
    requests: u64,
    granted: u64,
    refused: u64,
    timed_out: u64,
    cancelled: u64,
    failed: u64,
    released: u64,
    lost: u64,
    renewals: u64,
    missed_renewals: u64,
    near_misses: u64,
    smallest_validity_left_seconds: Option<f64>,
    longest_renewal_lag_seconds: Option<f64>,
    waited_seconds: Seconds,
    held_seconds: Seconds,
}

/// A distribution of counts.
#[derive(ToSchema)]
pub(crate) struct Distribution {
    count: u64,
    mean: f64,
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
}

/// A distribution of times.
#[derive(ToSchema)]
pub(crate) struct Seconds {
    count: u64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

/// The findings of an examination, the worst first.
#[derive(ToSchema)]
pub(crate) struct Examination {
    deployment: String,
    servers: Vec<String>,
    findings: Vec<Finding>,
}

/// One thing that is not as it should be.
#[derive(ToSchema)]
pub(crate) struct Finding {
    severity: Severity,
    check: String,
    /// The server; `null` if it is about the deployment as a whole.
    server: Option<String>,
    found: String,
    advice: String,
}

/// The severity of a finding.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Severity {
    Notice,
    Warning,
    Critical,
}
