//! The options of a request: what a caller sets, not yet checked.

use std::{borrow::Cow, time::Duration};

use actix::Recipient;

use crate::{
    core::Pauses,
    lease::{LeaseEvent, LifeSign},
    listeners::spans::CallerSpan,
    store::Metadata,
};

/// The key of a holder's metadata that says what it holds the resource for, if that is an election or a schedule.
pub(crate) const ROLE: &str = "role";

/// The time that a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    AtMost(Duration),
    Forever,
}

/// The options of a request, as given and not yet checked.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) owner: Option<String>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) wait: Option<Wait>,
    pub(crate) give_up_early: Option<bool>,
    pub(crate) pauses: Option<Pauses>,
    pub(crate) attempts: Option<u32>,
    pub(crate) no_renew: bool,
    pub(crate) renew_every: Option<Duration>,
    pub(crate) max_renewals: Option<u32>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) min_hold: Duration,
    pub(crate) lock_delay: Duration,
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) bound_to: Option<LifeSign>,
    pub(crate) events: Option<Recipient<LeaseEvent>>,
    pub(crate) metadata: Metadata,
    pub(crate) class: Option<Cow<'static, str>>,
    /// The span in which the request was made.
    pub(crate) caller: CallerSpan,
    /// True if the library itself sends the request, for a part of a set.
    pub(crate) for_a_set: bool,
}

impl Options {
    /// Returns the options of a request of which nothing is set yet, made in the current span.
    pub(crate) fn new() -> Self {
        Self { caller: CallerSpan::current(), ..Self::default() }
    }
}
