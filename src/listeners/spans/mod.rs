//! The spans of requests and leases, with the feature `spans`; without it none is made.
//!
//! `acquire` lasts from the arrival of a request until its answer, `lease` from the grant until the end of the lease. With the
//! feature `opentelemetry` a holder's trace travels in its metadata, and whoever waits behind it is linked to it.

#[cfg(feature = "opentelemetry")]
mod trace;

use std::{collections::BTreeMap, time::Duration};

use tracing::{Span, dispatcher, field::Empty, info_span};

use crate::core::{Fence, Mode, ResourceName, Token};

/// The key of a holder's metadata that has its trace, as in the recommendation "Trace Context" of the W3C.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// The resource, the token and the mode of a request or a lease.
type Subject<'a> = (&'a ResourceName, Token, Mode);

/// True if this build makes spans.
const IS_ENABLED: bool = cfg!(feature = "spans");

/// A span that has, or is, a child: the one that a request was made in, and that of the request. Its subscriber may be another
/// one than that of the manager's thread, and the ids of one mean nothing, or something else, to the other.
#[derive(Clone)]
pub(crate) struct FamilySpan(Span);

impl FamilySpan {
    pub(crate) fn current() -> Self {
        Self(if IS_ENABLED { Span::current() } else { Span::none() })
    }

    /// Makes a span with the subscriber of this one.
    fn beside(&self, make: impl Fn() -> Span) -> Span {
        if !IS_ENABLED {
            return Span::none();
        }
        self.0.with_subscriber(|(_, own)| dispatcher::with_default(own, &make)).unwrap_or_else(&make)
    }
}

impl Default for FamilySpan {
    fn default() -> Self {
        Self(Span::none())
    }
}

impl Drop for FamilySpan {
    fn drop(&mut self) {
        let span = std::mem::replace(&mut self.0, Span::none());
        // With a span that closes its parents may close. Subscribers look for them in that of the thread.
        if let Some(own) = span.with_subscriber(|(_, own)| own.clone()) {
            dispatcher::with_default(&own, || drop(span));
        }
    }
}

/// The span of a request, until its answer.
#[derive(Default)]
pub(crate) struct AcquireSpan {
    span: FamilySpan,
    /// The trace of the holder that it was linked to last.
    linked: Option<String>,
}

impl AcquireSpan {
    pub(crate) fn new(caller: &FamilySpan, (resource, token, mode): Subject<'_>) -> Self {
        let token = token.prefix();
        let span = caller.beside(|| {
            info_span!(
                target: "leasehold", parent: &caller.0, "acquire", %resource, %token, %mode,
                fence = Empty, attempts = Empty, wait_seconds = Empty, outcome = Empty
            )
        });
        Self { span: FamilySpan(span), linked: None }
    }

    /// Returns true if it is worth the search for whoever it waits behind.
    pub(crate) fn is_traced(&self) -> bool {
        cfg!(feature = "opentelemetry") && !self.span.0.is_disabled()
    }

    /// Returns its trace, for the metadata of the holder that the request may become.
    pub(crate) fn traceparent(&self) -> Option<String> {
        #[cfg(feature = "opentelemetry")]
        if !self.span.0.is_disabled() {
            return trace::traceparent(&self.span.0);
        }
        None
    }

    /// Returns true if it is linked to the trace of a holder.
    pub(crate) const fn is_linked(&self) -> bool {
        self.linked.is_some()
    }

    /// Links it to the trace of a holder, once. Returns true if it was not linked to it before.
    pub(crate) fn waits_behind(&mut self, holder: &BTreeMap<String, String>) -> bool {
        let theirs = holder.get(TRACEPARENT).filter(|_| self.is_traced());
        let Some(theirs) = theirs.filter(|theirs| self.linked.as_ref() != Some(theirs)) else { return false };
        #[cfg(feature = "opentelemetry")]
        trace::link(&self.span.0, theirs);
        self.linked = Some(theirs.clone());
        true
    }

    pub(crate) fn ended(&self, outcome: &str, (attempts, waited): (u32, Duration), fence: Option<Fence>) {
        if let Some(fence) = fence {
            self.span.0.record("fence", fence.get());
        }
        self.span.0.record("attempts", attempts);
        self.span.0.record("wait_seconds", waited.as_secs_f64());
        self.span.0.record("outcome", outcome);
    }
}

/// The span of a lease, until it is over.
pub(crate) struct LeaseSpan(Span);

impl LeaseSpan {
    pub(crate) fn new(of: &AcquireSpan, (resource, token, mode): Subject<'_>, fence: Option<Fence>) -> Self {
        let token = token.prefix();
        // No child of the caller's span: a subscriber keeps that open for as long as it has children.
        let span = of.span.beside(|| {
            info_span!(
                target: "leasehold", parent: None, "lease", %resource, %token, %mode, fence = Empty, outcome = Empty
            )
        });
        if let Some(fence) = fence {
            span.record("fence", fence.get());
        }
        #[cfg(feature = "opentelemetry")]
        if trace::continue_in(&span, &of.span.0) {
            return Self(span);
        }
        span.follows_from(&of.span.0);
        Self(span)
    }

    /// Takes the span out, which leaves none behind.
    pub(crate) const fn take(&mut self) -> Self {
        Self(std::mem::replace(&mut self.0, Span::none()))
    }

    pub(crate) fn end(self, outcome: &'static str) {
        self.0.record("outcome", outcome);
    }
}
