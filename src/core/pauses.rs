//! The pauses of a request, by the built-in backoff or a function of the application; and those of all else that tries again.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use crate::core::{Backoff, InvalidValue, LONGEST_PAUSE};

/// A function of the application that says how long to pause after the attempt of this number, given a random number.
type Function = Arc<dyn Fn(u32, f64) -> Option<Duration> + Send + Sync>;

/// The pauses between the attempts of a request.
#[derive(Clone)]
pub(crate) enum Pauses {
    BuiltIn(Backoff),
    Own {
        function: Function,
        attempts: Option<u32>,
        /// True if the function is for one request, and may end it after as many attempts as it likes.
        ends: bool,
    },
}

impl Pauses {
    /// Creates the pauses of one request by a function.
    pub(crate) fn by(function: impl Fn(u32, f64) -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self::Own { function: Arc::new(function), attempts: None, ends: true }
    }

    /// Creates the pauses of all requests by a function. It knows nothing of a single one, so attempts do not count.
    pub(crate) fn of_all_by(function: impl Fn(u32, f64) -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self::Own { function: Arc::new(function), attempts: None, ends: false }
    }

    pub(crate) fn attempts(self, most: u32) -> Result<Self, InvalidValue> {
        // Both kinds refuse the same number in the same words.
        let checked = Backoff::DEFAULT.attempts(most)?;
        Ok(match self {
            Self::BuiltIn(backoff) => Self::BuiltIn(backoff.attempts(most)?),
            Self::Own { function, ends, .. } => Self::Own { function, attempts: checked.attempts, ends },
        })
    }

    /// Returns true if the number of attempts is limited, so that each of them counts, and nobody else may attempt instead.
    pub(crate) const fn count_attempts(&self) -> bool {
        match self {
            Self::BuiltIn(backoff) => backoff.max_attempts().is_some(),
            Self::Own { attempts, ends, .. } => *ends || attempts.is_some(),
        }
    }

    /// Returns true if the first attempt is the last one. A function is asked, with a random number.
    pub(crate) fn are_none(&self, draw: impl FnOnce() -> f64) -> bool {
        match self {
            Self::BuiltIn(backoff) => backoff.max_attempts() == Some(1),
            Self::Own { .. } => self.pause(1, draw()).is_none(),
        }
    }

    /// Returns the pause after the `made`-th attempt, given a random `draw` in `0.0..1.0`; `None` after the last attempt.
    pub(crate) fn pause(&self, made: u32, draw: f64) -> Option<Duration> {
        match self {
            Self::BuiltIn(backoff) => backoff.pause(made, draw),
            Self::Own { attempts: Some(most), .. } if made >= *most => None,
            Self::Own { function, .. } => {
                // A function that panics must not cost others their locks.
                let pause = catch_unwind(AssertUnwindSafe(|| function(made, draw)));
                let pause = pause.unwrap_or_else(|_| Backoff::DEFAULT.pause(made, draw));
                pause.map(|pause| pause.min(LONGEST_PAUSE))
            }
        }
    }
}

impl From<Backoff> for Pauses {
    fn from(backoff: Backoff) -> Self {
        Self::BuiltIn(backoff)
    }
}

impl fmt::Debug for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(backoff) => backoff.fmt(f),
            Self::Own { attempts, .. } => {
                f.debug_struct("Own").field("attempts", attempts).finish_non_exhaustive()
            }
        }
    }
}

/// Pauses that double from the first up to the longest: the back-off of everything that tries again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doubling {
    first: Duration,
    longest: Duration,
    made: u32,
}

impl Doubling {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, made: 0 }
    }

    pub(crate) const fn first(&self) -> Duration {
        self.first
    }

    pub(crate) const fn longest(&self) -> Duration {
        self.longest
    }

    /// Returns the pause after so many others: at most 2^32 - 1 times the first one.
    pub(crate) fn after(&self, made: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(made)).min(self.longest)
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.after(self.made);
        self.made = self.made.saturating_add(1);
        pause
    }

    /// Begins again with the first pause.
    pub(crate) const fn reset(&mut self) {
        self.made = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(pauses: &Pauses) -> Vec<Option<u128>> {
        (1..=3).map(|made| pauses.pause(made, 0.5).map(|pause| pause.as_millis())).collect()
    }

    #[test]
    fn a_function_is_given_the_number_of_attempts_and_the_draw() {
        let linear = |made: u32, draw: f64| Some(Duration::from_millis(100).mul_f64(f64::from(made) * draw));
        assert_eq!(millis(&Pauses::by(linear)), [Some(50), Some(100), Some(150)]);
        assert_eq!(millis(&Pauses::by(linear).attempts(2).unwrap()), [Some(50), None, None]);
        assert_eq!(Pauses::by(linear).attempts(0).unwrap_err().field, "backoff.attempts");
    }

    #[test]
    fn a_function_is_held_to_pauses_of_an_hour_and_replaced_by_the_built_in_ones_where_it_panics() {
        let endless = Pauses::by(|_, _| Some(Duration::MAX));
        assert_eq!(endless.pause(1, 0.0), Some(Duration::from_secs(3600)));
        let panics = Pauses::by(|made, _| if made == 2 { panic!("a test") } else { None });
        assert_eq!(millis(&panics), [None, Some(150), None]);
    }

    #[test]
    fn attempts_count_if_there_may_be_a_last_one() {
        let built_in = Pauses::from(Backoff::DEFAULT);
        assert!(!built_in.count_attempts() && built_in.clone().attempts(3).unwrap().count_attempts());
        assert!(Pauses::by(|_, _| None).count_attempts());
        let of_all = Pauses::of_all_by(|_, _| None);
        assert!(!of_all.count_attempts() && of_all.attempts(3).unwrap().count_attempts());
        assert!(!built_in.are_none(|| 0.5) && built_in.attempts(1).unwrap().are_none(|| 0.5));
    }

    #[test]
    fn a_function_is_asked_whether_there_is_a_second_attempt() {
        let seldom = Pauses::by(|made, draw| (made == 1 && draw > 0.7).then_some(Duration::ZERO));
        assert!(seldom.are_none(|| 0.5) && !seldom.are_none(|| 0.8));
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again_and_do_not_overflow_without_a_longest() {
        let mut doubling = Doubling::new(Duration::from_millis(10), Duration::from_millis(50));
        let mut pauses = || doubling.next().as_millis();
        assert_eq!([pauses(), pauses(), pauses(), pauses(), pauses()], [10, 20, 40, 50, 50]);
        doubling.reset();
        assert_eq!((doubling.next().as_millis(), doubling.first().as_millis()), (10, 10));
        let mut endless = Doubling::new(Duration::from_secs(1), Duration::MAX);
        let last = (0..200).map(|_| endless.next()).last();
        assert_eq!(last, Some(Duration::from_secs(u32::MAX.into())));
    }

    #[test]
    fn pauses_show_what_they_are_made_of() {
        let own = format!("{:?}", Pauses::by(|_, _| None).attempts(3).unwrap());
        assert_eq!(own, "Own { attempts: Some(3), .. }");
        assert!(format!("{:?}", Pauses::from(Backoff::DEFAULT)).contains("Backoff"));
    }
}
