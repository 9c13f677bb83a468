//! Nodes that are led to give out the same fence: no third round trip, and still fences that only grow.

use std::{
    slice,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use leasehold::{
    Fence, MemoryStore, Mode, QuorumOptions, QuorumStore, ResourceName, StoreError,
    env::{Clock, Moment, RuntimeClock},
    rules::{AHEAD_AT_MOST, AcquiredFrom},
    store::{Acquired, Acquisition, Inbox, QueueTicket, QuorumNode, Released, Store},
};
use leasehold_testing::decorated::{Decorated, Hooks, Verb};
use tokio::time::sleep;

use crate::quorum::nodes::{TTL, ask, begin, exclusive, granted};
use leasehold_testing::servers::RedisServer;
use support::patient;

/// Counts how often the fences of a node are raised.
#[derive(Debug)]
struct Raises(Arc<AtomicUsize>);

impl Hooks for Raises {
    fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        if matches!(verb, Verb::RaiseFences(_)) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        async { Ok(()) }.boxed()
    }
}

/// The clock of the runtime, so many ms ahead of it.
#[derive(Clone, Debug)]
pub(crate) struct Ahead(RuntimeClock, Arc<AtomicU64>);

impl Ahead {
    pub(crate) fn by(clock: RuntimeClock, millis: u64) -> Self {
        Self(clock, Arc::new(AtomicU64::new(millis)))
    }

    fn jump(&self, by: Duration) {
        self.1.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    }

    fn micros(&self) -> u64 {
        Moment::since_origin(Duration::ZERO).elapsed(self.now()).as_micros() as u64
    }
}

impl Clock for Ahead {
    fn now(&self) -> Moment {
        self.0.now() + Duration::from_millis(self.1.load(Ordering::Relaxed))
    }
}

/// Five nodes whose clocks are so many ms ahead, and how often fences were raised on them.
struct Five {
    clock: RuntimeClock,
    nodes: Vec<MemoryStore>,
    raises: Arc<AtomicUsize>,
}

impl Five {
    async fn ahead_by(millis: [u64; 5]) -> Self {
        let clock = RuntimeClock::start();
        let nodes = millis.map(|millis| MemoryStore::new(Arc::new(Ahead::by(clock, millis)))).to_vec();
        sleep(2 * TTL).await;
        let five = Self { clock, nodes, raises: Arc::default() };
        begin(&five.client_with(&Ahead::by(clock, 0), true)).await;
        // What they were taught is ahead of their clocks.
        sleep(2 * AHEAD_AT_MOST).await;
        five
    }

    fn client(&self, clock: &Ahead) -> QuorumStore {
        self.client_with(clock, false)
    }

    fn client_with(&self, clock: &Ahead, fresh_start: bool) -> QuorumStore {
        let named = self.nodes.iter().enumerate().map(|(which, node)| {
            let node: Arc<dyn QuorumNode> =
                Arc::new(Decorated::new(node.clone(), Raises(Arc::clone(&self.raises))));
            (which.to_string(), node)
        });
        let options = QuorumOptions { max_ttl: TTL, fresh_start, ..QuorumOptions::default() };
        QuorumStore::with_clock(named, options, Arc::new(clock.clone())).unwrap()
    }

    /// Acquires and releases; each node takes another time.
    async fn turn(&self, client: &QuorumStore, turn: u64) -> Fence {
        for (which, node) in (0..).zip(&self.nodes) {
            node.stall_next(1, Duration::from_millis((turn + which) % 5));
        }
        let asked = exclusive();
        let fence = granted(client, &asked).await;
        sleep(Duration::from_millis(5)).await;
        assert_eq!(client.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
        sleep(Duration::from_millis(5)).await;
        fence
    }

    fn raises(&self) -> usize {
        self.raises.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_that_are_led_by_their_client_give_out_one_fence_and_none_is_raised() {
    let five = Five::ahead_by([0, 1, 20, 400, 900]).await;
    let clients = [0, 5_000].map(|millis| five.client(&Ahead::by(five.clock, millis)));
    let mut last = Fence::new(0);
    for (turn, client) in (0..2).zip(&clients) {
        last = five.turn(client, turn).await;
    }
    assert!(five.raises() > 0, "nothing was known at first");
    let before = five.raises();
    for turn in 0..200 {
        let fence = five.turn(&clients[turn % 2], turn as u64).await;
        assert!(fence > last, "{fence} after {last}");
        last = fence;
    }
    assert_eq!(five.raises(), before);
}

#[tokio::test(start_paused = true)]
async fn fences_grow_and_stay_near_the_time_though_the_clocks_of_clients_jump() {
    let minutes = |minutes: u64| 60_000 * minutes;
    for clocks in [[0; 5], [0, minutes(1), minutes(2), minutes(3), minutes(4)]] {
        let five = Five::ahead_by(clocks).await;
        let fastest = Ahead::by(five.clock, clocks[4]);
        let clocks = [0, 0, 0].map(|millis| Ahead::by(five.clock, millis));
        let clients = clocks.each_ref().map(|clock| five.client(clock));
        let mut last = Fence::new(0);
        for turn in 0..90 {
            match turn {
                // Their paces are half a second apart, and then an hour.
                30 => clocks[1].jump(Duration::from_millis(500)),
                60 => clocks[2].jump(Duration::from_secs(3_600)),
                _ => {}
            }
            let fence = five.turn(&clients[turn % 3], turn as u64).await;
            assert!(fence > last, "{fence} after {last} in turn {turn}");
            let most = fastest.micros() + AHEAD_AT_MOST.as_micros() as u64;
            assert!(fence.get() < most + 1_000, "{fence} is {} µs too far ahead", fence.get() - most);
            last = fence;
        }
    }
}

fn fences(paced: &AcquiredFrom) -> Vec<Option<u64>> {
    let fence = |answer: &Result<Acquired, _>| match answer {
        Ok(Acquired::Granted(grant)) => grant.fence.map(Fence::get),
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    };
    paced.answers.iter().map(fence).collect()
}

fn on(name: &str, mode: Mode) -> Arc<Acquisition> {
    let mut asked = ask(mode);
    asked.hold.resource = ResourceName::new(name).unwrap();
    Arc::new(asked)
}

async fn keeps_to_what_it_is_led_to(store: &dyn QuorumNode, ahead_at_most: u64) {
    // Nobody leads it.
    let paced = store.acquire_each_from(&[on("a", Mode::Exclusive)], Fence::new(0)).await;
    let clock = paced.clock.unwrap().get();
    assert_eq!(fences(&paced), [Some(clock)]);

    // A little ahead. The one that is refused, and those that are not alone, harm no neighbour.
    let first = clock + 900_000;
    let some = [on("b", Mode::Exclusive), on("a", Mode::Exclusive), on("d", Mode::Exclusive)];
    let paced = store.acquire_each_from(&some, Fence::new(first)).await;
    assert_eq!(fences(&paced), [Some(first), None, Some(first + 2)]);
    let readers = [on("c", Mode::Shared), on("a", Mode::Shared), on("c", Mode::Shared)];
    let paced = store.acquire_each_from(&readers, Fence::new(first + 10)).await;
    assert_eq!(fences(&paced), [Some(first + 10), None, Some(first + 12)]);

    // Behind what was given out, which is kept for a whole batch.
    let led = first + 12;
    let paced = store.acquire_each_from(&[on("e", Mode::Exclusive)], Fence::new(first)).await;
    assert_eq!(fences(&paced), [Some(led + 1)]);
    let paced = store.acquire_each_from(&[on("f", Mode::Shared)], Fence::new(first)).await;
    assert_eq!(fences(&paced), [Some(led + 2)]);

    // A repeat keeps its fence, wherever it is led.
    let paced = store.acquire_each_from(&some[..1], Fence::new(first + 20)).await;
    assert_eq!(fences(&paced), [Some(first)]);

    // Far ahead.
    let paced = store.acquire_each_from(&[on("g", Mode::Exclusive)], Fence::new(u64::MAX / 4)).await;
    assert_eq!(fences(&paced), [Some(paced.clock.unwrap().get() + ahead_at_most)]);
}

/// Hands off a resource that nobody has waited for, and one that somebody has.
async fn hands_off_as_it_is_led_to(store: &dyn QuorumNode) {
    for (name, lead) in [("alone", 800_000), ("queued", 950_000)] {
        let (from, to) = (on(name, Mode::Exclusive), on(name, Mode::Exclusive));
        let paced = store.acquire_each_from(slice::from_ref(&from), Fence::new(0)).await;
        let first = Fence::new(paced.clock.unwrap().get() + lead);
        if name == "queued" {
            // A waiter, though it is gone, leaves a mark in the holder, and a marked holder is not released on the short way.
            let ticket = QueueTicket {
                inbox: Inbox(from.hold.token),
                ttl: TTL,
                grant_window: TTL,
                max_waiters: 9,
                place: None,
            };
            let waits = Acquisition { ticket: Some(ticket), ..Acquisition::clone(&on(name, Mode::Shared)) };
            assert!(matches!(store.acquire(&waits).await, Ok(Acquired::Queued { .. })));
            assert_eq!(
                store.release(&waits.hold, Duration::ZERO).await.unwrap(),
                Released::NotHeld { count: 0 }
            );
        }
        let (released, paced) = store.hand_off_from(&from.hold, &to, first).await;
        assert_eq!((released.unwrap(), fences(&paced)), (Released::Freed, vec![Some(first.get())]), "{name}");
        assert!(paced.clock.is_some_and(|clock| clock < first), "{paced:?}");
        assert!(store.is_held(&to.hold).await.unwrap() && !store.is_held(&from.hold).await.unwrap());
        // It holds already, and another holds nothing.
        let (released, again) = store.hand_off_from(&from.hold, &to, Fence::new(0)).await;
        assert_eq!((released.unwrap(), fences(&again)), (Released::NotHeld { count: 0 }, fences(&paced)));
    }
}

#[tokio::test]
async fn a_hand_off_is_led_by_a_fence_and_tells_the_clock() {
    hands_off_as_it_is_led_to(&MemoryStore::default()).await;
    let server = RedisServer::start();
    hands_off_as_it_is_led_to(&patient::open(&server.url())).await;
}

#[tokio::test]
async fn a_store_is_led_by_a_fence_but_never_far_ahead_of_its_time() {
    let most = AHEAD_AT_MOST.as_micros() as u64;
    keeps_to_what_it_is_led_to(&MemoryStore::default(), most).await;
    let server = RedisServer::start();
    keeps_to_what_it_is_led_to(&patient::open(&server.url()), most).await;
}

#[tokio::test]
async fn more_than_fits_into_a_call_is_led_to_one_row_of_fences() {
    let server = RedisServer::start();
    let store = patient::open(&server.url());
    let many: Vec<_> = (0..600).map(|number| on(&number.to_string(), Mode::Exclusive)).collect();
    let paced = store.acquire_each_from(&many[..1], Fence::new(0)).await;
    let first = paced.clock.unwrap().get() + 500_000;
    let paced = store.acquire_each_from(&many[1..], Fence::new(first)).await;
    let row: Vec<_> = (first..first + 599).map(Some).collect();
    assert_eq!(fences(&paced), row);
}
