//! The fence: the number of a grant that only grows.

use std::{fmt, time::Duration};

/// The largest lead of a fence that a node gives out over the node's own time.
pub const AHEAD_AT_MOST: Duration = Duration::from_secs(1);

/// The fencing number of a grant. A later grant of the same resource always has a larger one.
///
/// Pass it to whatever the lock protects, and have that refuse a number smaller than the largest it has seen. Only then
/// is a holder harmless that was frozen for longer than its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    /// Creates a fence of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Returns the time since a server gave out a number, such as a fence or that of an arrival in a queue. It is the server's time
/// in µs then, or one more than the number before. `None` if it is further ahead of the time `now` than numbers get by
/// themselves: then the clock was set back, and nothing is known.
pub(crate) fn since_given(number: u64, now: u64) -> Option<Duration> {
    let ahead = Duration::from_micros(number.saturating_sub(now));
    (ahead <= AHEAD_AT_MOST).then(|| Duration::from_micros(now.saturating_sub(number)))
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_shows_its_number() {
        let fence = Fence::new(7);
        assert_eq!((fence.to_string(), format!("{fence:?}")), ("7".to_owned(), "Fence(7)".to_owned()));
        assert_eq!(fence.get(), 7);
    }

    #[test]
    fn the_time_since_a_number_was_given_out_is_not_known_after_the_clock_was_set_back() {
        const NOW: u64 = 1_700_000_000_000_000;
        let since = |number| since_given(number, NOW);
        assert_eq!(since(NOW - 2_500_000), Some(Duration::from_millis(2_500)));
        assert_eq!(since(NOW + 1_000), Some(Duration::ZERO), "many were given out at once");
        assert_eq!(since(NOW + 1_000_001), None);
    }
}
