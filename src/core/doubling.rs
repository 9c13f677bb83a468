//! Pauses that double: the back-off of everything that tries again by itself.

use std::time::Duration;

/// Pauses that double from the first up to the longest.
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

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again() {
        let mut doubling = Doubling::new(Duration::from_millis(10), Duration::from_millis(50));
        let mut pauses = || doubling.next().as_millis();
        assert_eq!([pauses(), pauses(), pauses(), pauses(), pauses()], [10, 20, 40, 50, 50]);
        doubling.reset();
        assert_eq!((doubling.next().as_millis(), doubling.first().as_millis()), (10, 10));
    }

    #[test]
    fn pauses_without_a_longest_do_not_overflow() {
        let mut doubling = Doubling::new(Duration::from_secs(1), Duration::MAX);
        let last = (0..200).map(|_| doubling.next()).last();
        assert_eq!(last, Some(Duration::from_secs(u32::MAX.into())));
    }
}
