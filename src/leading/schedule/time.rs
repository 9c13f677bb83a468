//! Times in milliseconds since 1970, by the clock of the store.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::core::{InvalidValue, ensure, exact};

/// A time in milliseconds since 1970, by the clock of the store.
pub(super) type Millis = u64;

/// The latest time that a schedule knows: the end of the year 9999. Nobody can show a later one.
pub(super) const LATEST: Millis = 253_402_300_799_999;

/// The time from one tick to the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    /// Its first moment, that of a tick. `None`: no tick was before.
    pub(super) last: Option<Millis>,
    /// The moment after it, that of the next tick. `None`: no tick comes any more.
    pub(super) next: Option<Millis>,
}

pub(super) fn millis(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).unwrap_or(Millis::MAX)
}

/// Returns a time in milliseconds, of which it has to be made.
pub(super) fn whole_millis(field: &str, time: Duration) -> Result<Millis, InvalidValue> {
    ensure(time.subsec_nanos().is_multiple_of(1_000_000), field, exact(time), "whole milliseconds")?;
    Ok(millis(time))
}

pub(super) fn check_time(field: &str, time: Millis) -> Result<(), String> {
    if time <= LATEST { Ok(()) } else { Err(format!("{field} is {time}, after the year 9999")) }
}

/// Returns a time that was checked: no later than [`LATEST`].
pub(super) fn time_of(millis: Millis) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}
