//! A point in time on one process's own clock.

use std::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

/// A point in time, counted from an origin that is known only to the clock that returned it.
///
/// Moments of two clocks, or of two machines, must never be compared. There is therefore no way to send one. Unlike
/// [`std::time::Instant`], a moment can be made up, which tests in virtual time need. It may also come from a clock that
/// goes on while the machine is suspended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// Returns the moment this long after the clock's origin.
    pub const fn since_origin(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// Returns the time left from `now` until this moment; zero if it has passed.
    pub const fn remaining(self, now: Self) -> Duration {
        self.0.saturating_sub(now.0)
    }

    /// Returns this moment, or the last one before it that lies a multiple of `tick` after the clock's origin.
    pub(crate) fn on_tick(self, tick: Duration) -> Self {
        // In 64 bits, which are enough for 500 years: every renewal divides, and 128 bits take ten times as long.
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        self - Duration::from_nanos(nanos(self.0) % nanos(tick).max(1))
    }

    pub(crate) const fn time_since_origin(self) -> Duration {
        self.0
    }

    /// Returns the time since the clock's origin in µs.
    pub(crate) fn micros(self) -> u64 {
        u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns the time from this moment until `now`; zero if this moment is still to come.
    pub const fn elapsed(self, now: Self) -> Duration {
        now.remaining(self)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{:?}", self.0)
    }
}

/// Moments for tests.
#[cfg(test)]
pub(crate) mod made_up {
    use super::{Duration, Moment};

    pub(crate) const fn at_millis(millis: u64) -> Moment {
        Moment::since_origin(Duration::from_millis(millis))
    }

    pub(crate) const fn at_secs(secs: u64) -> Moment {
        Moment::since_origin(Duration::from_secs(secs))
    }
}

#[cfg(test)]
mod tests {
    use super::{made_up::at_millis as at, *};

    #[test]
    fn a_tick_is_the_last_multiple_of_its_length() {
        let tick = Duration::from_millis(40);
        for (moment, expected) in [(0, 0), (39, 0), (40, 40), (119, 80)] {
            assert_eq!(at(moment).on_tick(tick), at(expected));
        }
        assert_eq!(at(17).on_tick(Duration::ZERO), at(17));
    }

    #[test]
    fn time_neither_runs_below_zero_nor_overflows() {
        let (early, late) = (at(1_000), at(4_000));
        assert_eq!((early.elapsed(late), late.elapsed(early)), (Duration::from_secs(3), Duration::ZERO));
        assert_eq!((late.remaining(early), early.remaining(late)), (Duration::from_secs(3), Duration::ZERO));
        assert_eq!(early - Duration::from_secs(2), at(0));
        assert!(early + Duration::MAX > late);
        assert_eq!(format!("{early:?}"), "+1s");
        assert_eq!((late.micros(), (early + Duration::MAX).micros()), (4_000_000, u64::MAX));
    }
}
