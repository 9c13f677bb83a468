//! What one manager asks of its quorum, and what it is promised.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use leasehold::{
    Inspection, Listing, QuorumStore, ResourceName, StoreError,
    store::{
        Acquired, Acquisition, HandedOff, Hold, Inbox, Notifications, Released, Renewal, Renewed, Replies,
        Reply, Store, Walk,
    },
};

use super::{
    history::{History, What},
    store::{number, wanted},
};

/// Writes down what a quorum is asked for and what it promises.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) inner: QuorumStore,
    pub(crate) history: Arc<History>,
}

impl Witness {
    fn promised(&self, asked: &Acquisition, answer: &Result<Acquired, StoreError>, sent: Duration) {
        let what = match answer {
            Ok(Acquired::Granted(grant)) => match grant.fence {
                Some(fence) => What::Promised { asked: wanted(asked.clone()), fence, sent },
                None => What::Wrong { property: "P2", details: format!("{asked:?} has no fence") },
            },
            Ok(Acquired::Queued { .. }) => What::Waits { asked: wanted(asked.clone()) },
            _ => return,
        };
        self.history.add(number(&asked.hold.resource), what);
    }
}

impl Store for Witness {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        let sent = self.history.now();
        let answers = self.inner.acquire_each(asked);
        let note = move |answers: &Vec<_>| {
            asked.iter().zip(answers).for_each(|(asked, answer)| self.promised(asked, answer, sent));
        };
        answers.inspect(note).boxed()
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        let sent = self.history.now();
        for Renewal { hold, .. } in renewals {
            self.history.add(number(&hold.resource), What::RenewalSent { token: hold.token });
        }
        let note = move |answers: &Vec<_>| {
            for (Renewal { hold, ttl, .. }, answer) in renewals.iter().zip(answers) {
                if matches!(answer, Ok(Renewed::Extended)) {
                    let what = What::Extended { token: hold.token, until: sent + *ttl };
                    self.history.add(number(&hold.resource), what);
                }
            }
        };
        self.inner.renew_each(renewals).inspect(note).boxed()
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        for (hold, _) in releases {
            self.history.add(number(&hold.resource), What::ReleaseSent { token: hold.token });
        }
        self.inner.release_each(releases)
    }

    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, HandedOff> {
        let sent = self.history.now();
        self.history.add(number(&from.resource), What::ReleaseSent { token: from.token });
        let note = move |answer: &Result<HandedOff, _>| {
            if let Ok(handed_off) = answer {
                self.promised(to, &handed_off.acquired, sent);
            }
        };
        self.inner.hand_off(from, to, overtake).inspect(note).boxed()
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
        self.inner.force_release(resource)
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        self.inner.listen(inbox)
    }
}
