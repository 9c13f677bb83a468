//! What every store must do, fact by fact. A store under test is a [`World`]; one line gives it the whole suite:
//!
//! ```ignore
//! acceptance!(memory: MemoryWorld);                       // all facts
//! acceptance!(quorum: QuorumWorld, exclusive, shared);    // those of some groups
//! ```

#[macro_use]
mod facts;
mod batches;
mod dead;
mod ears;
mod ends;
mod exclusive;
mod fences;
mod hand_over;
mod heads;
mod inspection;
mod leaving;
mod names;
mod next;
mod overtaking;
mod passing;
mod permits;
mod queue;
mod reentry;
mod shared;
mod textbook;
mod together;

use std::collections::BTreeMap;
use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::LocalBoxFuture};
use leasehold::{
    Fence, Inspection, Mode, Owner, ResourceName, StoreError, Token,
    store::{
        Acquired, Acquisition, Grant, HandedOff, Hold, Inbox, Notification, Notifications, QueueTicket,
        QuorumNode, Refusal, Released, Renewed, Store,
    },
    testing::{Random, SystemRandom},
};
use tokio::runtime::Builder;

use self::ears::{Heard, next, unheard};
pub(crate) use self::{
    batches::*, dead::*, ends::*, exclusive::*, fences::*, hand_over::*, heads::*, inspection::*, leaving::*,
    names::*, next::*, overtaking::*, passing::*, permits::*, queue::*, reentry::*, shared::*, textbook::*,
    together::*,
};

/// A store, and the time that passes for it.
pub(crate) trait World {
    /// Whether the store has permits. Where it has not, facts that are about every mode take one more reader instead.
    const PERMITS: bool = true;

    /// Starts a store. It may be shared with other facts: each works on resources of its own.
    async fn start() -> Self;

    fn store(&self) -> Arc<dyn Store>;

    /// The same store, if it can be a node of a quorum.
    fn node(&self) -> Option<Arc<dyn QuorumNode>> {
        None
    }

    /// Lets time pass for the store.
    async fn pass(&self, time: Duration);

    /// Names of resources of which nobody else knows, at least one on each server that announces by itself: what two of
    /// them say may arrive in any order.
    fn everywhere(&self) -> Vec<ResourceName> {
        vec![ResourceName::new(unique("fact/")).unwrap()]
    }
}

/// A world of any kind. With it each fact is compiled once, and not once for each world.
trait AnyWorld {
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
pub(crate) struct Scene {
    world: Box<dyn AnyWorld>,
    has_permits: bool,
    store: Arc<dyn Store>,
    node: Option<Arc<dyn QuorumNode>>,
    name: ResourceName,
    inbox: Inbox,
}

/// Shows that a fact holds in a world.
pub(crate) fn show<W: World + 'static>(fact: fn(Scene) -> LocalBoxFuture<'static, ()>) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { fact(Scene::set::<W>().await).await });
}

/// The TTL of every acquisition that does not say another.
const TTL: Duration = Duration::from_secs(10);
/// How long a place is kept that is not refreshed.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long what is handed over is kept.
const WINDOW: Duration = Duration::from_secs(4);

impl Scene {
    async fn set<W: World + 'static>() -> Self {
        let world = W::start().await;
        let (store, node) = (world.store(), world.node());
        let name = ResourceName::new(unique("fact/")).unwrap();
        let scene = Self {
            world: Box::new(world),
            has_permits: W::PERMITS,
            store,
            node,
            name,
            inbox: Inbox(SystemRandom.token()),
        };
        scene.somebody_hears().await;
        scene
    }

    fn node(&self) -> &dyn QuorumNode {
        &**self.node.as_ref().expect("a world for facts about nodes has one")
    }

    fn ask(&self, mode: Mode) -> Acquisition {
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

    fn exclusive(&self) -> Acquisition {
        self.ask(Mode::Exclusive)
    }

    fn reentrant(&self, owner: &str) -> Acquisition {
        Acquisition { reentrant: true, ..owned(owner, self.exclusive()) }
    }

    fn shared(&self) -> Acquisition {
        self.ask(Mode::Shared)
    }

    fn permits(&self, count: u32, of: u32) -> Acquisition {
        let permits = Mode::permits(count, of).unwrap();
        self.ask(if self.has_permits { permits } else { Mode::Shared })
    }

    async fn granted(&self, asked: &Acquisition) -> Grant {
        match self.store.acquire(asked).await.unwrap() {
            Acquired::Granted(grant) => grant,
            other => panic!("{:?} was not granted: {other:?}", asked.mode),
        }
    }

    async fn refused(&self, asked: &Acquisition) -> Refusal {
        match self.store.acquire(asked).await.unwrap() {
            Acquired::Refused(refusal) => refusal,
            other => panic!("{:?} was not refused: {other:?}", asked.mode),
        }
    }

    /// The same, but it waits if somebody is in its way.
    fn waiting(&self, asked: Acquisition) -> Acquisition {
        let ticket =
            QueueTicket { inbox: self.inbox, ttl: PATIENCE, grant_window: WINDOW, max_waiters: 2_000 };
        Acquisition { ticket: Some(ticket), ..asked }
    }

    /// How many are ahead of it.
    async fn queued(&self, asked: &Acquisition) -> u64 {
        match self.store.acquire(asked).await.unwrap() {
            Acquired::Queued { ahead, .. } => ahead,
            other => panic!("{:?} does not wait: {other:?}", asked.mode),
        }
    }

    /// Puts all of them in the queue, in this order.
    async fn line_up<const N: usize>(&self, asked: [Acquisition; N]) -> [Acquisition; N] {
        let asked = asked.map(|asked| self.waiting(asked));
        for asked in &asked {
            self.queued(asked).await;
        }
        asked
    }

    async fn waiters(&self) -> u64 {
        self.inspect().await.waiting
    }

    async fn failed(&self, asked: &Acquisition) -> StoreError {
        match self.store.acquire(asked).await {
            Ok(answer) => panic!("{:?} was answered {answer:?}", asked.mode),
            Err(error) => error,
        }
    }

    async fn fence(&self, asked: &Acquisition) -> Fence {
        self.granted(asked).await.fence.unwrap()
    }

    async fn renew(&self, asked: &Acquisition) -> Renewed {
        self.store.renew(&asked.hold, asked.ttl).await.unwrap()
    }

    async fn release(&self, asked: &Acquisition) -> Released {
        self.release_closed_for(asked, Duration::ZERO).await
    }

    async fn release_closed_for(&self, asked: &Acquisition, cooldown: Duration) -> Released {
        self.store.release(&asked.hold, cooldown).await.unwrap()
    }

    /// Passes a hold on.
    async fn passed(&self, from: &Acquisition, to: &Acquisition, overtake: bool) -> HandedOff {
        self.store.hand_off(&from.hold, to, overtake).await.unwrap()
    }

    async fn is_held(&self, asked: &Acquisition) -> bool {
        self.store.is_held(&asked.hold).await.unwrap()
    }

    async fn inspect(&self) -> Inspection {
        self.store.inspect(&self.name, 100).await.unwrap()
    }

    async fn pass(&self, time: Duration) {
        self.world.pass(time).await;
    }
}

/// The same, of a resource that nobody else has.
fn elsewhere(mut asked: Acquisition) -> Acquisition {
    asked.hold.resource = ResourceName::new(unique("fact/")).unwrap();
    asked
}

fn owned(owner: &str, mut asked: Acquisition) -> Acquisition {
    asked.hold.owner = Some(Owner::new(owner).unwrap());
    asked
}

fn tokens<'a>(asked: impl IntoIterator<Item = &'a Acquisition>) -> Vec<Token> {
    asked.into_iter().map(|asked| asked.hold.token).collect()
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A text that nobody else has.
pub(crate) fn unique(beginning: &str) -> String {
    format!("{beginning}{}", SystemRandom.token().to_hex())
}

/// What remains shrinks while a test runs; by less than this, even on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

#[track_caller]
fn assert_about(actual: Duration, expected: Duration) {
    let within = actual <= expected && actual + SLACK > expected;
    assert!(within, "{actual:?} is not about {expected:?}");
}
