//! Defaults that give way: what nobody set keeps within what somebody did.

use std::time::Duration;

use super::Config;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Moves what was not said out of the way of what was, so that only settings which were said can contradict each other.
/// `is_said` is told settings as `lease.ttl`.
///
/// The bounds in `limits` stay where they are until they are said: they are there to refuse.
pub(super) fn follow(config: &mut Config, is_said: impl Fn(&str) -> bool) {
    let Config { lease, wait, backoff, limits, supervision, store: _ } = config;
    lower("lease.ttl", &mut lease.ttl, limits.max_ttl, &is_said);
    raise("wait.patience", &mut wait.patience, wait.grant_window, HOUR, &is_said);
    raise("backoff.max", &mut backoff.max, backoff.initial, HOUR, &is_said);
    lower("backoff.initial", &mut backoff.initial, backoff.max, &is_said);
    let (pause, longest) = (&mut supervision.restart_pause, &mut supervision.max_restart_pause);
    raise("supervision.max_restart_pause", longest, *pause, MINUTE, &is_said);
    lower("supervision.restart_pause", pause, *longest, &is_said);
}

/// A bound that was not said is at least `value`, up to the most that it may be.
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

/// A value that was not said is at most `bound`. A bound of zero is refused, and nothing is to follow it.
fn lower(setting: &str, value: &mut Duration, bound: Duration, is_said: &impl Fn(&str) -> bool) {
    if !is_said(setting) && !bound.is_zero() {
        *value = (*value).min(bound);
    }
}
