//! The arguments of an acquisition that most acquisitions have in common.

use std::sync::Arc;

use crate::store::{
    Acquisition, QueueTicket,
    redis::wire::{
        keys,
        record::{self, millis, positive_millis},
    },
};

/// The arguments of an acquisition behind its token: see `attempt.lua`.
pub(crate) struct Encoded {
    of: Acquisition,
    pub(crate) opens: u64,
    pub(crate) record: String,
    pub(crate) terms: String,
}

impl Encoded {
    pub(crate) fn new(asked: &Acquisition, prefix: &str) -> Self {
        let reentrant = u8::from(asked.reentrant);
        let terms = asked.ticket.as_ref().map_or_else(
            || reentrant.to_string(),
            |QueueTicket { inbox, ttl, grant_window, max_waiters, place }| {
                let (window, ticket_ttl) = (positive_millis(*grant_window), positive_millis(*ttl));
                let channel = keys::channel(prefix, inbox);
                let place = place.map_or_else(String::new, |place| format!(" {place}"));
                format!("{reentrant} {channel} {window} {ticket_ttl} {max_waiters}{place}")
            },
        );
        Self {
            opens: positive_millis(asked.ttl) + millis(asked.lock_delay),
            record: format!("{}{}", record::terms(asked), record::metadata(&asked.metadata)),
            terms,
            of: asked.clone(),
        }
    }

    /// Returns true if these are also the arguments of another acquisition.
    pub(crate) fn suits(&self, asked: &Acquisition) -> bool {
        differs_in_token(&self.of, asked)
    }
}

/// Returns true if two acquisitions have all in common but resource and token.
pub(crate) fn differs_in_token(one: &Acquisition, other: &Acquisition) -> bool {
    one.mode == other.mode
        && one.reentrant == other.reentrant
        && one.ttl == other.ttl
        && one.lock_delay == other.lock_delay
        && one.ticket == other.ticket
        && one.hold.owner == other.hold.owner
        && Arc::ptr_eq(&one.metadata, &other.metadata)
}
