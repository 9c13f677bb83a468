//! One caller: it takes, holds, loses, drops and releases leases, and writes down what it held.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, Instant},
};

use actix::Addr;
use leasehold::{
    Acquire, AcquireError, Fence, Lease, LeaseStatus, LockManager, Mode, Owner, ReadLock, ReleaseError,
    Released, Request, ResourceName, WriteLock,
};
use leasehold_testing::history::{
    Held, History,
    lines::{self, Transcript},
};
use rand::{RngExt, rngs::StdRng};
use tokio::time::{sleep, timeout};

use super::{
    PERMITS,
    marks::Marks,
    micros, name,
    plan::{Kind, Plan},
    report::{Loss, Report},
};

/// The interval at which a holder checks whether it is done.
const LOOK: Duration = Duration::from_millis(5);

/// The time within which each request must have an answer, however many servers fail: many times the longest wait that is asked for.
const ANSWERED: Duration = Duration::from_secs(60);

/// One caller.
pub(crate) struct Caller {
    pub(super) plan: Rc<Plan>,
    pub(super) keeps: bool,
    pub(super) locks: Addr<LockManager>,
    pub(super) owner: String,
    pub(super) random: StdRng,
    pub(super) report: Rc<RefCell<Report>>,
    pub(super) history: Rc<History>,
    pub(super) without: Rc<RefCell<Transcript>>,
    pub(super) stop: Rc<Cell<bool>>,
    pub(super) marks: Rc<Marks>,
    /// The fence of the last lease of a resource whose release was not confirmed: the owner may re-enter it, also by a request that was
    /// answered only when it had gone.
    pub(super) unconfirmed: BTreeMap<String, Fence>,
}

impl Caller {
    /// Works until it is told to end.
    pub(crate) async fn run(mut self) {
        while !self.stop.get() {
            let (first_kept, all) = (self.plan.first_kept(), self.plan.resources);
            let mine = if self.keeps { first_kept..all } else { 0..first_kept };
            let resource = self.random.random_range(mine);
            match self.plan.kind(resource) {
                Kind::Exclusive => self.hold(resource, Mode::Exclusive, Acquire::new(name(resource))).await,
                Kind::ReadWrite if self.random.random_bool(0.8) => {
                    self.hold(resource, Mode::Shared, ReadLock::new(name(resource))).await;
                }
                Kind::ReadWrite => {
                    self.hold(resource, Mode::Exclusive, WriteLock::new(name(resource))).await;
                }
                Kind::Permits => {
                    let count = self.random.random_range(1..=3);
                    let asked = Acquire::new(name(resource)).permits(count, PERMITS);
                    self.hold(resource, Mode::permits(count, PERMITS).unwrap(), asked).await;
                }
                Kind::ReEntrant => self.re_enter(resource).await,
            }
            sleep(self.up_to(self.plan.pause)).await;
        }
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        self.random.random_range(Duration::ZERO..=most)
    }

    fn time_to_hold(&mut self) -> Duration {
        let long = 2 * self.plan.longest_ttl();
        if self.keeps {
            return self.up_to(long);
        }
        if self.random.random_bool(self.plan.long) {
            return long;
        }
        match self.random.random_bool(0.1) {
            true => Duration::from_millis(200),
            false => self.up_to(Duration::from_millis(10)),
        }
    }

    /// Takes a lease, holds it in one of several ways, and gives it up in one of several ways.
    async fn hold<Asked: 'static>(&mut self, resource: usize, mode: Mode, asked: Request<Asked>) {
        if let Some((lease, held, renews)) = self.acquire(resource, mode, asked).await {
            let time = self.time_to_hold();
            self.work(lease, held, renews, time).await;
        }
    }

    /// Takes a lease, and the same again while it has it.
    async fn re_enter(&mut self, resource: usize) {
        let (owner, history) = (self.owner.clone(), Rc::clone(&self.history));
        let asked = || Acquire::new(name(resource)).owner(owner.clone());
        let Some((outer, held, renews)) = self.acquire(resource, Mode::Exclusive, asked()).await else {
            return;
        };
        let (fence, done) = (held.fence, Cell::new(false));
        let again = async {
            if let Some((inner, held, too)) = self.acquire(resource, Mode::Exclusive, asked()).await {
                // If the outer one was lost meanwhile, this is a grant of its own.
                assert!(
                    held.fence >= fence,
                    "{held:?} has a smaller fence than the hold before it: {fence:?}"
                );
                let time = self.time_to_hold();
                self.work(inner, held, renews && too, time).await;
            }
            done.set(true);
        };
        let until_done = until(|| done.get());
        let watched = async {
            history.watch(&outer, held, until_done).await;
            micros()
        };
        let (watched_until, ()) = tokio::join!(watched, again);
        self.give_up(outer, renews, watched_until).await;
    }

    async fn acquire<Asked: 'static>(
        &mut self,
        resource: usize,
        mode: Mode,
        asked: Request<Asked>,
    ) -> Option<(Lease, Held, bool)> {
        let (shortest, longest) = self.plan.ttl;
        let ttl = self.random.random_range(shortest..=longest);
        let asked = asked.ttl(ttl).wait(Duration::from_millis(self.random.random_range(0..2_000)));
        let renews = !self.random.random_bool(self.plan.not_renewed);
        let asked = if renews { asked } else { asked.no_renew() };
        let gives_up = self.random.random_bool(0.1);
        let patience =
            if gives_up { Duration::from_millis(self.random.random_range(0..100)) } else { ANSWERED };
        let asked_at = self.history.now();
        let re_entrant = self.plan.kind(resource) == Kind::ReEntrant;
        let owner = re_entrant.then(|| Owner::new(&self.owner).unwrap());
        let request = lines::Request {
            resource: ResourceName::new(name(resource)).unwrap(),
            mode,
            owner: owner.clone(),
            ttl,
            asked: asked_at,
            answered: asked_at,
        };
        let Ok(answer) = timeout(patience, self.locks.send(asked)).await else {
            let mut report = self.report.borrow_mut();
            if gives_up {
                report.cancelled += 1;
            } else {
                let words = format!(
                    "a request for {} had no answer within {ANSWERED:?} from {asked_at:?}",
                    name(resource)
                );
                report.unanswered.push(words);
            }
            drop(report);
            self.got_none(request, false);
            return None;
        };
        let lease = match answer.unwrap() {
            Ok(lease) => lease,
            Err(AcquireError::Held { .. }) => {
                self.report.borrow_mut().refused += 1;
                self.got_none(request, true);
                return None;
            }
            Err(error) => {
                *self.report.borrow_mut().errors.entry(error.kind().to_owned()).or_default() += 1;
                self.got_none(request, false);
                return None;
            }
        };
        assert!(lease.fence().is_some(), "{lease:?} has no fence");
        self.marks.set(resource);
        let granted = self.history.granted(&lease, asked_at, ttl);
        let enters = owner.is_some() && self.unconfirmed.get(&name(resource)) == lease.fence().as_ref();
        let held = Held { owner, reentered: granted.reentered || enters, ..granted };
        Some((lease, held, renews))
    }

    /// Writes down a request that got no lease, if histories are kept: there may be as many of them as leases.
    fn got_none(&self, request: lines::Request, is_refused: bool) {
        if !lines::is_wanted() {
            return;
        }
        let request = lines::Request { answered: self.history.now(), ..request };
        let without = &mut *self.without.borrow_mut();
        let requests = if is_refused { &mut without.refused } else { &mut without.unanswered };
        // The process has a number only among those of its crew.
        requests.push((0, request));
    }

    /// Holds a lease for `time` or until it is lost, then drops or releases it.
    async fn work(&mut self, lease: Lease, held: Held, renews: bool, time: Duration) {
        let (start, stop) = (Instant::now(), Rc::clone(&self.stop));
        let done = until(|| start.elapsed() >= time || stop.get());
        self.history.watch(&lease, held, done).await;
        self.give_up(lease, renews, micros()).await;
    }

    /// Gives a lease up that was watched until this moment. One that is never renewed may be lost at any time.
    async fn give_up(&mut self, lease: Lease, renews: bool, watched_until: u64) {
        let (resource, fence) = (lease.resource().to_string(), lease.fence().map_or(0, Fence::get));
        let told = match lease.status() {
            LeaseStatus::Lost(reason) => Some(reason.as_str()),
            _ => None,
        };
        let left = lease.fence();
        let released = if self.random.random_bool(0.5) {
            drop(lease);
            None
        } else {
            Some(lease.release().await)
        };
        match (&released, left) {
            (Some(Ok(Released::Freed)), _) => drop(self.unconfirmed.remove(&resource)),
            (_, Some(fence)) => drop(self.unconfirmed.insert(resource.clone(), fence)),
            _ => {}
        }
        let found = match released {
            Some(Err(ReleaseError::Lost { reason })) => Some(reason.as_str()),
            Some(Err(ReleaseError::NotHolder)) => Some("not the holder"),
            _ => None,
        };
        if let Some(reason) = told.or(found).filter(|_| renews) {
            let (reason, found) = (reason.to_owned(), told.is_none());
            let at = if told.is_some() { watched_until } else { micros() };
            self.report.borrow_mut().losses.push(Loss { at, resource, fence, reason, found });
        }
    }
}

async fn until(is_done: impl Fn() -> bool) {
    while !is_done() {
        sleep(LOOK).await;
    }
}
