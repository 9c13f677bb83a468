//! The steps that the manager carries out, each for one acquisition.

use std::time::Duration;

use super::acquisition::{End, Told};
use crate::core::Moment;

slotmap::new_key_type! {
    /// The key of an acquisition, which names nothing once that was removed.
    pub(crate) struct RecordKey;
}

/// A step that follows from an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// The timer is set to fire after this, instead of whenever it was to fire before.
    WakeAfter(Duration),
    /// An attempt is sent. It is urgent if the store has handed over the resource, and waits for it.
    Ask { is_urgent: bool },
    /// The attempt becomes urgent, unless it has been sent.
    Hurry,
    /// The attempt is taken back, unless it has been sent. If it is, [`Event::Unsent`](super::Event::Unsent) follows.
    Withdraw,
    /// The caller is told that so many waiters are ahead, and how long they are expected to take. If it asks no store, it is
    /// `behind` this acquisition of the same manager.
    Queued { ahead: u64, expected: Option<Duration>, behind: Option<RecordKey> },
    /// The caller gets its lease, which was requested at `sent`.
    Hold { sent: Moment, attempts: u32, waited: Duration },
    /// The caller is told that its request has ended without a lease.
    End(Ended),
    /// A release is sent. There is no timer until its answer. The resource opens at this moment.
    Release { opening: Moment },
    /// The same call releases the lease and acquires for the next waiter, ahead of all waiters in the store if it may `overtake`.
    HandOff { to: RecordKey, overtake: bool },
    /// It is over: the record is removed.
    Remove,
}

/// The end of a request without a lease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) told: Told,
    pub(crate) attempts: u32,
    pub(crate) waited: Duration,
    /// The number of waiters that were ahead of it at the last answer.
    pub(crate) ahead: Option<u64>,
    /// The time that it would still have had to wait, as far as is known.
    pub(crate) expected_wait: Option<Duration>,
    /// The acquisition of this manager that it waited behind, if it has not asked the store.
    pub(crate) behind: Option<RecordKey>,
}
