//! The requests and answers of the verbs of a store.

use std::{sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};

#[cfg(doc)]
use crate::store::Store;
use crate::{
    core::{Fence, Mode, Owner, ResourceName, Token},
    store::{Holder, Inbox, Metadata, StoreError},
};

/// The pending answer of a store.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The answers of a store to several verbs, in their order.
pub(crate) type Answers<T> = Vec<Result<T, StoreError>>;

/// The pending answers of a store to several verbs, in their order.
pub type Replies<'a, T> = BoxFuture<'a, Vec<Result<T, StoreError>>>;

/// Joins the answers to single requests to those of a batch, for a store that executes each by itself. The requests run
/// side by side: a store that could execute those of one resource in another order than theirs must not use it.
pub fn join_replies<'a, T: Send + 'a>(replies: impl IntoIterator<Item = Reply<'a, T>>) -> Replies<'a, T> {
    join_all(replies).boxed()
}

/// The queue ticket of an acquisition that waits in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTicket {
    /// The inbox that is notified of its hand-over.
    pub inbox: Inbox,
    /// The time for which the ticket is kept after the acquisition was last repeated.
    pub ttl: Duration,
    /// The time within which it has to take up a hand-over. At least 1 ms.
    pub grant_window: Duration,
    /// The largest number of waiters for the resource, this one included.
    pub max_waiters: u32,
    /// The place in the queue that a quorum proposes to all of its nodes: the number of the arrival, about the time in µs.
    /// `None` is the place behind all others.
    pub place: Option<u64>,
}

/// One acquisition as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The resource that is held.
    pub resource: ResourceName,
    /// The secret of this acquisition.
    pub token: Token,
    /// The owner that may re-enter, if any.
    pub owner: Option<Owner>,
}

/// The request of [`Store::acquire_each`].
#[derive(Clone, Debug)]
pub struct Acquisition {
    /// Resource, token and owner.
    pub hold: Hold,
    /// The requested share of the resource.
    pub mode: Mode,
    /// True if an exclusive acquisition is granted when the same owner already has the resource.
    pub reentrant: bool,
    /// The time for which it holds unless it is renewed, counted from its execution by the store. At least 1 ms.
    pub ttl: Duration,
    /// The additional time for which the resource stays closed if this hold expires instead of being released.
    pub lock_delay: Duration,
    /// The metadata that the holder supplies.
    pub metadata: Arc<Metadata>,
    /// The queue ticket, for waiting when the resource is in use. `None` is a try, which leaves nothing behind.
    pub ticket: Option<QueueTicket>,
}

impl Acquisition {
    /// Returns true for an exclusive lock without an owner, of which a store mostly serves many together.
    pub(crate) fn is_simple(&self) -> bool {
        self.mode == Mode::Exclusive && self.hold.owner.is_none()
    }

    /// Returns the same acquisition as a try.
    pub(crate) fn as_try(&self) -> Self {
        Self { ticket: None, ..self.clone() }
    }
}

/// Returns an exclusive try with a TTL of 10 s, for tests.
#[cfg(test)]
pub(crate) fn exclusive(resource: &str, token: u128) -> Acquisition {
    let (resource, token) = (ResourceName::new(resource).unwrap(), Token::from_bits(token));
    Acquisition {
        hold: Hold { resource, token, owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: Duration::from_secs(10),
        lock_delay: Duration::ZERO,
        metadata: Arc::default(),
        ticket: None,
    }
}

/// The certain answers to [`Store::acquire_each`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It holds.
    Granted(Grant),
    /// It does not hold, and does not wait.
    Refused(Refusal),
    /// It does not hold, and waits with this many ahead of it.
    Queued {
        /// A holder that is in the way.
        refusal: Refusal,
        /// The number of waiters ahead of it; 0 is the head of the queue.
        ahead: u64,
    },
    /// It does not hold, and cannot wait: the queue has reached its limit.
    Full {
        /// The number of waiters.
        waiters: u64,
    },
}

/// The result of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The fencing number; the same for all holds of one re-entered resource. `None` on stores that cannot give one.
    pub fence: Option<Fence>,
    /// The number of holds that this owner now has of the resource, this one included; 1 without an owner.
    pub holds: u64,
    /// The [number](crate::Lease::slot) of permits. `None` in other modes, and on stores that number none.
    pub slot: Option<u32>,
}

/// The reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A holder that is in the way, or that kept the resource busy while others wait ahead.
    pub by: Holder,
    /// The time until a new attempt is worthwhile, because holders may have ended by themselves: the first end for
    /// permits, otherwise the last.
    pub remaining: Duration,
}

/// The request of [`Store::renew_each`].
#[derive(Clone, Debug)]
pub struct Renewal<'a> {
    /// The hold that is extended.
    pub hold: &'a Hold,
    /// Its TTL from now on.
    pub ttl: Duration,
    /// The fence that its holder was told, for a store that grants before it knows the fence, and can write it down now.
    pub fence: Option<Fence>,
    /// Its metadata from now on. `None` changes and costs nothing. A store without fences may have no place for it.
    pub metadata: Option<Arc<Metadata>>,
}

impl<'a> Renewal<'a> {
    /// Creates a renewal that only extends a hold.
    pub const fn new(hold: &'a Hold, ttl: Duration) -> Self {
        Self { hold, ttl, fence: None, metadata: None }
    }
}

/// The certain answers to [`Store::renew_each`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The hold is extended.
    Extended,
    /// This token holds nothing.
    NotHeld,
}

/// The certain answers to [`Store::release_each`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a release may find that the lease was lost before"]
pub enum Released {
    /// Released. The owner holds nothing of the resource any more.
    Freed,
    /// Released. The same owner still holds the resource this many times.
    StillHeld {
        /// The number of remaining holds, 1 or more.
        count: u64,
    },
    /// This token held nothing: it expired, was taken away, or was released before.
    NotHeld {
        /// The number of holds that the same owner still has; 0 without an owner.
        count: u64,
    },
}

impl Released {
    /// Returns the answer to a token that `held` or not, whose owner still has this many holds.
    pub(crate) const fn of(held: bool, count: u64) -> Self {
        match (held, count) {
            (false, count) => Self::NotHeld { count },
            (true, 0) => Self::Freed,
            (true, count) => Self::StillHeld { count },
        }
    }
}

/// The certain answers to [`Store::hand_off`].
#[derive(Clone, Debug)]
pub struct HandedOff {
    /// The result of the release.
    pub released: Released,
    /// The result of the acquisition. Its outcome may be unknown although that of the release is known.
    pub acquired: Result<Acquired, StoreError>,
    /// True if anybody else now waits for the resource, as far as the store can tell.
    pub others_wait: bool,
}

/// The largest number of resources that one [`Store::acquire_all`] takes.
pub const ALL_AT_MOST: usize = 64;

/// The certain answers to [`Store::acquire_all`].
#[derive(Clone, Debug)]
pub enum AcquiredAll {
    /// All of them hold. Carries the grants, in the order of the requests.
    Granted(Vec<Grant>),
    /// Nothing was granted, because somebody is in the way of one of them.
    Refused {
        /// The index of the refused request.
        which: usize,
        /// The holder that is in its way.
        refusal: Refusal,
    },
    /// Nothing was granted, because one of them failed and was certainly not executed.
    Failed {
        /// The index of the failed request.
        which: usize,
        /// The error of that request.
        error: StoreError,
    },
}

/// A write to a register: the second argument of [`Store::register`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterWrite {
    /// The revision that the register must have. `None`: it must not exist.
    pub expected: Option<Token>,
    /// The revision that it gets: a new random token. A repeat of the write is known by it.
    pub revision: Token,
    /// The new value.
    pub value: String,
    /// The time of the store before which nothing is written, as in [`Register::now`].
    pub not_before: Duration,
}

/// The answer of [`Store::register`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The result of the write.
    pub verdict: RegisterVerdict,
    /// The store's time, since 1970.
    pub now: Duration,
    /// The revision after the call; `None` if there is no such register.
    pub revision: Option<Token>,
    /// The value after the call; empty if there is no such register.
    pub value: String,
}

/// The result of a write to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterVerdict {
    /// Nothing was to be written.
    Read,
    /// It was written by this call, or by an earlier one of the same write that nobody has written over.
    Written,
    /// Nothing was written: it has another revision than the expected one.
    Changed,
    /// Nothing was written: the time for it has not come.
    Early,
}

/// The shortest time for which a register is kept after it was last used. A store may keep it for a day more.
pub const REGISTER_KEPT_FOR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
