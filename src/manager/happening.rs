//! The happenings of a manager: answers of the store, timers, callers that have gone.
//!
//! All of it takes one way to the manager, a queue that survives the manager's panics.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, sync::Arc, task::Waker};

use tokio::sync::oneshot;

use crate::{
    core::{Moment, RecordKey, ResourceName},
    lease::Release,
    manager::TriedAll,
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
    /// The manager panicked over the answer to an attempt.
    AttemptLost(Attempt),
    /// The store answered a release.
    Released(RecordKey, Result<Released, StoreError>),
    /// The manager panicked over the answer to a release.
    ReleaseLost(RecordKey),
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
    /// The actor that the lease of this record is bound to has died.
    OwnerGone(RecordKey),
    /// A lease is to be released again, because the manager panicked over its release.
    Release(Release),
    /// The store notified the inbox. With the number of times that the manager panicked over it.
    Notified(Notification, u32),
    /// The store sends no notifications any more.
    NoMoreNotifications,
    /// The resource was taken away from its holders. The sender is used when that is handled.
    Opened(ResourceName, oneshot::Sender<()>),
}

/// The maximum number of times that the handling of one release, or of one notice to holders, may panic.
const PANICS_AT_MOST: u32 = 8;

impl Happening {
    /// Returns what happens if the manager panics while it handles this. An answer is lost.
    pub(crate) fn after_panic(&self) -> Option<Self> {
        match self {
            Self::Attempted(attempt, _) | Self::AttemptLost(attempt) => {
                Some(Self::AttemptLost(attempt.clone()))
            }
            Self::Released(record, _) | Self::ReleaseLost(record) => Some(Self::ReleaseLost(*record)),
            Self::TriedAll(tried) => Some(Self::TriedAll(tried.lost())),
            Self::Due(record) => Some(Self::Due(*record)),
            Self::RenewalDue(record) | Self::RenewalMissed(record) => Some(Self::RenewalMissed(*record)),
            Self::Lost(record) => Some(Self::Lost(*record)),
            Self::Release(release) => Self::release_again(release),
            // Others are repeated by the store, or by what they lead to.
            Self::Notified(notice @ Notification::ToHolders(..), panics) => {
                (*panics < PANICS_AT_MOST).then(|| Self::Notified(notice.clone(), panics + 1))
            }
            _ => None,
        }
    }

    /// Returns the same release, to be handled again after a panic, unless that has happened too often.
    pub(crate) fn release_again(release: &Release) -> Option<Self> {
        let panics = release.panics + 1;
        (panics <= PANICS_AT_MOST).then(|| Self::Release(Release { panics, ..release.clone() }))
    }
}

/// The queue of what has happened and was not handled yet. A clone is another handle to it.
#[derive(Clone, Default)]
pub(crate) struct Happenings(Rc<RefCell<Unhandled>>);

#[derive(Default)]
struct Unhandled {
    happened: VecDeque<Happening>,
    /// The manager, while it waits for something to happen.
    manager: Option<Waker>,
}

impl Happenings {
    /// Adds what has happened, and wakes the manager.
    pub(crate) fn push(&self, happening: Happening) {
        self.add(|happened| happened.push_back(happening));
    }

    /// Puts what must not wait for the rest before everything else, and wakes the manager.
    pub(crate) fn push_front(&self, happening: Happening) {
        self.add(|happened| happened.push_front(happening));
    }

    fn add(&self, add: impl FnOnce(&mut VecDeque<Happening>)) {
        let mut queue = self.0.borrow_mut();
        add(&mut queue.happened);
        if let Some(manager) = queue.manager.take() {
            manager.wake();
        }
    }

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
