//! The spans of requests and leases, with the feature `spans`; without it, nothing at no cost.
//!
//! `acquire` lasts from the arrival of a request until its answer, `lease` from the grant until the end of the lease. With the
//! feature `opentelemetry` a holder's trace travels in its metadata, and whoever waits behind it is linked to it.

#[cfg(not(feature = "spans"))]
mod disabled;
#[cfg(feature = "spans")]
mod enabled;
#[cfg(feature = "opentelemetry")]
mod trace;

use std::collections::BTreeMap;

#[cfg(not(feature = "spans"))]
pub(crate) use self::disabled::{AcquireSpan, CallerSpan, LeaseSpan};
#[cfg(feature = "spans")]
pub(crate) use self::enabled::{AcquireSpan, CallerSpan, LeaseSpan};
use crate::core::{Mode, ResourceName, TokenPrefix};

/// The key of a holder's metadata that has its trace, as in the recommendation "Trace Context" of the W3C.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// The metadata of a holder.
type Metadata = BTreeMap<String, String>;

/// The subject of a span.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "spans"), expect(dead_code, reason = "without spans nobody is told of it"))]
pub(crate) struct Subject<'a> {
    pub(crate) resource: &'a ResourceName,
    pub(crate) token: TokenPrefix,
    pub(crate) mode: Mode,
}
