//! The happenings of a manager: answers of the store, timers, callers that have gone.
//!
//! All of it takes one way to the manager, a queue that survives the manager's panics.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, sync::Arc, task::Waker};

use tokio::sync::oneshot;

use crate::{
    core::{Moment, ResourceName},
    lease::{RecordKey, Release},
    manager::sets::TriedAll,
    store::{Acquired, Acquisition, Notification, Released, StoreError},
};

/// One attempt of a waiter.
#[derive(Clone)]
pub(crate) struct Attempt {
    pub(crate) record: RecordKey,
    pub(crate) acquisition: Arc<Acquisition>,
    pub(crate) sent: Moment,
    /// True if it was handed the resource although others waited for it.
    pub(crate) overtook: bool,
}

/// Something that happened to a record.
pub(crate) enum Happening {
    /// The store answered an attempt.
    Attempted(Attempt, Result<Acquired, StoreError>),
    /// The store answered a release.
    Released(RecordKey, Result<Released, StoreError>),
    /// The store answered the first try of a set.
    TriedAll(TriedAll),
    /// The timer of a record has fired.
    Due(RecordKey),
    /// The caller of a waiter has gone.
    CallerGone(RecordKey),
    /// The watches over some callers have been deferred long enough.
    Deferred(Vec<RecordKey>),
    /// The first renewal of the lease of this record is due.
    RenewalDue(RecordKey),
    /// A renewal of the lease of this record was missed.
    RenewalMissed(RecordKey),
    /// The lease of this record was lost.
    Lost(RecordKey),
    /// A lease is to be released: its handling panicked, or the actor that it was bound to has died.
    Release(Release),
    /// The store notified the inbox. With the number of times that the manager panicked over it.
    Notified(Notification, u32),
    /// The store sends no notifications any more.
    NoMoreNotifications,
    /// The resource was taken away from its holders. The sender is used when that is handled.
    Opened(ResourceName, oneshot::Sender<()>),
}

/// The part of a happening that must not be lost if the manager panics over it.
pub(crate) enum InHand {
    Attempt(Attempt),
    Release(RecordKey),
    Set(TriedAll),
    Due(RecordKey),
    Renewal(RecordKey),
    Lost(RecordKey),
    Message(Release),
    /// With the number of times that the manager panicked over it.
    Notified(Notification, u32),
}

/// The maximum number of times that the handling of one release, or of one notice to holders, may panic.
const PANICS_AT_MOST: u32 = 8;

impl Happening {
    /// Returns what is to be kept while this is being handled.
    pub(crate) fn in_hand(&self) -> Option<InHand> {
        match self {
            Self::Attempted(attempt, _) => Some(InHand::Attempt(attempt.clone())),
            Self::Released(record, _) => Some(InHand::Release(*record)),
            Self::TriedAll(tried) => Some(InHand::Set(tried.lost())),
            Self::Due(record) => Some(InHand::Due(*record)),
            Self::RenewalDue(record) | Self::RenewalMissed(record) => Some(InHand::Renewal(*record)),
            Self::Lost(record) => Some(InHand::Lost(*record)),
            Self::Release(release) => Some(InHand::Message(release.clone())),
            // Others are repeated by the store, or by what they lead to.
            Self::Notified(notice @ Notification::ToHolders(..), panics) => {
                Some(InHand::Notified(notice.clone(), *panics))
            }
            _ => None,
        }
    }

    /// Returns what happens in place of something over which the manager panicked. An answer is lost.
    pub(crate) fn after_panic(in_hand: InHand) -> Option<Self> {
        match in_hand {
            InHand::Attempt(attempt) => {
                let lost = StoreError::reply_lost("acquire: the lock manager panicked");
                Some(Self::Attempted(attempt, Err(lost)))
            }
            InHand::Release(record) => {
                let lost = StoreError::reply_lost("release: the lock manager panicked");
                Some(Self::Released(record, Err(lost)))
            }
            InHand::Set(tried) => Some(Self::TriedAll(tried)),
            InHand::Due(record) => Some(Self::Due(record)),
            InHand::Renewal(record) => Some(Self::RenewalMissed(record)),
            InHand::Lost(record) => Some(Self::Lost(record)),
            InHand::Message(release) if release.panics < PANICS_AT_MOST => {
                Some(Self::Release(Release { panics: release.panics + 1, ..release }))
            }
            InHand::Notified(notice, panics) if panics < PANICS_AT_MOST => {
                Some(Self::Notified(notice, panics + 1))
            }
            InHand::Message(_) | InHand::Notified(..) => None,
        }
    }
}

/// The queue of what has happened and was not handled yet. A clone is another handle to it.
#[derive(Clone, Default)]
pub(crate) struct Happenings(Rc<RefCell<Queue>>);

#[derive(Default)]
struct Queue {
    happened: VecDeque<Happening>,
    /// The manager, while it waits for something to happen.
    manager: Option<Waker>,
}

impl Queue {
    fn wake(&mut self) {
        if let Some(manager) = self.manager.take() {
            manager.wake();
        }
    }
}

impl Happenings {
    /// Adds what has happened, and wakes the manager.
    pub(crate) fn push(&self, happening: Happening) {
        let mut queue = self.0.borrow_mut();
        queue.happened.push_back(happening);
        queue.wake();
    }

    /// Puts what must not wait for the rest before everything else, and wakes the manager.
    pub(crate) fn push_front(&self, happening: Happening) {
        let mut queue = self.0.borrow_mut();
        queue.happened.push_front(happening);
        queue.wake();
    }

    /// Returns what has happened first.
    pub(crate) fn pop(&self) -> Option<Happening> {
        self.0.borrow_mut().happened.pop_front()
    }

    /// Returns true if nothing has happened. Then the manager is woken when something does.
    pub(crate) fn is_empty_or_wake(&self, manager: &Waker) -> bool {
        let mut queue = self.0.borrow_mut();
        queue.manager = queue.happened.is_empty().then(|| manager.clone());
        queue.happened.is_empty()
    }

    /// Begins to gather: until the next [`is_empty_or_wake`](Self::is_empty_or_wake) nobody is woken.
    pub(crate) fn gather(&self) {
        self.0.borrow_mut().manager = None;
    }
}
