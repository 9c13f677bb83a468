//! A register: one value beside the locks, written by compare-and-set, and read with the time of the store.

use std::time::Duration;

use crate::core::Token;
#[cfg(doc)]
use crate::store::Store;

/// A write to a register: the second argument of [`Store::register`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterWrite {
    /// The revision that the register must have. `None`: it must not exist.
    pub expected: Option<Token>,
    /// The revision that it gets: a new random token. A repeat of the write is known by it.
    pub revision: Token,
    /// The new value.
    pub value: String,
    /// The time of the store before which nothing is written, as in [`Register::now`].
    pub not_before: Duration,
}

/// The answer of [`Store::register`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The result of the write.
    pub verdict: RegisterVerdict,
    /// The store's time, since 1970.
    pub now: Duration,
    /// The revision after the call; `None` if there is no such register.
    pub revision: Option<Token>,
    /// The value after the call; empty if there is no such register.
    pub value: String,
}

/// The result of a write to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterVerdict {
    /// Nothing was to be written.
    Read,
    /// It was written by this call, or by an earlier one of the same write that nobody has written over.
    Written,
    /// Nothing was written: it has another revision than the expected one.
    Changed,
    /// Nothing was written: the time for it has not come.
    Early,
}

/// The shortest time for which a register is kept after it was last used. A store may keep it for a day more.
pub const REGISTER_KEPT_FOR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
