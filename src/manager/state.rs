//! The state of the lock manager: the calls to the store, the engine, the records, and the pieces that work on them.

use std::{
    rc::Rc,
    sync::{Arc, Weak},
};

use actix::Addr;

use crate::{
    core::{Engine, Pauses},
    lease::Renewers,
    manager::{Adoptions, Calls, Draining, Happening, Happenings, Records, Sets, SingleCalls, Sources},
    request::Settings,
    runtime::{
        env::{Clock, Random},
        responder::Answers,
    },
    store::{Inbox, Metadata},
};

/// The lock manager. Create one with [`LockManager::builder`] and share its address.
pub struct LockManager {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) policy: Policy,
    pub(crate) calls: Calls,
    /// All acquisitions, and the decisions about them.
    pub(crate) engine: Engine,
    /// The rest of each acquisition: its request, lease or release, and its timer.
    pub(crate) records: Records,
    pub(crate) sets: Sets,
    pub(crate) single_calls: SingleCalls,
    pub(crate) adoptions: Adoptions,
    pub(crate) sources: Sources,
    pub(crate) turn: Turn,
    pub(crate) renewers: Rc<Renewers>,
    pub(crate) shutdown: Draining,
    pub(crate) address: Arc<Addr<Self>>,
}

impl Drop for LockManager {
    fn drop(&mut self) {
        // Leases that somebody keeps have the listeners, and the recorder waits until nobody can send.
        self.calls.listeners.trace().forget();
    }
}

/// The values that requests get from their manager.
pub(crate) struct Policy {
    pub(crate) settings: Arc<Settings>,
    /// The pauses of the application, for requests that have none of their own.
    pub(crate) own_pauses: Option<Pauses>,
    /// The tuner that may change the settings, while it lives.
    pub(crate) tuned_by: Weak<()>,
    /// The metadata that every holder of this manager reports about itself.
    pub(crate) about: Arc<Metadata>,
    /// The inbox to which the store sends notifications of hand-overs to the waiters.
    pub(crate) inbox: Inbox,
    /// True if the inbox is to be subscribed.
    pub(crate) listens: bool,
}

/// The happenings, messages and answers of a turn of the manager.
#[derive(Default)]
pub(crate) struct Turn {
    pub(crate) happenings: Happenings,
    /// The happening that is handled again if the manager panics now.
    pub(crate) in_hand: Option<Happening>,
    /// The answers to callers that are sent at the end of this turn.
    pub(crate) answers: Answers,
    /// The messages since the other tasks of the thread had a turn.
    pub(crate) messages: usize,
}
