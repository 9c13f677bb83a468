//! The state of the lock manager: the store, the records, and the pieces that work on them.

use std::{
    rc::Rc,
    sync::{Arc, Weak},
};

use actix::Addr;

use crate::{
    core::{Engine, Pauses},
    lease::Renewers,
    listeners::statistics::Recorder,
    manager::{AllSeats, Draining, Happening, Happenings, Outage, Readiness, Records, Sets, Sources, Trace},
    request::Settings,
    runtime::{
        env::{Clock, Random},
        responder::Answers,
    },
    store::{Inbox, Metadata, Store},
};

/// The lock manager. Create one with [`LockManager::builder`] and share its address.
pub struct LockManager {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) default_waits: DefaultWaits,
    /// The tuner that may change the settings, while it lives.
    pub(crate) tuned_by: Weak<()>,
    /// The pauses of the application, for requests that have none of their own.
    pub(crate) own_pauses: Option<Pauses>,
    pub(crate) stats: Arc<Recorder>,
    /// The metadata that every holder of this manager reports about itself.
    pub(crate) about: Arc<Metadata>,
    /// All acquisitions, and the decisions about them.
    pub(crate) engine: Engine,
    /// The rest of each acquisition: its request, lease or release, and its timer.
    pub(crate) records: Records,
    pub(crate) trace: Trace,
    pub(crate) sets: Sets,
    pub(crate) seats: AllSeats,
    pub(crate) held: usize,
    /// The messages since the other tasks of the thread had a turn.
    pub(crate) messages: usize,
    /// The inbox to which the store sends notifications of hand-overs to the waiters.
    pub(crate) inbox: Inbox,
    /// True if the inbox is to be subscribed.
    pub(crate) listens: bool,
    pub(crate) outage: Rc<Outage>,
    pub(crate) readiness: Readiness,
    pub(crate) happenings: Happenings,
    pub(crate) sources: Sources,
    /// The answers to callers that are sent at the end of this turn.
    pub(crate) answers: Answers,
    /// The happening that is handled again if the manager panics now.
    pub(crate) in_hand: Option<Happening>,
    pub(crate) address: Arc<Addr<Self>>,
    pub(crate) renewers: Rc<Renewers>,
    pub(crate) shutdown: Draining,
    /// Has a clone in each revocation that runs.
    pub(crate) revocations: Rc<()>,
}

/// Outcomes of requests that used the default wait. The others say nothing about that setting.
#[derive(Default)]
pub(crate) struct DefaultWaits {
    pub(crate) granted: u64,
    pub(crate) timed_out: u64,
}
