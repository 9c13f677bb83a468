//! The terms of a lease: what was requested, and what the store answered.

use std::{sync::Arc, time::Duration};

use actix::Recipient;

use crate::{
    core::{Moment, RenewalPlan},
    lease::{LeaseEvent, RecordKey},
    listeners::{spans::AcquireSpan, statistics::Class},
    store::{Acquisition, Grant},
};

/// Everything that is needed to make a lease.
pub(crate) struct LeaseTerms<'a> {
    pub(crate) record: RecordKey,
    pub(crate) acquisition: Arc<Acquisition>,
    pub(crate) plan: RenewalPlan,
    pub(crate) min_hold: Duration,
    pub(crate) handed_out: bool,
    pub(crate) events: Option<Recipient<LeaseEvent>>,
    /// The class under which it is counted.
    pub(crate) class: Option<Class>,
    /// The span of the request.
    pub(crate) span: &'a AcquireSpan,
    /// The moment at which it was requested.
    pub(crate) sent: Moment,
    pub(crate) grant: Grant,
}
