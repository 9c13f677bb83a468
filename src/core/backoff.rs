//! The pause between two attempts: exponential, bounded, with jitter.

use std::time::Duration;

use crate::core::{InvalidValue, ensure, exact};

pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// The jitter of a pause, so that waiters that failed together do not come back together.
///
/// The names and formulas are those of Marc Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// The computed pause, exactly.
    None,
    /// Half of the pause is fixed, the other half is random.
    #[default]
    Equal,
    /// A random time between zero and the pause.
    Full,
}

/// The backoff between attempts: the first pause, doubled (or multiplied by another factor) up to a maximum, for a number
/// of attempts.
///
/// # Default
/// 100 ms, at most 1 s, multiplier 2, equal jitter, as many attempts as the wait allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    pub(crate) initial: Duration,
    pub(crate) max: Duration,
    pub(crate) multiplier: f64,
    pub(crate) attempts: Option<u32>,
    pub(crate) jitter: Jitter,
}

impl Backoff {
    /// The preset for a flash sale: 80 ms, at most 500 ms, 3 attempts. After that the user is told at once.
    pub const FLASH_SALE: Self = Self::preset(80, 500, Some(3));
    /// The preset for a scheduled job: 150 ms, at most 3 s, 5 attempts. After that log, alert, compensate.
    pub const SCHEDULED_JOB: Self = Self::preset(150, 3_000, Some(5));
    /// The default: 100 ms, at most 1 s, as many attempts as the wait allows.
    pub const DEFAULT: Self = Self::preset(100, 1_000, None);

    const fn preset(initial_ms: u64, max_ms: u64, attempts: Option<u32>) -> Self {
        Self {
            initial: Duration::from_millis(initial_ms),
            max: Duration::from_millis(max_ms),
            multiplier: 2.0,
            attempts,
            jitter: Jitter::Equal,
        }
    }

    /// Creates a backoff with pauses that start at `initial` and double up to `max`.
    ///
    /// # Errors
    /// [`InvalidValue`] when `initial` is zero or larger than `max`, or `max` is over an hour.
    pub fn new(initial: Duration, max: Duration) -> Result<Self, InvalidValue> {
        Self { initial, max, ..Self::DEFAULT }.checked()
    }

    /// Sets the factor from one pause to the next. Default: 2.
    ///
    /// # Errors
    /// [`InvalidValue`] unless it is between 1 and 10.
    pub fn multiplier(self, multiplier: f64) -> Result<Self, InvalidValue> {
        Self { multiplier, ..self }.checked()
    }

    /// Sets the largest number of attempts, the first included. Default: unlimited.
    ///
    /// # Errors
    /// [`InvalidValue`] when it is zero.
    pub fn attempts(self, attempts: u32) -> Result<Self, InvalidValue> {
        Self { attempts: Some(attempts), ..self }.checked()
    }

    /// Sets the jitter of the pauses. Default: [`Jitter::Equal`].
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Returns the first pause.
    pub const fn initial(&self) -> Duration {
        self.initial
    }

    /// Returns the longest pause.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// Returns the factor from one pause to the next, which [`multiplier`](Self::multiplier) sets.
    pub const fn factor(&self) -> f64 {
        self.multiplier
    }

    /// Returns the jitter of the pauses, which [`jitter`](Self::jitter) sets.
    pub const fn jitter_of_pauses(&self) -> Jitter {
        self.jitter
    }

    fn checked(self) -> Result<Self, InvalidValue> {
        self.check()?;
        Ok(self)
    }

    /// Checks every bound, and the relation between the two pauses.
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let Self { initial, max, multiplier, attempts, jitter: _ } = *self;
        if initial.is_zero() || initial > max {
            let allowed = format!("more than zero, and at most backoff.max ({})", exact(max));
            return Err(InvalidValue::new("backoff.initial", exact(initial), allowed));
        }
        if max > LONGEST_PAUSE {
            let allowed = format!("at most {}", exact(LONGEST_PAUSE));
            return Err(InvalidValue::new("backoff.max", exact(max), allowed));
        }
        ensure((1.0..=10.0).contains(&multiplier), "backoff.multiplier", multiplier, "1 to 10")?;
        ensure(attempts != Some(0), "backoff.attempts", 0, "1 or more")
    }

    /// Returns the largest number of attempts; `None` is unlimited.
    pub const fn max_attempts(&self) -> Option<u32> {
        self.attempts
    }

    /// Returns the pause after the `made`-th attempt (1 is the first), given a random `draw` in `0.0..1.0`. Returns
    /// `None` if that was the last attempt.
    pub fn pause(&self, made: u32, draw: f64) -> Option<Duration> {
        if self.attempts.is_some_and(|most| made >= most) {
            return None;
        }
        let exponent = i32::try_from(made.saturating_sub(1)).unwrap_or(i32::MAX);
        // An overflow is infinite and `min` takes it down to the maximum, so the product is always a valid duration.
        let grown = self.initial.as_secs_f64() * self.multiplier.powi(exponent);
        let pause = grown.min(self.max.as_secs_f64());
        let jittered = match self.jitter {
            Jitter::None => pause,
            Jitter::Equal => pause / 2.0 + pause / 2.0 * draw,
            Jitter::Full => pause * draw,
        };
        Some(Duration::from_secs_f64(jittered))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(backoff: Backoff, draw: f64) -> Vec<u128> {
        (1..).map_while(|made| backoff.pause(made, draw)).take(8).map(|pause| pause.as_millis()).collect()
    }

    #[test]
    fn pauses_double_up_to_the_maximum_and_end_with_the_attempts_and_jitter_stays_within_its_bounds() {
        use Jitter::{Equal, Full, None};
        for (backoff, jitter, draw, expected) in [
            (Backoff::FLASH_SALE, None, 0.3, &[80, 160][..]),
            (Backoff::SCHEDULED_JOB, None, 0.3, &[150, 300, 600, 1200]),
            (Backoff::DEFAULT, None, 0.3, &[100, 200, 400, 800, 1000, 1000, 1000, 1000]),
            (Backoff::FLASH_SALE, Equal, 0.0, &[40, 80]),
            (Backoff::FLASH_SALE, Equal, 0.5, &[60, 120]),
            (Backoff::FLASH_SALE, Full, 0.0, &[0, 0]),
            (Backoff::FLASH_SALE, Full, 0.5, &[40, 80]),
        ] {
            assert_eq!(pauses(backoff.jitter(jitter), draw), expected, "{backoff:?} {draw}");
        }
        let hundred_thousandth = Backoff::DEFAULT.jitter(None).pause(u32::MAX, 0.0);
        assert_eq!(hundred_thousandth, Some(Duration::from_secs(1)));
    }

    #[test]
    fn presets_are_valid_and_the_default_is_one_of_them() {
        for (preset, initial, max, attempts) in [
            (Backoff::default(), 100, 1_000, None),
            (Backoff::FLASH_SALE, 80, 500, Some(3)),
            (Backoff::SCHEDULED_JOB, 150, 3_000, Some(5)),
        ] {
            let millis = [preset.initial, preset.max].map(|pause| pause.as_millis());
            assert_eq!((preset.check(), millis, preset.max_attempts()), (Ok(()), [initial, max], attempts));
            assert_eq!((preset.factor(), preset.jitter_of_pauses()), (2.0, Jitter::Equal));
        }
    }

    #[test]
    fn a_value_out_of_its_bounds_is_refused_by_name_and_a_contradiction_by_both() {
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3_600));
        let backoff = || Backoff::new(second, second).unwrap();
        for (refused, field) in [
            (Backoff::new(Duration::ZERO, second), "backoff.initial"),
            (Backoff::new(second, hour + second), "backoff.max"),
            (backoff().multiplier(0.9), "backoff.multiplier"),
            (backoff().multiplier(10.1), "backoff.multiplier"),
            (backoff().attempts(0), "backoff.attempts"),
        ] {
            assert_eq!(refused.unwrap_err().field, field);
        }
        let contradiction = Backoff::new(2 * second, second).unwrap_err().to_string();
        let both = "invalid backoff.initial: 2s (allowed: more than zero, and at most backoff.max (1s))";
        assert_eq!(contradiction, both);
        assert_eq!(pauses(backoff().multiplier(10.0).unwrap().attempts(2).unwrap(), 1.0), [1_000]);
    }

    #[test]
    fn the_longest_pause_is_allowed_and_none_that_is_longer() {
        let with = |max| Backoff { max, ..Backoff::DEFAULT }.check();
        assert_eq!(with(LONGEST_PAUSE), Ok(()));
        assert!(with(LONGEST_PAUSE + Duration::from_millis(1)).is_err());
    }
}
