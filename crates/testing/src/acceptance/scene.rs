//! The scene of one fact: a store, and the verbs as its tests use them.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt, future::LocalBoxFuture};
use leasehold::{
    Fence, Inspection, Mode, Owner, ResourceName, StoreError, Token,
    env::{Random, SystemRandom},
    store::{
        Acquired, Acquisition, Grant, HandedOff, Hold, Inbox, QueueTicket, QuorumNode, Refusal, Released,
        Renewed, Store,
    },
};

use super::{World, heard::Heard, record::Record, recorded::Recorded, unique};
use crate::history::lines;

/// A world of any kind. With it each fact is compiled once, and not once for each world.
pub(super) trait AnyWorld {
    fn pass(&self, time: Duration) -> LocalBoxFuture<'_, ()>;

    fn everywhere(&self) -> Vec<ResourceName>;
}

impl<W: World> AnyWorld for W {
    fn pass(&self, time: Duration) -> LocalBoxFuture<'_, ()> {
        World::pass(self, time).boxed_local()
    }

    fn everywhere(&self) -> Vec<ResourceName> {
        World::everywhere(self)
    }
}

/// One fact under test: a store, and a resource of which nobody else knows.
pub struct Scene {
    pub(super) world: Box<dyn AnyWorld>,
    has_permits: bool,
    pub(super) store: Arc<dyn Store>,
    node: Option<Arc<dyn QuorumNode>>,
    pub(super) name: ResourceName,
    pub(super) inbox: Inbox,
    pub(super) heard_before: RefCell<BTreeSet<Heard>>,
    record: Arc<Record>,
}

/// The TTL of every acquisition that does not say another.
pub(super) const TTL: Duration = Duration::from_secs(10);
/// The time for which a place is kept that is not refreshed.
pub(super) const TICKET_TTL: Duration = Duration::from_secs(30);
/// The time for which a hand-over is kept that nobody takes up.
pub(super) const WINDOW: Duration = Duration::from_secs(4);

impl Scene {
    pub(super) async fn set<W: World + 'static>(record: Arc<Record>) -> Self {
        let world = W::start().await;
        BEGAN.set(Some(Instant::now()));
        let (mut store, node) = (world.store(), world.node());
        if lines::is_wanted() {
            store = Arc::new(Recorded { inner: store, record: Arc::clone(&record) });
        }
        let name = ResourceName::new(unique("fact/")).unwrap();
        let scene = Self {
            world: Box::new(world),
            has_permits: W::PERMITS,
            store,
            node,
            name,
            inbox: Inbox(SystemRandom.token()),
            heard_before: RefCell::default(),
            record,
        };
        scene.somebody_hears().await;
        scene
    }

    pub(super) fn node(&self) -> &dyn QuorumNode {
        &**self.node.as_ref().expect("a world for facts about nodes has one")
    }

    pub(super) fn ask(&self, mode: Mode) -> Acquisition {
        let hold = Hold { resource: self.name.clone(), token: SystemRandom.token(), owner: None };
        let metadata = BTreeMap::from([("purpose".to_owned(), "acceptance".to_owned())]).into();
        Acquisition {
            hold,
            mode,
            reentrant: false,
            ttl: TTL,
            lock_delay: Duration::ZERO,
            metadata,
            ticket: None,
        }
    }

    pub(super) fn exclusive(&self) -> Acquisition {
        self.ask(Mode::Exclusive)
    }

    pub(super) fn reentrant(&self, owner: &str) -> Acquisition {
        Acquisition { reentrant: true, ..owned(owner, self.exclusive()) }
    }

    pub(super) fn shared(&self) -> Acquisition {
        self.ask(Mode::Shared)
    }

    pub(super) fn permits(&self, count: u32, of: u32) -> Acquisition {
        let permits = Mode::permits(count, of).unwrap();
        self.ask(if self.has_permits { permits } else { Mode::Shared })
    }

    pub(super) async fn granted(&self, asked: &Acquisition) -> Grant {
        match self.store.acquire(asked).await.unwrap() {
            Acquired::Granted(grant) => grant,
            other => panic!("{:?} was not granted: {other:?}", asked.mode),
        }
    }

    pub(super) async fn refused(&self, asked: &Acquisition) -> Refusal {
        match self.store.acquire(asked).await.unwrap() {
            Acquired::Refused(refusal) => refusal,
            other => panic!("{:?} was not refused: {other:?}", asked.mode),
        }
    }

    /// The same, but it waits if somebody is in its way.
    pub(super) fn waiting(&self, asked: Acquisition) -> Acquisition {
        let ticket = QueueTicket {
            inbox: self.inbox,
            ttl: TICKET_TTL,
            grant_window: WINDOW,
            max_waiters: 2_000,
            place: None,
        };
        Acquisition { ticket: Some(ticket), ..asked }
    }

    /// Returns the number of those ahead of it.
    pub(super) async fn queued(&self, asked: &Acquisition) -> u64 {
        match self.store.acquire(asked).await.unwrap() {
            Acquired::Queued { ahead, .. } => ahead,
            other => panic!("{:?} does not wait: {other:?}", asked.mode),
        }
    }

    /// Puts all of them in the queue, in this order.
    pub(super) async fn line_up<const N: usize>(&self, asked: [Acquisition; N]) -> [Acquisition; N] {
        let asked = asked.map(|asked| self.waiting(asked));
        for asked in &asked {
            self.queued(asked).await;
        }
        asked
    }

    pub(super) async fn waiters(&self) -> u64 {
        self.inspect().await.waiting
    }

    pub(super) async fn failed(&self, asked: &Acquisition) -> StoreError {
        match self.store.acquire(asked).await {
            Ok(answer) => panic!("{:?} was answered {answer:?}", asked.mode),
            Err(error) => error,
        }
    }

    pub(super) async fn fence(&self, asked: &Acquisition) -> Fence {
        self.granted(asked).await.fence.unwrap()
    }

    pub(super) async fn renew(&self, asked: &Acquisition) -> Renewed {
        self.store.renew(&asked.hold, asked.ttl).await.unwrap()
    }

    pub(super) async fn release(&self, asked: &Acquisition) -> Released {
        self.release_closed_for(asked, Duration::ZERO).await
    }

    pub(super) async fn release_closed_for(&self, asked: &Acquisition, cooldown: Duration) -> Released {
        self.store.release(&asked.hold, cooldown).await.unwrap()
    }

    /// Passes a hold on.
    pub(super) async fn passed(&self, from: &Acquisition, to: &Acquisition, overtake: bool) -> HandedOff {
        self.store.hand_off(&from.hold, to, overtake).await.unwrap()
    }

    pub(super) async fn is_held(&self, asked: &Acquisition) -> bool {
        self.store.is_held(&asked.hold).await.unwrap()
    }

    pub(super) async fn inspect(&self) -> Inspection {
        self.store.inspect(&self.name, 100).await.unwrap()
    }

    pub(super) async fn pass(&self, time: Duration) {
        self.world.pass(time).await;
        self.record.pass(time);
    }
}

/// The same, of a resource that nobody else has.
pub(super) fn elsewhere(mut asked: Acquisition) -> Acquisition {
    asked.hold.resource = ResourceName::new(unique("fact/")).unwrap();
    asked
}

pub(super) fn owned(owner: &str, mut asked: Acquisition) -> Acquisition {
    asked.hold.owner = Some(Owner::new(owner).unwrap());
    asked
}

pub(super) fn tokens<'a>(asked: impl IntoIterator<Item = &'a Acquisition>) -> Vec<Token> {
    asked.into_iter().map(|asked| asked.hold.token).collect()
}

pub(super) const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The time by which a remaining time may be shorter, beside the time that the fact has taken so far.
const SLACK: Duration = Duration::from_millis(300);

thread_local! {
    /// The beginning of the fact that runs on this thread.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

#[track_caller]
pub(super) fn assert_about(actual: Duration, expected: Duration) {
    let taken = BEGAN.get().map_or(Duration::ZERO, |began| began.elapsed());
    let within = actual <= expected && actual + taken + SLACK > expected;
    assert!(within, "{actual:?} is not about {expected:?}");
}
