//! The notifications of a store to the waiters of its queues, and their largest number at once.

use futures_util::stream::BoxStream;

#[cfg(doc)]
use crate::store::Store;
use crate::{
    core::Token,
    store::{HolderNotice, StoreError},
};

/// The stream that [`Store::listen`] returns.
pub type Notifications = BoxStream<'static, Notification>;

/// The address of hand-over notifications: one for each lock manager, named by 128 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inbox(pub Token);

/// A notification to an inbox.
#[derive(Clone, Debug)]
pub enum Notification {
    /// The resource that this token waits for was handed over to it.
    HandedOver(Token),
    /// The resource that this token waits for was handed over to another waiter, and this token is the next. It should
    /// attempt again when the grant window is over.
    Next(Token),
    /// This token should attempt at once, and again when the grant window is over. Either there was more to hand over than
    /// one verb hands over, or a hand-over was not taken up and live waiters have to show that they are alive.
    GoOn(Token),
    /// A notice to these holders, whichever inbox they belong to. A store of several servers may tell it before
    /// [`Subscribed`](Self::Subscribed), when some of them are heard.
    ToHolders(Vec<Token>, HolderNotice),
    /// Subscribed: notifications arrive from here on, and earlier ones may have been lost. All waiters should attempt
    /// now.
    Subscribed,
    /// Disconnected for this reason: no notification arrives until [`Subscribed`](Self::Subscribed). Only the waiters' own
    /// attempts go on.
    Disconnected(StoreError),
}

/// The largest number of waiters that one verb tells that they are next, until it finds one whose inbox has a
/// subscriber. The caller's own waiter is not counted.
pub const NEXT_AT_MOST: usize = 8;

/// The largest number of waiters that one verb asks to show that they are alive.
pub const CALLED_AT_MOST: usize = 320;

/// The budget of one verb for serving the queue, in steps. A hand-over counts as 5 steps, and a waiter that is skipped
/// because it is taken for dead counts as 1. In a batch on one server, the verbs of one call share this budget, and each
/// of them has at least 5 steps.
pub const STEPS_AT_MOST: u32 = 320;
