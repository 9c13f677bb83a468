//! The history of leases: who held what from when until when, and whether that was right.
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! use leasehold::{Acquire, LockManager, MemoryStore, env::RuntimeClock};
//! use leasehold_testing::history::History;
//!
//! # let paused = || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
//! # actix::System::with_tokio_rt(paused).block_on(async {
//! let clock = Arc::new(RuntimeClock::start());
//! let store = Arc::new(MemoryStore::new(clock.clone()));
//! let locks = LockManager::builder(store).clock(clock.clone()).start_here().unwrap();
//! let history = History::with_clock(clock);
//! let ttl = Duration::from_secs(10);
//! let holder = async || {
//!     let asked = history.now();
//!     let wait = Duration::from_secs(60);
//!     let lease = locks.send(Acquire::new("r").ttl(ttl).wait(wait)).await.unwrap().unwrap();
//!     let work = tokio::time::sleep(Duration::from_secs(15));
//!     history.watch(&lease, history.granted(&lease, asked, ttl), work).await.expect("not lost");
//!     lease.release().await.unwrap();
//! };
//! tokio::join!(holder(), holder(), holder());
//! assert_eq!(history.violations(), Vec::<String>::new());
//! # });
//! ```
//!
//! The histories of several processes are put together before they are checked: [`Held`] can be serialized. They need one
//! clock. The processes of one Linux host have one, which [`History::new`] reads. [`lines`] has the form in which a history is
//! given to external checkers.

mod believed;
mod check;
mod held;
pub mod lines;
#[cfg(test)]
mod tests;

use std::{
    cell::Cell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::sleep;

#[doc(hidden)]
pub use self::believed::{Believed, Finding, Resource, conflicting};
pub use self::{
    check::{Conflict, conflicts, fences, fences_of_quorum, told_late},
    held::Held,
};
use leasehold::{
    Lease, LeaseStatus,
    env::{Clock, Moment, SystemClock},
};

/// A record of leases, by their holders.
#[derive(Debug)]
pub struct History {
    clock: Arc<dyn Clock>,
    held: Mutex<Vec<Held>>,
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

impl History {
    /// Starts a record in real time.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// Starts a record by the clock of the managers whose leases are recorded.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, held: Mutex::default() }
    }

    /// Returns the present moment of its clock.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Begins the entry of a lease that is granted now, and was asked for at `asked` with this TTL.
    ///
    /// The owner of a re-entrant lease has to be added: a lease does not tell it.
    pub fn granted(&self, lease: &Lease, asked: Moment, ttl: Duration) -> Held {
        let now = self.now();
        Held {
            resource: lease.resource().clone(),
            mode: lease.mode(),
            owner: None,
            reentered: lease.holds() > 1,
            fence: lease.fence(),
            ttl,
            asked,
            granted: now,
            valid_until: now + lease.remaining(),
            stopped: now,
            lost: None,
        }
    }

    /// Does some work while the lease is held, and adds the entry when the work is done or the lease is lost. Returns
    /// `None` if it was lost first; the work is dropped then.
    ///
    /// The lease is not released. That must come after this, or what is recorded would be too long.
    pub async fn watch<T>(&self, lease: &Lease, held: Held, work: impl Future<Output = T>) -> Option<T> {
        let valid_until = Cell::new(held.valid_until);
        let look = || {
            // Before the question, for the answer may wait for a turn on a processor.
            let now = self.now();
            let left = lease.remaining();
            if !left.is_zero() {
                valid_until.set(now + left);
            }
        };
        // Often enough to see every renewal.
        let pause = (held.ttl / 400).max(Duration::from_millis(5));
        let looking = async {
            loop {
                look();
                sleep(pause).await;
            }
        };
        let (told, done) = tokio::select! {
            biased;
            reason = lease.lost() => (Some(reason), None),
            never = looking => never,
            done = work => (None, Some(done)),
        };
        look();
        let lost = match lease.status() {
            LeaseStatus::Lost(reason) => told.or(Some(reason)),
            _ => None,
        };
        // After the question: it may be believed in until now, but no longer than it was said to hold.
        let (stopped, valid_until) = (self.now(), valid_until.get());
        self.add(Held { valid_until, stopped, lost, ..held });
        done
    }

    /// Adds an entry, of a lease that was watched in another way or in another process.
    pub fn add(&self, held: Held) {
        self.entries().push(held);
    }

    /// Takes all entries out.
    pub fn take(&self) -> Vec<Held> {
        std::mem::take(&mut self.entries())
    }

    /// Returns everything that must not have been, in words: [`conflicts`], [`fences`] and [`told_late`]. For a quorum see
    /// [`fences_of_quorum`].
    pub fn violations(&self) -> Vec<String> {
        let held = self.entries();
        let late = told_late(&*held, &[]).into_iter().map(|late| format!("told too late: {late:?}"));
        let conflicts = conflicts(&*held).into_iter().map(|conflict| conflict.what);
        conflicts.chain(fences(&*held)).chain(late).collect()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
