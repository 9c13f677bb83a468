//! The spans of requests and leases, with the feature `spans`; without it none is made.
//!
//! `acquire` lasts from the arrival of a request until its answer, `lease` from the grant until the end of the lease. With the
//! feature `opentelemetry` a holder's trace travels in its metadata, and whoever waits behind it is linked to it.

mod kinds;
#[cfg(feature = "opentelemetry")]
mod trace;

pub(crate) use self::kinds::{AcquireSpan, CallerSpan, LeaseSpan};
use crate::core::{Mode, ResourceName, TokenPrefix};

/// The key of a holder's metadata that has its trace, as in the recommendation "Trace Context" of the W3C.
pub(crate) const TRACEPARENT: &str = "traceparent";

#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) resource: &'a ResourceName,
    pub(crate) token: TokenPrefix,
    pub(crate) mode: Mode,
}
