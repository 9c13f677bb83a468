//! The terms of a lease, as they were requested.

use std::{sync::Arc, time::Duration};

use actix::Recipient;

use crate::{
    core::{Mode, Moment, RenewalPlan},
    lease::LeaseEvent,
    store::{Hold, Metadata},
};

/// Everything that is needed to make a lease besides the answer of the store.
pub(crate) struct LeaseTerms {
    pub(crate) hold: Hold,
    pub(crate) mode: Mode,
    pub(crate) ttl: Duration,
    pub(crate) plan: RenewalPlan,
    pub(crate) min_hold: Duration,
    pub(crate) lock_delay: Duration,
    pub(crate) metadata: Arc<Metadata>,
    pub(crate) perhaps_until: Option<Moment>,
    pub(crate) handed_out: bool,
    pub(crate) events: Option<Recipient<LeaseEvent>>,
}
