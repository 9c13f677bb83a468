//! Defaults that give way: settings that were not set keep within those that were.

use std::time::Duration;

use crate::config::Config;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Moves the settings that were not set out of the way of those that were, so that only settings that were set can
/// contradict each other. `is_said` is given names such as `lease.ttl`.
///
/// The bounds in `limits` stay where they are until they are set: they are there to refuse.
pub(super) fn follow(config: &mut Config, is_said: impl Fn(&str) -> bool) {
    let Config { lease, wait, backoff, limits, supervision, tuner, store: _, read_from: _ } = config;
    lower("lease.ttl", &mut lease.ttl, limits.max_ttl, &is_said);
    raise("wait.ticket_ttl", &mut wait.ticket_ttl, wait.grant_window, HOUR, &is_said);
    raise("backoff.max", &mut backoff.max, backoff.initial, HOUR, &is_said);
    lower("backoff.initial", &mut backoff.initial, backoff.max, &is_said);
    let (pause, longest) = (&mut supervision.restart_pause, &mut supervision.max_restart_pause);
    raise("supervision.max_restart_pause", longest, *pause, MINUTE, &is_said);
    lower("supervision.restart_pause", pause, *longest, &is_said);
    raise("tuner.burst_wait", &mut tuner.burst_wait, tuner.standing_wait, HOUR, &is_said);
    lower("tuner.standing_wait", &mut tuner.standing_wait, tuner.burst_wait, &is_said);
}

/// Raises a bound that was not set to at least `value`, up to `most`.
fn raise(
    setting: &str,
    bound: &mut Duration,
    value: Duration,
    most: Duration,
    is_said: &impl Fn(&str) -> bool,
) {
    if !is_said(setting) {
        *bound = (*bound).max(value.min(most));
    }
}

/// Lowers a value that was not set to at most `bound`. A bound of zero is refused, and nothing is to follow it.
fn lower(setting: &str, value: &mut Duration, bound: Duration, is_said: &impl Fn(&str) -> bool) {
    if !is_said(setting) && !bound.is_zero() {
        *value = (*value).min(bound);
    }
}
