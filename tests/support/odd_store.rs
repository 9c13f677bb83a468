//! A store in memory whose acquisitions may be executed late, or panic, that can be away or without a queue, and that counts what it
//! is asked.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use leasehold::{
    Fence, Inspection, Listing, MemoryStore, ResourceName, StoreError, Token,
    rules::{AcquiredFrom, Incarnation, Recovered, Report},
    store::{
        Acquired, Acquisition, Hold, Inbox, Notifications, QuorumNode, Register, RegisterWrite, Released,
        Renewed, Replies, Reply, Store, Walk, join_replies,
    },
};

/// A store in memory that does as it is told.
#[derive(Clone, Debug)]
pub struct OddStore {
    inner: MemoryStore,
    late: Arc<Mutex<VecDeque<Duration>>>,
    panics: Arc<AtomicBool>,
    down: Arc<AtomicBool>,
    plain: bool,
    /// The milliseconds after which an acquisition is answered.
    acquisitions_take: Arc<AtomicU64>,
    /// The milliseconds after which a renewal is answered.
    renewals_take: Arc<AtomicU64>,
    renewals: Arc<AtomicU64>,
    releases: Arc<AtomicU64>,
    batches: Arc<Mutex<Vec<(&'static str, usize)>>>,
    busy: Arc<AtomicBool>,
    register_writes: Arc<AtomicU64>,
}

impl OddStore {
    /// A store that is not odd yet.
    pub fn new(inner: MemoryStore) -> Self {
        let (late, panics, down) = (Arc::default(), Arc::default(), Arc::default());
        let (renewals, releases, batches) = (Arc::default(), Arc::default(), Arc::default());
        let (acquisitions_take, renewals_take) = (Arc::default(), Arc::default());
        let (busy, register_writes) = (Arc::default(), Arc::default());
        let plain = false;
        Self {
            inner,
            late,
            panics,
            down,
            plain,
            acquisitions_take,
            renewals_take,
            renewals,
            releases,
            batches,
            busy,
            register_writes,
        }
    }

    /// It has no queue and notifies nobody, as a server with the plain layout.
    pub fn plain(inner: MemoryStore) -> Self {
        Self { plain: true, ..Self::new(inner) }
    }

    /// The next acquisition is answered "timed out" at once, and executed after `delay`.
    pub fn execute_late(&self, delay: Duration) {
        self.late.lock().unwrap().push_back(delay);
    }

    /// Acquisitions are executed at once, and answered after `delay`.
    pub fn answer_acquisitions_after(&self, delay: Duration) {
        self.acquisitions_take.store(u64::try_from(delay.as_millis()).unwrap(), Ordering::Relaxed);
    }

    /// Renewals are executed at once, and answered after `delay`.
    pub fn answer_renewals_after(&self, delay: Duration) {
        self.renewals_take.store(u64::try_from(delay.as_millis()).unwrap(), Ordering::Relaxed);
    }

    /// Acquisitions panic before they have a future.
    pub fn panic_from_now_on(&self) {
        self.panics.store(true, Ordering::Relaxed);
    }

    /// Somebody else writes a register right before each write to it, from now on: the same value, as a new revision.
    pub fn keep_registers_busy(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    /// The number of writes to registers that it was asked for.
    pub fn register_writes(&self) -> u64 {
        self.register_writes.load(Ordering::Relaxed)
    }

    /// Nothing is executed while it is down.
    pub fn go_down(&self, down: bool) {
        self.down.store(down, Ordering::Relaxed);
    }

    /// What it answers instead of executing a verb.
    fn away<'a, T: Send + 'a>(&self) -> Option<Reply<'a, T>> {
        self.down.load(Ordering::Relaxed).then(|| {
            let source = Some(Arc::new(std::io::Error::other("connection refused")) as _);
            let reason = "nowhere: connection refused".to_owned();
            async { Err(StoreError::Unavailable { reason, source }) }.boxed()
        })
    }

    /// The number of renewals that it was asked for.
    pub fn renewals(&self) -> u64 {
        self.renewals.load(Ordering::Relaxed)
    }

    /// The renewals and releases that came together, since this was asked last: which verb, and how many of it.
    pub fn batches(&self) -> Vec<(&'static str, usize)> {
        std::mem::take(&mut self.batches.lock().unwrap())
    }

    /// The number of releases that it was asked for.
    pub fn releases(&self) -> u64 {
        self.releases.load(Ordering::Relaxed)
    }
}

impl OddStore {
    fn acquire_one<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired> {
        assert!(!self.panics.load(Ordering::Relaxed), "the store was told to panic");
        if let Some(away) = self.away() {
            return away;
        }
        if self.plain {
            let (inner, mut asked) = (self.inner.clone(), asked.clone());
            asked.ticket = None;
            return async move { inner.acquire(&asked).await }.boxed();
        }
        let takes = Duration::from_millis(self.acquisitions_take.load(Ordering::Relaxed));
        let Some(delay) = self.late.lock().unwrap().pop_front() else {
            let executed = self.inner.acquire(asked);
            return if takes.is_zero() {
                executed
            } else {
                executed.then(move |it| after(takes, it)).boxed()
            };
        };
        let (inner, asked) = (self.inner.clone(), asked.clone());
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            inner.acquire(&asked).await
        });
        Box::pin(async { Err(StoreError::timed_out(Duration::ZERO)) })
    }

    fn renew_one<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        self.renewals.fetch_add(1, Ordering::Relaxed);
        let takes = Duration::from_millis(self.renewals_take.load(Ordering::Relaxed));
        if takes.is_zero() {
            return self.away().unwrap_or_else(|| self.inner.renew(hold, ttl));
        }
        self.inner.renew(hold, ttl).then(move |answer| after(takes, answer)).boxed()
    }

    fn release_one<'a>(&'a self, hold: &'a Hold, cooldown: Duration) -> Reply<'a, Released> {
        self.releases.fetch_add(1, Ordering::Relaxed);
        self.away().unwrap_or_else(|| self.inner.release(hold, cooldown))
    }
}

impl Store for OddStore {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        join_replies(asked.iter().map(|asked| self.acquire_one(asked)))
    }

    fn renew_each<'a>(&'a self, renewals: &'a [(&'a Hold, Duration)]) -> Replies<'a, Renewed> {
        self.batches.lock().unwrap().push(("renew", renewals.len()));
        join_replies(renewals.iter().map(|(hold, ttl)| self.renew_one(hold, *ttl)))
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        self.batches.lock().unwrap().push(("release", releases.len()));
        join_replies(releases.iter().map(|(hold, cooldown)| self.release_one(hold, *cooldown)))
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

    fn register<'a>(
        &'a self,
        name: &'a ResourceName,
        write: Option<&'a RegisterWrite>,
    ) -> Reply<'a, Register> {
        let writing = async move {
            if write.is_some() {
                let number = self.register_writes.fetch_add(1, Ordering::Relaxed);
                if self.busy.load(Ordering::Relaxed) {
                    let Register { revision: expected, value, .. } = self.inner.register(name, None).await?;
                    let revision = Token::from_bits(u128::from(number));
                    let other = RegisterWrite { expected, revision, value, not_before: Duration::ZERO };
                    self.inner.register(name, Some(&other)).await?;
                }
            }
            self.inner.register(name, write).await
        };
        writing.boxed()
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        if self.plain { stream::empty().boxed() } else { self.inner.listen(inbox) }
    }
}

/// As a node it does not follow proposals, and does not say what it may have forgotten.
impl QuorumNode for OddStore {
    fn acquire_each_from<'a>(
        &'a self,
        asked: &'a [Arc<Acquisition>],
        _: Fence,
    ) -> BoxFuture<'a, AcquiredFrom> {
        self.acquire_each(asked).map(AcquiredFrom::without_clock).boxed()
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        join_replies(raises.iter().map(|_| unsupported()))
    }

    fn incarnation(&self) -> Reply<'_, Incarnation> {
        unsupported()
    }

    fn report(&self) -> Reply<'_, Report> {
        unsupported()
    }

    fn teach<'a>(&'a self, _: &'a Recovered) -> Reply<'a, ()> {
        unsupported()
    }
}

/// Returns an answer after this time.
async fn after<T>(takes: Duration, answer: T) -> T {
    tokio::time::sleep(takes).await;
    answer
}

fn unsupported<'a, T: Send + 'a>() -> Reply<'a, T> {
    let (asked, reason) = ("to be a node".to_owned(), "it is odd".to_owned());
    async { Err(StoreError::Unsupported { asked, reason }) }.boxed()
}
