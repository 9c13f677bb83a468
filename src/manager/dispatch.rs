//! The batchers of a manager: the operations that each sends to the store, and the handling of the answers.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, rc::Rc, sync::Arc, time::Duration};

use actix::Addr;
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::{
    manager::{
        LockManager,
        ask::{ask, ask_each},
        outage::Outage,
        waiting::attempts::{Attempt, Attempted},
    },
    runtime::{batcher::Batcher, supervisor::message_of},
    store::{Hold, Released, Renewed, Store, StoreError},
};

/// The continuation that handles an answer.
pub(crate) type Then<T> = Box<dyn FnOnce(Result<T, StoreError>)>;

/// A release in flight.
pub(crate) struct Releasing {
    pub(crate) hold: Hold,
    pub(crate) cooldown: Duration,
    pub(crate) then: Then<Released>,
}

/// A renewal in flight.
pub(crate) struct Renewing {
    pub(crate) hold: Hold,
    pub(crate) ttl: Duration,
    /// The time to wait for the answer.
    pub(crate) timeout: Duration,
    pub(crate) then: Then<Renewed>,
}

/// A hand-off of a lock to the next waiter, in flight.
pub(crate) struct HandingOff {
    pub(crate) from: Hold,
    /// The attempt of the waiter to which the lock is handed off.
    pub(crate) attempt: Attempt,
    /// True if that waiter comes before all waiters in the store.
    pub(crate) overtake: bool,
    /// The continuation that handles the answer to the release.
    pub(crate) then: Then<Released>,
}

/// The batchers, one for each operation that many callers may want at the same time.
pub(crate) struct Dispatch {
    pub(crate) attempts: Batcher<Attempt>,
    pub(crate) releases: Batcher<Releasing>,
    pub(crate) renewals: Batcher<Renewing>,
    pub(crate) hand_offs: Batcher<HandingOff>,
}

impl Dispatch {
    /// Opens the batchers to this store. The outcomes of attempts are sent to this manager.
    pub(crate) fn open(store: &Arc<dyn Store>, outage: &Rc<Outage>, manager: Addr<LockManager>) -> Self {
        let end = End { store: Arc::clone(store), outage: Rc::clone(outage) };
        let (attempting, releasing, renewing, handing_off) = (end.clone(), end.clone(), end.clone(), end);
        let successors = manager.clone();
        Self {
            attempts: Batcher::open(move |batch| attempt(attempting.clone(), manager.clone(), batch)),
            releases: Batcher::open(move |batch| release(releasing.clone(), batch)),
            renewals: Batcher::open(move |batch| renew(renewing.clone(), batch)),
            hand_offs: Batcher::open(move |batch| hand_off(handing_off.clone(), successors.clone(), batch)),
        }
    }

    /// Releases a hold, and waits for the answer.
    pub(crate) async fn release(&self, hold: Hold, cooldown: Duration) -> Result<Released, StoreError> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        // A caller that no longer waits does not want the answer.
        let then = Box::new(|released| drop(answer.send(released)));
        self.releases.push(Releasing { hold, cooldown, then });
        let gone = |_| Err(StoreError::reply_lost("release: its arbiter has ended"));
        answered.await.unwrap_or_else(gone)
    }
}

/// The far end of every batcher: the store, and the log of its outages.
#[derive(Clone)]
struct End {
    store: Arc<dyn Store>,
    outage: Rc<Outage>,
}

async fn attempt(end: End, manager: Addr<LockManager>, batch: Vec<Attempt>) {
    let asked: Vec<_> = batch.iter().map(|attempt| Arc::clone(&attempt.acquisition)).collect();
    let outcomes = ask_each("acquire", asked.len(), || end.store.acquire_each(&asked)).await;
    let outcomes = end.outage.seen_each("acquire", outcomes);
    manager.do_send(Attempted(batch.into_iter().zip(outcomes).collect()));
}

async fn release(end: End, batch: Vec<Releasing>) {
    let asked: Vec<_> = batch.iter().map(|release| (&release.hold, release.cooldown)).collect();
    let answers = ask_each("release", asked.len(), || end.store.release_each(&asked)).await;
    let answers = end.outage.seen_each("release", answers);
    batch.into_iter().zip(answers).for_each(|(release, answer)| hand(release.then, answer));
}

/// Groups renewals by remaining time, so that an urgent one never waits for a relaxed one.
async fn renew(end: End, batch: Vec<Renewing>) {
    let mut alike = BTreeMap::<_, Vec<_>>::new();
    for renewal in batch {
        let urgency = u64::try_from(renewal.timeout.as_millis()).unwrap_or(u64::MAX).max(1).ilog2();
        alike.entry(urgency).or_default().push(renewal);
    }
    join_all(alike.into_values().map(|batch| renew_alike(&end, batch))).await;
}

async fn renew_alike(end: &End, batch: Vec<Renewing>) {
    let within = batch.iter().map(|renewal| renewal.timeout).min().unwrap_or_default();
    let asked: Vec<_> = batch.iter().map(|renewal| (&renewal.hold, renewal.ttl)).collect();
    let asked = ask_each("renew", asked.len(), || end.store.renew_each(&asked));
    let answers = timeout(within, asked).await;
    let answers = answers.unwrap_or_else(|_| vec![Err(StoreError::timed_out(within)); batch.len()]);
    let answers = end.outage.seen_each("renew", answers);
    batch.into_iter().zip(answers).for_each(|(renewal, answer)| hand(renewal.then, answer));
}

/// Sends each hand-off by itself. A resource has at most one at a time, so there is nothing to gather.
async fn hand_off(end: End, manager: Addr<LockManager>, batch: Vec<HandingOff>) {
    let one = async |handing_off: HandingOff| {
        let HandingOff { from, mut attempt, overtake, then } = handing_off;
        let answer = ask("hand_off", || end.store.hand_off(&from, &attempt.acquisition, overtake)).await;
        let (released, acquired) = match end.outage.seen("hand_off", answer) {
            Ok(handed_off) => {
                attempt.overtook = overtake && handed_off.others_wait;
                (Ok(handed_off.released), handed_off.acquired)
            }
            Err(error) => (Err(error.clone()), Err(error)),
        };
        manager.do_send(Attempted(vec![(attempt, acquired)]));
        hand(then, released);
    };
    join_all(batch.into_iter().map(one)).await;
}

/// Calls the continuation and catches its panic. Code of the application (its clock) may panic, which must not cost
/// the neighbours their answers.
fn hand<T>(then: Then<T>, answer: Result<T, StoreError>) {
    if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(|| then(answer))) {
        tracing::error!(panic = message_of(panic.as_ref()), "an answer of the store could not be acted on");
    }
}
