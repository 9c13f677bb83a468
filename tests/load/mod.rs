//! Callers in processes of their own that fight for locks, and the check of what they wrote down.
//!
//! Each process writes down what it held and when; afterwards the histories are put together, and `testing::history`
//! checks them. (One host has one
//! clock since its start, so the moments of its processes can be compared; the library never does that.)

mod caller;
mod crew;
mod marks;
mod plan;
mod repeating;
mod report;
mod worker;

use std::time::Duration;

use leasehold::env::{Clock, Moment, SystemClock};

pub(crate) use self::{
    crew::{Crew, work_if_asked},
    plan::{Kind, Plan},
    report::{Loss, Report, keep},
    worker::{Work, look_for_stalls},
};

/// The capacity of a resource of which permits are taken.
pub(crate) const PERMITS: u32 = 5;

/// The name of a resource.
pub(crate) fn name(resource: usize) -> String {
    format!("load/{resource}")
}

/// Microseconds since the host was started.
pub(crate) fn micros() -> u64 {
    micros_of(SystemClock.now())
}

/// The same of another moment.
pub(crate) fn micros_of(moment: Moment) -> u64 {
    Moment::since_origin(Duration::ZERO).elapsed(moment).as_micros() as u64
}

/// Whether this test program was asked for something of this name: by a filter on its command line, or by none.
pub(crate) fn is_meant(arguments: &[String], name: &str) -> bool {
    let mut filters = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    filters.peek().is_none() || filters.any(|filter| name.contains(filter.as_str()))
}
