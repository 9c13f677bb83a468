//! The trace without the feature `tuning`: nothing, at no cost.

use crate::{core::Moment, lease::RecordKey, manager::LockManager, statistics::RequestEnd};

impl LockManager {
    pub(crate) fn trace_ended(&self, _: RecordKey, _: RequestEnd, _: Moment) {}

    pub(crate) fn trace_over(&self, _: RecordKey, _: Moment) {}
}
