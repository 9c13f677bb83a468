//! The spans, as `tracing` knows them: one that no subscriber wants is never made.

use std::time::Duration;

use tracing::{Span, field::Empty, info_span};

#[cfg(feature = "opentelemetry")]
use super::trace;
use super::{Metadata, Subject};
use crate::core::Fence;

/// The span that a request was made in.
#[derive(Clone)]
pub(crate) struct CallerSpan(Span);

impl CallerSpan {
    pub(crate) fn current() -> Self {
        Self(Span::current())
    }
}

impl Default for CallerSpan {
    fn default() -> Self {
        Self(Span::none())
    }
}

/// The span of a request, until its answer.
pub(crate) struct AcquireSpan {
    span: Span,
    /// The trace of the holder that it was linked to last.
    #[cfg(feature = "opentelemetry")]
    linked: Option<String>,
}

impl Default for AcquireSpan {
    fn default() -> Self {
        Self::of(Span::none())
    }
}

impl AcquireSpan {
    pub(crate) fn new(caller: &CallerSpan, Subject { resource, token, mode }: Subject<'_>) -> Self {
        Self::of(info_span!(
            target: "leasehold", parent: &caller.0, "acquire", %resource, %token, %mode,
            fence = Empty, attempts = Empty, wait_seconds = Empty, outcome = Empty
        ))
    }

    const fn of(span: Span) -> Self {
        Self {
            span,
            #[cfg(feature = "opentelemetry")]
            linked: None,
        }
    }

    /// Returns true if it is worth the search for whoever it waits behind.
    pub(crate) fn is_traced(&self) -> bool {
        cfg!(feature = "opentelemetry") && !self.span.is_disabled()
    }

    /// Returns its trace, for the metadata of the holder that the request may become.
    pub(crate) fn traceparent(&self) -> Option<String> {
        #[cfg(feature = "opentelemetry")]
        if !self.span.is_disabled() {
            return trace::traceparent(&self.span);
        }
        None
    }

    /// Links it to the trace of a holder, once.
    pub(crate) fn waits_behind(&mut self, holder: &Metadata) {
        #[cfg(feature = "opentelemetry")]
        if let Some(theirs) = holder.get(super::TRACEPARENT)
            && self.linked.as_ref() != Some(theirs)
            && !self.span.is_disabled()
        {
            trace::link(&self.span, theirs);
            self.linked = Some(theirs.clone());
        }
        #[cfg(not(feature = "opentelemetry"))]
        let _ = holder;
    }

    pub(crate) fn granted(&self, attempts: u32, waited: Duration, fence: Option<Fence>) {
        if let Some(fence) = fence {
            self.span.record("fence", fence.get());
        }
        self.answered("granted", attempts, waited);
    }

    pub(crate) fn ended(&self, outcome: &'static str, attempts: u32, waited: Duration) {
        self.answered(outcome, attempts, waited);
    }

    fn answered(&self, outcome: &'static str, attempts: u32, waited: Duration) {
        self.span.record("attempts", attempts);
        self.span.record("wait_seconds", waited.as_secs_f64());
        self.span.record("outcome", outcome);
    }
}

/// The span of a lease, until it is over.
pub(crate) struct LeaseSpan(Span);

impl LeaseSpan {
    pub(crate) fn new(
        acquire: &AcquireSpan,
        Subject { resource, token, mode }: Subject<'_>,
        fence: Option<Fence>,
    ) -> Self {
        // No child of the caller's span: a subscriber keeps that open for as long as it has children.
        let span = info_span!(
            target: "leasehold", parent: None, "lease", %resource, %token, %mode, fence = Empty, outcome = Empty
        );
        if let Some(fence) = fence {
            span.record("fence", fence.get());
        }
        #[cfg(feature = "opentelemetry")]
        trace::continue_in(&span, &acquire.span);
        #[cfg(not(feature = "opentelemetry"))]
        span.follows_from(&acquire.span);
        Self(span)
    }

    /// Takes the span out, which leaves none behind.
    pub(crate) const fn take(&mut self) -> Self {
        Self(std::mem::replace(&mut self.0, Span::none()))
    }

    /// Ends the span with this outcome.
    pub(crate) fn end(self, outcome: &'static str) {
        self.0.record("outcome", outcome);
    }
}
