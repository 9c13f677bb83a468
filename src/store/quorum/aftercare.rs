//! The work that goes on after the verbs: pending releases, and the turns of waiters.

use std::{sync::Arc, time::Duration};

use futures_util::future::{join, join_all};

use super::{books::Remaining, releases::PendingRelease, shared::Quorum};
use crate::{
    core::{Doubling, Moment, Token, TurnEvent},
    store::{Answers, Released, StoreError},
};

/// The answer to a pending release.
enum Settled {
    Released(Released),
    /// A waiter gave way. Carries true if it certainly holds again already.
    GaveWay(bool),
}

/// Pending releases.
impl Quorum {
    /// Queues the release of a hold on a node. It is tried in the background until it is certain or the hold has ended.
    pub(super) fn release_later(self: &Arc<Self>, node: usize, pending: PendingRelease) {
        let begins = self.books(|books| books.release_later(node, pending));
        self.work_off_if(begins, node);
    }

    /// Queues again the release of what an earlier attempt left on a node that this attempt did not reach.
    pub(super) fn release_again(self: &Arc<Self>, node: usize, token: Token, attempt: u64) {
        let begins = self.books(|books| books.release_again(node, token, attempt));
        self.work_off_if(begins, node);
    }

    /// Starts the work on the pending releases of a node, if the books say that it begins.
    pub(super) fn work_off_if(self: &Arc<Self>, begins: bool, node: usize) {
        if begins {
            // Made here, because a task whose runtime ends at once does not begin.
            tokio::spawn(work_off(Taken {
                quorum: Arc::clone(self),
                node,
                pending: Vec::new(),
                done: false,
            }));
        }
    }

    /// Queues the release once more after a pause, which doubles each time. A hold that was not held when it was released
    /// may belong to an acquisition that is still to be executed.
    fn release_after_pause(self: &Arc<Self>, node: usize, pending: PendingRelease) {
        let Some((again, next)) = pending.again.and_then(|again| Some((again, again.next(self.now())?)))
        else {
            return;
        };
        let quorum = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(again.pause).await;
            quorum.release_later(node, PendingRelease { again: Some(next), ..pending });
        });
    }

    /// Handles the answer of a node to a pending release.
    fn released(self: &Arc<Self>, node: usize, pending: PendingRelease, answer: Result<Settled, StoreError>) {
        let token = pending.hold.token;
        let settled = match answer {
            Ok(settled) => settled,
            Err(error) => return self.books(|books| books.failed(node, pending.without_place(), &error)),
        };
        let (then_repair, is_wanted) = self.books(|books| {
            let then_repair = books.releases[node].settled(token);
            (then_repair, books.tokens.is_wanted(token))
        });
        if then_repair {
            self.repair_later(node, token);
        }
        match settled {
            Settled::Released(Released::NotHeld { .. }) => self.release_after_pause(node, pending),
            Settled::Released(_) => {}
            // It was released meanwhile, and the node may have executed that first.
            Settled::GaveWay(_) if !is_wanted => self.release_later(node, pending.without_place()),
            // Nobody else may have waited there.
            Settled::GaveWay(true) => self.heard(token, node, TurnEvent::Named(node)),
            Settled::GaveWay(false) => {}
        }
    }
}

/// Executes the pending releases of a node until none is left.
async fn work_off(mut taken: Taken) {
    const AT_ONCE: usize = 256;
    let mut pauses = Doubling::new(Duration::from_millis(20), Duration::from_secs(1));
    let (quorum, node) = (Arc::clone(&taken.quorum), taken.node);
    loop {
        let now = quorum.now();
        taken.pending = quorum.books(|books| books.releases[node].take(AT_ONCE, now));
        if taken.pending.is_empty() {
            taken.done = true;
            return;
        }
        let answers = send(&quorum, node, &taken.pending, now).await;
        let failed = answers.iter().any(Result::is_err);
        for (pending, answer) in std::mem::take(&mut taken.pending).into_iter().zip(answers) {
            quorum.released(node, pending, answer);
        }
        if failed {
            tokio::time::sleep(pauses.next()).await;
        } else {
            pauses.reset();
        }
    }
}

/// Sends pending releases to a node. A waiter that gives way there is queued again at the same moment.
async fn send(quorum: &Quorum, node: usize, pending: &[PendingRelease], now: Moment) -> Answers<Settled> {
    let store = quorum.store(node);
    let giving_way: Vec<_> = pending.iter().filter_map(|pending| pending.queued_again.as_deref()).collect();
    let releases = pending.iter().filter(|pending| pending.queued_again.is_none());
    let releases: Vec<_> = releases.map(|pending| (&pending.hold, pending.opening.remaining(now))).collect();
    let released = quorum.insist(node, releases.len(), store.release_each(&releases));
    let give_way = join_all(giving_way.iter().map(|asked| store.give_way(asked)));
    let given_way = quorum.insist(node, giving_way.len(), give_way);
    let (released, given_way) = join(released, given_way).await;
    let mut released = released.into_iter().map(|released| released.map(Settled::Released));
    let mut given_way = given_way.into_iter().map(|holds_again| holds_again.map(Settled::GaveWay));
    let in_order = pending.iter().filter_map(|pending| match pending.queued_again {
        Some(_) => given_way.next(),
        None => released.next(),
    });
    in_order.collect()
}

/// The releases in progress. If the runtime and with it the task end meanwhile, they are pending again, and the next
/// release that is queued starts the work again.
struct Taken {
    quorum: Arc<Quorum>,
    node: usize,
    pending: Vec<PendingRelease>,
    done: bool,
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !self.done {
            let taken = std::mem::take(&mut self.pending);
            self.quorum.books(|books| books.abandon(self.node, taken));
        }
    }
}

/// Waiters.
impl Quorum {
    /// Has a waiter handle an event, unless it has begun another attempt than this one. If then only a minority has named it, the
    /// vote was split, and it attempts after a pause. Returns false if it has no place in the queues, or has begun another attempt.
    pub(super) fn follow(self: &Arc<Self>, token: Token, since: Option<u64>, event: TurnEvent<'_>) -> bool {
        let remaining = self.books(|books| books.follow(token, since, event));
        if let Remaining::Patience(attempt, patience) = remaining {
            let quorum = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(patience).await;
                quorum.follow(token, Some(attempt), TurnEvent::PatienceEnded);
            });
        }
        remaining != Remaining::Nobody
    }
}
