//! The code that inputs have reached on this thread.

use std::{cell::RefCell, collections::BTreeMap};

thread_local! {
    static REACHED: RefCell<BTreeMap<&'static str, usize>> = RefCell::default();
}

/// Records that something was reached.
pub(crate) fn reach(what: &'static str) {
    REACHED.with_borrow_mut(|reached| *reached.entry(what).or_default() += 1);
}

/// Returns what all inputs so far have reached on this thread, and how often: the functions that decoded an answer to its end, and
/// [`TOLD`] if a server told something unasked.
pub fn reached() -> BTreeMap<&'static str, usize> {
    REACHED.with_borrow(Clone::clone)
}

/// A frame that a server wrote unasked to a connection on which leases are watched.
pub const TOLD: &str = "told unasked";
