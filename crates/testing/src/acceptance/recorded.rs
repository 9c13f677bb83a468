//! A store that writes down what a fact asked of it, and passes everything on.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use futures_util::FutureExt;
use leasehold::{
    Durability, Inspection, Listing, LossReason, ResourceName, StoreError,
    env::Moment,
    store::{
        Acquired, AcquiredAll, Acquisition, HandedOff, Hold, HoldersNotified, Inbox, Notifications, Register,
        RegisterWrite, Released, Renewal, Renewed, Replies, Reply, ServerLoad, Store, ToHolders, Walk,
    },
};

use super::record::{Record, key};

/// A store that is recorded.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) inner: Arc<dyn Store>,
    pub(super) record: Arc<Record>,
}

impl Recorded {
    fn ask<'a>(&self, asked: impl IntoIterator<Item = &'a Acquisition>) -> Moment {
        let mut pages = self.record.pages();
        let now = pages.now();
        asked.into_iter().for_each(|asked| pages.asks(asked, now));
        now
    }

    fn end<'a>(&self, holds: impl IntoIterator<Item = &'a Hold>) {
        let mut pages = self.record.pages();
        let now = pages.now();
        holds.into_iter().for_each(|hold| pages.ends(hold, now, None));
    }

    async fn renewed(&self, renewals: &[Renewal<'_>]) -> Vec<Result<Renewed, StoreError>> {
        let asked = self.record.pages().now();
        let answers = self.inner.renew_each(renewals).await;
        let mut pages = self.record.pages();
        for (Renewal { hold, ttl, .. }, answer) in renewals.iter().zip(&answers) {
            match answer {
                Ok(Renewed::Extended) => {
                    let held = pages.held.get_mut(&key(hold));
                    held.into_iter().for_each(|held| held.valid_until = asked + *ttl);
                }
                Ok(Renewed::NotHeld) => pages.ends(hold, asked, Some(LossReason::NotHeld)),
                Err(_) => {}
            }
        }
        answers
    }
}

impl Store for Recorded {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        async move {
            let began = self.ask(asked.iter().map(|asked| &**asked));
            let answers = self.inner.acquire_each(asked).await;
            let mut pages = self.record.pages();
            asked.iter().zip(&answers).for_each(|(asked, answer)| pages.answered(asked, answer, began));
            answers
        }
        .boxed()
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        self.renewed(renewals).boxed()
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        self.end(releases.iter().map(|(hold, _)| *hold));
        self.inner.release_each(releases)
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        self.inner.is_held(hold)
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        self.inner.inspect(resource, limit)
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        self.inner.list(walk)
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        let mut pages = self.record.pages();
        let now = pages.now();
        let held = pages.held.keys().filter(|(name, _)| name == resource).cloned().collect::<Vec<_>>();
        for (resource, token) in held {
            pages.ends(&Hold { resource, token, owner: None }, now, Some(LossReason::Forced));
        }
        self.inner.force_release(resource)
    }

    fn set_capacity<'a>(&'a self, resource: &'a ResourceName, permits: Option<NonZeroU32>) -> Reply<'a, ()> {
        self.record.pages().sets_capacity(resource);
        self.inner.set_capacity(resource, permits)
    }

    fn notify_holders<'a>(&'a self, to: &'a ToHolders) -> Reply<'a, HoldersNotified> {
        self.inner.notify_holders(to)
    }

    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, HandedOff> {
        async move {
            self.end([from]);
            let began = self.ask([to]);
            let answer = self.inner.hand_off(from, to, overtake).await;
            if let Ok(done) = &answer {
                self.record.pages().answered(to, &done.acquired, began);
            }
            answer
        }
        .boxed()
    }

    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        async move {
            let began = self.ask(asked.iter().map(|asked| &**asked));
            let answer = self.inner.acquire_all(asked).await;
            let mut pages = self.record.pages();
            if let Ok(AcquiredAll::Granted(grants)) = &answer {
                asked.iter().zip(grants).for_each(|(asked, grant)| pages.granted(asked, grant, began));
            } else {
                // What was held before may have been released.
                asked.iter().for_each(|asked| pages.ends(&asked.hold, began, None));
            }
            answer
        }
        .boxed()
    }

    fn register<'a>(
        &'a self,
        name: &'a ResourceName,
        write: Option<&'a RegisterWrite>,
    ) -> Reply<'a, Register> {
        self.inner.register(name, write)
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        self.inner.listen(inbox)
    }

    fn server_load(&self) -> Reply<'_, Vec<ServerLoad>> {
        self.inner.server_load()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn durability(&self) -> Durability {
        self.inner.durability()
    }
}
