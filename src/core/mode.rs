//! The mode of a lease: the share of a resource that it takes.

use std::{fmt, num::NonZeroU32};

use crate::core::InvalidValue;

/// The share of its resource that a lease takes. As in `tokio::sync`, every lock is a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// The whole resource: conflicts with every other holder, of any mode.
    Exclusive,
    /// One of an unlimited number of shares: conflicts with exclusive holders.
    Shared,
    /// `count` of the `of` permits that the resource has: conflicts when the sum of all holders would exceed `of`.
    Permits {
        /// The number of permits that are taken.
        count: NonZeroU32,
        /// The number of permits of the resource. All users of the resource must name the same number.
        of: NonZeroU32,
    },
}

impl Mode {
    /// Creates a mode of `count` permits out of `of`.
    ///
    /// # Errors
    /// [`InvalidValue`] when one of them is zero, or `count` is larger than `of`.
    pub fn permits(count: u32, of: u32) -> Result<Self, InvalidValue> {
        match (NonZeroU32::new(count), NonZeroU32::new(of)) {
            (Some(taken), Some(capacity)) if taken <= capacity => {
                Ok(Self::Permits { count: taken, of: capacity })
            }
            _ => {
                let allowed = "1 or more, and at most the capacity";
                Err(InvalidValue::new("permits", format_args!("{count} of {of}"), allowed))
            }
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclusive => f.write_str("exclusive"),
            Self::Shared => f.write_str("shared"),
            Self::Permits { count, of } => write!(f, "{count} of {of} permits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_at_least_one_and_at_most_the_capacity_and_every_mode_reads_as_a_word() {
        for (count, of) in [(0, 3), (4, 3), (1, 0), (0, 0)] {
            let refused = Mode::permits(count, of).unwrap_err();
            assert_eq!((refused.field.as_str(), refused.value), ("permits", format!("{count} of {of}")));
        }
        for (count, of) in [(1, 1), (1, 3), (3, 3)] {
            assert_eq!(Mode::permits(count, of).unwrap().to_string(), format!("{count} of {of} permits"));
        }
        assert_eq!([Mode::Exclusive, Mode::Shared].map(|mode| mode.to_string()), ["exclusive", "shared"]);
    }
}
