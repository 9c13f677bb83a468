//! The acceptance suite for stores: the contract of a [`Store`], fact by fact.
//!
//! A store under test is a [`World`]. One line gives it a test for each fact; [`acceptance!`](crate::acceptance!) says how
//! to choose some of them.
//!
//! ```
//! # #![allow(dead_code)]
//! use std::{sync::{Arc, Mutex}, time::Duration};
//!
//! use leasehold::{MemoryStore, store::Store, env::{Clock, Moment}};
//! use leasehold_testing::acceptance::World;
//!
//! /// Stands still until it is told how much time has passed.
//! #[derive(Debug, Default)]
//! struct MyClock(Mutex<Duration>);
//!
//! impl Clock for MyClock {
//!     fn now(&self) -> Moment {
//!         Moment::since_origin(*self.0.lock().unwrap())
//!     }
//! }
//!
//! struct MyWorld {
//!     clock: Arc<MyClock>,
//!     store: MemoryStore,
//! }
//!
//! impl World for MyWorld {
//!     async fn start() -> Self {
//!         let clock = Arc::new(MyClock::default());
//!         Self { store: MemoryStore::new(clock.clone()), clock }
//!     }
//!
//!     fn store(&self) -> Arc<dyn Store> {
//!         Arc::new(self.store.clone())
//!     }
//!
//!     async fn pass(&self, time: Duration) {
//!         *self.clock.0.lock().unwrap() += time;
//!     }
//! }
//!
//! leasehold_testing::acceptance!(mine: MyWorld, exclusive, ends, names);
//! # fn main() {}
//! ```

mod ears;
#[doc(hidden)]
pub mod facts;
mod groups;
mod groups_of_some;
mod heard;
mod record;
mod recorded;
mod scene;
mod stamp;

use std::{
    any::type_name,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::future::LocalBoxFuture;
use tokio::runtime::Builder;

use self::record::Record;
#[doc(hidden)]
pub use self::scene::Scene;
use leasehold::{
    ResourceName,
    env::{Random, SystemRandom},
    store::{QuorumNode, Store},
};

/// A store under test, and the time that passes for it.
///
/// Each fact starts a world of its own, on a tokio runtime of its own with one thread, whose timers run in real time.
#[allow(async_fn_in_trait, reason = "a fact stays on one thread")]
pub trait World {
    /// True if the store has permits. Without them, facts about every mode take one more reader instead.
    const PERMITS: bool = true;

    /// Starts a store, or joins one that other facts use at the same time: each works on resources of its own.
    async fn start() -> Self;

    /// Returns the store. All that are returned share what is held.
    fn store(&self) -> Arc<dyn Store>;

    /// Returns the same store as a node of a quorum. Only the groups `fences` and `lives` need it.
    fn node(&self) -> Option<Arc<dyn QuorumNode>> {
        None
    }

    /// Lets time pass for the store: what ends within `time` has ended when this returns.
    ///
    /// Facts let seconds pass, and minutes. A store without a clock that can be moved has to wait as long.
    async fn pass(&self, time: Duration);

    /// Returns names of resources that nobody else knows, at least one on each server that sends notifications on its own.
    ///
    /// The notifications of two servers may arrive in any order. The default is one name, for a single server.
    fn everywhere(&self) -> Vec<ResourceName> {
        vec![ResourceName::new(unique("fact/")).unwrap()]
    }
}

/// Returns a text that nobody else has, for the name of a resource.
pub fn unique(beginning: &str) -> String {
    format!("{beginning}{}", SystemRandom.token().to_hex())
}

/// Shows that a fact holds in a world.
// Compiled once for a world, and not once for each of its facts.
#[inline(never)]
#[doc(hidden)]
pub fn show<W: World + 'static>(fact: fn(Scene) -> LocalBoxFuture<'static, ()>) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let record = Arc::new(Record::default());
    let scene = async { fact(Scene::set::<W>(Arc::clone(&record)).await).await };
    // A fact that does not hold leaves its history, too.
    let shown = catch_unwind(AssertUnwindSafe(|| runtime.block_on(scene)));
    let world = type_name::<W>().rsplit("::").next().unwrap_or_default();
    record.take().keep(&format!("acceptance_{}", world.trim_end_matches("World").to_lowercase()));
    shown.unwrap_or_else(|panic| resume_unwind(panic));
}
