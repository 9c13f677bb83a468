//! A recipient that writes down what an election tells it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use actix::{Actor, Addr, Context, Handler, Recipient, ResponseFuture};
use leasehold::{
    Acquire, Lease, LockManager,
    election::{Candidacy, Demotion, Election, ElectionEvent},
};
use tokio::time::{Instant, sleep};

use support::virtual_time::{millis, secs};

/// What was told, without the lease.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// The term, and the fence.
    Elected(u64, u64),
    Demoted(u64, Demotion),
    /// The fence of the leader.
    LeaderChanged(Option<u64>),
    /// The kind of the error, and the pause.
    NotStanding(&'static str, Option<Duration>),
}

/// What a witness has heard, and when; and the leases of its terms.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<(Instant, Told)>>>, Arc<Mutex<Vec<Arc<Lease>>>>);

impl Heard {
    pub(crate) fn all(&self) -> Vec<Told> {
        self.0.lock().unwrap().iter().map(|(_, told)| told.clone()).collect()
    }

    /// Returns what was told of this candidate's own terms.
    pub(crate) fn terms(&self) -> Vec<Told> {
        let mut told = self.all();
        told.retain(|told| !matches!(told, Told::LeaderChanged(_)));
        told
    }

    pub(crate) fn fences(&self) -> Vec<u64> {
        let fence = |told| match told {
            Told::Elected(_, fence) => Some(fence),
            _ => None,
        };
        self.all().into_iter().filter_map(fence).collect()
    }

    pub(crate) fn demotions(&self) -> Vec<Demotion> {
        let reason = |told| match told {
            Told::Demoted(_, reason) => Some(reason),
            _ => None,
        };
        self.all().into_iter().filter_map(reason).collect()
    }

    /// Returns the moment at which the last of these was told.
    pub(crate) fn when(&self, is_it: impl Fn(&Told) -> bool) -> Instant {
        let heard = self.0.lock().unwrap();
        heard.iter().rfind(|(_, told)| is_it(told)).expect("told").0
    }

    pub(crate) fn elected_at(&self) -> Instant {
        self.when(|told| matches!(told, Told::Elected(..)))
    }

    pub(crate) fn demoted_at(&self) -> Instant {
        self.when(|told| matches!(told, Told::Demoted(..)))
    }

    /// Returns the lease of the last term.
    pub(crate) fn lease(&self) -> Arc<Lease> {
        Arc::clone(self.1.lock().unwrap().last().expect("elected"))
    }

    /// Returns true if the last thing that was told of its own terms is that it leads.
    pub(crate) fn leads(&self) -> bool {
        matches!(self.terms().last(), Some(Told::Elected(..)))
    }

    /// Waits until this candidate was elected so many times.
    pub(crate) async fn elected(&self, times: usize) {
        until(&format!("elected {times} times"), || self.fences().len() >= times).await;
    }
}

/// Waits until a condition holds, for an hour at most.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < secs(3_600), "never: {what}");
        sleep(millis(1)).await;
    }
}

/// Writes down what it is told, and takes some time to finish when its term ends.
pub(crate) struct Witness {
    heard: Heard,
    finishes_in: Duration,
}

impl Witness {
    pub(crate) fn start(heard: &Heard, finishes_in: Duration) -> Recipient<ElectionEvent> {
        Actor::start(Self { heard: heard.clone(), finishes_in }).recipient()
    }
}

impl Actor for Witness {
    type Context = Context<Self>;
}

impl Handler<ElectionEvent> for Witness {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, event: ElectionEvent, _: &mut Self::Context) -> Self::Result {
        let mut finishes_in = Duration::ZERO;
        let told = match event {
            ElectionEvent::Elected { term, fence, lease } => {
                self.heard.1.lock().unwrap().push(lease);
                Told::Elected(term, fence.unwrap().get())
            }
            ElectionEvent::Demoted { term, reason } => {
                finishes_in = self.finishes_in;
                Told::Demoted(term, reason)
            }
            ElectionEvent::LeaderChanged { to } => {
                Told::LeaderChanged(to.map(|leader| leader.fence.unwrap().get()))
            }
            ElectionEvent::NotStanding { error, again_in } => Told::NotStanding(error.kind(), again_in),
            event => panic!("what is this? {event:?}"),
        };
        self.heard.0.lock().unwrap().push((Instant::now(), told));
        Box::pin(sleep(finishes_in))
    }
}

/// The TTL of the elections in these tests.
pub(crate) const TTL: Duration = secs(10);

/// A candidacy for `r` that a witness hears of.
pub(crate) fn candidacy(heard: &Heard) -> Candidacy {
    Candidacy::from(Acquire::new("r").ttl(TTL)).tell(Witness::start(heard, Duration::ZERO))
}

/// Starts a candidate for `r`.
pub(crate) fn stand(locks: &Addr<LockManager>) -> (Addr<Election>, Heard) {
    let heard = Heard::default();
    (Election::start(locks, candidacy(&heard)).unwrap(), heard)
}
