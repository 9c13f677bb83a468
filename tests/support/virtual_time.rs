//! Actors in virtual time: a runtime whose clock jumps to the next timer whenever nothing else is to do.
//!
//! Time is a source of non-determinism. Here hours pass in milliseconds, and a test that fails fails again.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr, Context, Handler};
use leasehold::{
    LeaseChange, LeaseEvent, LockManager, LockManagerBuilder, MemoryStore, ResourceName, Settings, Token,
    env::{Draw, Random, RuntimeClock},
    store::{Store, Walk},
};

/// Runs a test in an actix system whose time is paused.
pub fn in_virtual_time<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    actix::System::with_tokio_rt(runtime).block_on(test());
}

/// A memory store, and managers on it that see the same virtual time.
pub struct World {
    /// The store.
    pub store: MemoryStore,
    clock: Arc<RuntimeClock>,
}

impl World {
    /// An empty store, at the beginning of time.
    pub fn new() -> Self {
        let clock = Arc::new(RuntimeClock::start());
        Self { store: MemoryStore::new(clock.clone()), clock }
    }

    /// The builder of a manager on the store.
    pub fn builder(&self) -> LockManagerBuilder {
        self.builder_on(Arc::new(self.store.clone()))
    }

    /// The builder of a manager on another store, such as one around that of this world.
    pub fn builder_on(&self, store: Arc<dyn Store>) -> LockManagerBuilder {
        LockManager::builder(store).clock(self.clock.clone())
    }

    /// A manager that starts here.
    pub fn manager(&self) -> Addr<LockManager> {
        self.manager_with(Loaded::new(|_| false))
    }

    /// A manager whose waiters all stand in the queue of the store.
    pub fn strict_manager(&self) -> Addr<LockManager> {
        self.passing_manager(0)
    }

    /// A manager with this `local_handover_limit`.
    pub fn passing_manager(&self, local_handover_limit: u32) -> Addr<LockManager> {
        let mut settings = Settings::default();
        settings.wait.local_handover_limit = local_handover_limit;
        self.builder().settings(settings).random(Arc::new(Loaded::new(|_| false))).start_here().unwrap()
    }

    /// A manager that draws from these random numbers.
    pub fn manager_with(&self, random: impl Random) -> Addr<LockManager> {
        self.builder().random(Arc::new(random)).start_here().unwrap()
    }
}

impl World {
    /// How many resources are not free, or waited for, when everything that is on its way has arrived.
    pub async fn left(&self) -> usize {
        tokio::time::sleep(millis(1)).await;
        let listed = self.store.list(&Walk::new(b"", 100)).await.unwrap().resources.len();
        let waited_for = ResourceName::new("r").unwrap();
        let waiting = self.store.inspect(&waited_for, 1).await.unwrap().waiting;
        listed + usize::try_from(waiting).unwrap()
    }
}

/// Random numbers that answer 0.5, and panic when they are told to.
pub struct Loaded {
    panics: Box<dyn Fn(Draw) -> bool + Send + Sync>,
}

impl Loaded {
    /// Panics when `panics` says so of what is drawn for.
    pub fn new(panics: impl Fn(Draw) -> bool + Send + Sync + 'static) -> Self {
        Self { panics: Box::new(panics) }
    }
}

impl Random for Loaded {
    fn draw(&self, what: Draw) -> f64 {
        assert!(!(self.panics)(what), "the random numbers were told to panic");
        0.5
    }

    fn token(&self) -> Token {
        // One sequence for all: two managers of one store must not give the same token.
        static TOKENS: AtomicU64 = AtomicU64::new(1);
        Token::from_bits(u128::from(TOKENS.fetch_add(1, Ordering::Relaxed)) << 96)
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loaded")
    }
}

/// An actor that writes down the events it is told.
#[derive(Clone, Default)]
pub struct Listener(Arc<Mutex<Vec<LeaseChange>>>);

impl Listener {
    /// Returns what it was told so far.
    pub fn heard(&self) -> Vec<LeaseChange> {
        self.0.lock().unwrap().clone()
    }

    /// Returns true if it was told of this change.
    pub fn has_heard(&self, change: LeaseChange) -> bool {
        self.heard().contains(&change)
    }
}

impl Actor for Listener {
    type Context = Context<Self>;
}

impl Handler<LeaseEvent> for Listener {
    type Result = ();

    fn handle(&mut self, event: LeaseEvent, _: &mut Self::Context) {
        self.0.lock().unwrap().push(event.change);
    }
}

/// So many seconds.
pub const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// So many milliseconds.
pub const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
