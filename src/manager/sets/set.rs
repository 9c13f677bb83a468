//! A request for several resources, and its first try.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    core::{Moment, Token},
    lease::LeaseSet,
    manager::InFlight,
    request::{AcquireError, Options, OwnWaiter, ValidRequest},
    runtime::responder::Responder,
    store::{AcquiredAll, Acquisition, StoreError},
};

/// The sets whose first try is in flight, by the token of the first resource.
pub(crate) type Sets = BTreeMap<Token, Set>;

/// A request for several resources that has no answer yet.
pub(crate) struct Set {
    /// The requests in the order of the names, each name once.
    pub(super) requests: Vec<ValidRequest>,
    pub(super) options: Options,
    pub(super) reply: Responder<Result<LeaseSet, AcquireError>>,
    pub(super) asked: Moment,
    /// True if it was told that one of its holds is over, before it knew that it has any.
    pub(super) taken: bool,
}

impl Set {
    /// Notes that these holds are over. A grant may be what was taken.
    pub(crate) fn note_taken(&mut self, is_taken: impl Fn(&Token) -> bool) {
        self.taken |= self.requests.iter().any(|it| is_taken(&it.terms.acquisition.hold.token));
    }

    /// Describes its requests, which wait for the first try.
    pub(crate) fn waiters(&self, now: Moment) -> impl Iterator<Item = OwnWaiter> {
        let waited = self.asked.elapsed(now);
        self.requests.iter().map(move |request| OwnWaiter::of(&request.terms.acquisition, waited, 1, None))
    }
}

/// The first try of a set, with its outcome from the store.
pub(crate) struct TriedAll {
    pub(super) tried: Arc<[Arc<Acquisition>]>,
    pub(super) sent: Moment,
    pub(super) outcome: Result<AcquiredAll, StoreError>,
    pub(super) _in_flight: Arc<InFlight>,
}

impl TriedAll {
    /// Returns the same try with an unknown outcome, for when the manager panics over it.
    pub(crate) fn lost(&self) -> Self {
        let (tried, _in_flight) = (Arc::clone(&self.tried), Arc::clone(&self._in_flight));
        let outcome = Err(StoreError::reply_lost("acquire_all: the lock manager panicked"));
        Self { tried, sent: self.sent, outcome, _in_flight }
    }
}
