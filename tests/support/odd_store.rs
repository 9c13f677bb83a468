//! A store in memory whose acquisitions may be executed late, or panic, that can be away or without a queue, and that counts what it
//! is asked.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use leasehold::{
    MemoryStore, ResourceName, StoreError, Token,
    store::{Acquisition, Register, RegisterWrite, Store},
};
use leasehold_testing::decorated::{Decorated, Hooks, Verb};
use tokio::time::sleep;

/// A store in memory that does as it is told.
pub type OddStore = Decorated<MemoryStore, Arc<Odd>>;

/// Returns a store that is not odd yet.
pub fn odd_store(inner: MemoryStore) -> OddStore {
    let odd = Odd { inner: inner.clone(), ..Odd::default() };
    Decorated::new(inner, Arc::new(odd))
}

/// What an odd store was told, and what it was asked.
#[derive(Debug, Default)]
pub struct Odd {
    inner: MemoryStore,
    late: Mutex<VecDeque<Duration>>,
    panics: AtomicBool,
    down: AtomicBool,
    /// The milliseconds after which an acquisition is answered.
    acquisitions_take: AtomicU64,
    /// The milliseconds after which a renewal is answered.
    renewals_take: AtomicU64,
    renewals: AtomicU64,
    releases: AtomicU64,
    batches: Mutex<Vec<(&'static str, usize)>>,
    busy: AtomicBool,
    register_writes: AtomicU64,
}

impl Odd {
    /// The next acquisition is answered "timed out" at once, and executed after `delay`.
    pub fn execute_late(&self, delay: Duration) {
        self.late.lock().unwrap().push_back(delay);
    }

    /// Acquisitions are executed at once, and answered after `delay`.
    pub fn answer_acquisitions_after(&self, delay: Duration) {
        self.acquisitions_take.store(millis(delay), Ordering::Relaxed);
    }

    /// Renewals are executed at once, and answered after `delay`.
    pub fn answer_renewals_after(&self, delay: Duration) {
        self.renewals_take.store(millis(delay), Ordering::Relaxed);
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

    /// Executes acquisitions later, if it was told so.
    fn delay(&self, asked: &[Arc<Acquisition>]) -> Result<(), StoreError> {
        assert!(!self.panics.load(Ordering::Relaxed), "the store was told to panic");
        let Some(delay) = self.late.lock().unwrap().pop_front() else { return Ok(()) };
        let (inner, asked) = (self.inner.clone(), asked.to_vec());
        tokio::spawn(async move {
            sleep(delay).await;
            inner.acquire_each(&asked).await
        });
        Err(StoreError::timed_out(Duration::ZERO))
    }

    async fn write_before(&self, name: &ResourceName) -> Result<(), StoreError> {
        let number = self.register_writes.fetch_add(1, Ordering::Relaxed);
        if self.busy.load(Ordering::Relaxed) {
            let Register { revision: expected, value, .. } = self.inner.register(name, None).await?;
            let revision = Token::from_bits(u128::from(number));
            let other = RegisterWrite { expected, revision, value, not_before: Duration::ZERO };
            self.inner.register(name, Some(&other)).await?;
        }
        Ok(())
    }

    fn count(&self, verb: &'static str, counter: &AtomicU64, batch: usize) {
        counter.fetch_add(batch as u64, Ordering::Relaxed);
        self.batches.lock().unwrap().push((verb, batch));
    }

    /// Returns its answer while it is down.
    fn away(&self) -> Result<(), StoreError> {
        if !self.down.load(Ordering::Relaxed) {
            return Ok(());
        }
        let source = Some(Arc::new(std::io::Error::other("connection refused")) as _);
        Err(StoreError::Unavailable { reason: "nowhere: connection refused".to_owned(), source })
    }
}

impl Hooks for Odd {
    fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let may = match verb {
            Verb::Acquire(asked) => self.away().and_then(|()| self.delay(asked)),
            Verb::Renew(renewals) => {
                self.count("renew", &self.renewals, renewals.len());
                self.away()
            }
            Verb::Release(releases) => {
                self.count("release", &self.releases, releases.len());
                self.away()
            }
            Verb::Register(name, Some(_)) => return self.write_before(name).boxed(),
            _ => Ok(()),
        };
        async { may }.boxed()
    }

    fn after<'a>(&'a self, verb: Verb<'a>, _: &mut dyn Any) -> BoxFuture<'a, ()> {
        let takes = match verb {
            Verb::Acquire(_) => self.acquisitions_take.load(Ordering::Relaxed),
            Verb::Renew(_) => self.renewals_take.load(Ordering::Relaxed),
            _ => 0,
        };
        async move {
            if takes > 0 {
                sleep(Duration::from_millis(takes)).await;
            }
        }
        .boxed()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}
