//! The fence: the number of a grant that only grows.

use std::fmt;

/// The fencing number of a grant. A later grant of the same resource always has a larger one.
///
/// Pass it to whatever the lock protects, and have that refuse a number smaller than the largest it has seen. Only then
/// is a holder harmless that was frozen for longer than its lease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fence({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_shows_its_number() {
        let fence = Fence::new(7);
        assert_eq!((fence.to_string(), format!("{fence:?}")), ("7".to_owned(), "Fence(7)".to_owned()));
    }
}
