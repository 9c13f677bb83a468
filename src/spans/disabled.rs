//! The spans without the feature `spans`.

use std::time::Duration;

use super::{Metadata, Subject};
use crate::core::Fence;

/// Nothing, in place of the span that a request was made in.
#[derive(Clone, Default)]
pub(crate) struct CallerSpan;

impl CallerSpan {
    pub(crate) const fn current() -> Self {
        Self
    }
}

/// Nothing, in place of the span of a request.
#[derive(Default)]
pub(crate) struct AcquireSpan;

impl AcquireSpan {
    pub(crate) const fn new(_: &CallerSpan, _: Subject<'_>) -> Self {
        Self
    }

    pub(crate) const fn is_traced(&self) -> bool {
        false
    }

    pub(crate) const fn traceparent(&self) -> Option<String> {
        None
    }

    pub(crate) const fn is_linked(&self) -> bool {
        false
    }

    pub(crate) const fn waits_behind(&mut self, _: &Metadata) -> bool {
        false
    }

    pub(crate) const fn granted(&self, _: u32, _: Duration, _: Option<Fence>) {}

    pub(crate) const fn ended(&self, _: &'static str, _: u32, _: Duration) {}
}

/// Nothing, in place of the span of a lease.
pub(crate) struct LeaseSpan;

impl LeaseSpan {
    pub(crate) const fn new(_: &AcquireSpan, _: Subject<'_>, _: Option<Fence>) -> Self {
        Self
    }

    pub(crate) const fn take(&mut self) -> Self {
        Self
    }

    pub(crate) const fn end(self, _: &'static str) {}
}
