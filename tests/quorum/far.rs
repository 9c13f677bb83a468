//! Nodes that are far away, so that what waiters give back is on its way for longer than they are patient.

use std::{
    cell::Cell,
    sync::{Arc, Mutex},
    time::Duration,
};

use actix::Addr;
use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use leasehold::{
    Acquire, Fence, Inspection, Listing, LockManager, MemoryStore, QuorumOptions, QuorumStore, ResourceName,
    Token,
    env::{Draw, Random, RuntimeClock},
    rules::{AcquiredFrom, HandOff, Incarnation, Recovered, Report},
    store::{
        Acquired, Acquisition, Grant, Hold, Inbox, Notifications, QuorumNode, Released, Renewal, Renewed,
        Replies, Reply, Store, Walk,
    },
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use crate::quorum::nodes::{exclusive, granted};
use support::virtual_time::{in_virtual_time, secs};

const MAX_TTL: Duration = secs(60);

/// A node that each request and each answer takes a time to reach.
#[derive(Clone, Debug)]
struct FarNode {
    way: Duration,
    store: MemoryStore,
}

impl FarNode {
    /// Executes a request there. It goes its way also if nobody waits for the answer.
    fn send<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        execute: impl FnOnce(MemoryStore) -> F,
    ) -> BoxFuture<'static, T> {
        let (way, executed) = (self.way, execute(self.store.clone()));
        let (answered, answer) = oneshot::channel();
        tokio::spawn(async move {
            sleep(way).await;
            let outcome = executed.await;
            sleep(way).await;
            let _nobody_waits = answered.send(outcome);
        });
        answer.map(|outcome| outcome.expect("each request is answered")).boxed()
    }
}

impl Store for FarNode {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        let asked = asked.to_vec();
        self.send(|store| async move { store.acquire_each(&asked).await })
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        let renewals: Vec<_> = renewals.iter().map(|it| (it.hold.clone(), it.ttl)).collect();
        self.send(|store| async move {
            let renewals: Vec<_> = renewals.iter().map(|(hold, ttl)| Renewal::new(hold, *ttl)).collect();
            store.renew_each(&renewals).await
        })
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        let releases: Vec<_> = releases.iter().map(|(hold, cooldown)| ((*hold).clone(), *cooldown)).collect();
        self.send(|store| async move {
            let releases: Vec<_> = releases.iter().map(|(hold, cooldown)| (hold, *cooldown)).collect();
            store.release_each(&releases).await
        })
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        let hold = hold.clone();
        self.send(|store| async move { store.is_held(&hold).await })
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        let resource = resource.clone();
        self.send(move |store| async move { store.inspect(&resource, limit).await })
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        let walk = walk.clone();
        self.send(|store| async move { store.list(&walk).await })
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        let resource = resource.clone();
        self.send(|store| async move { store.force_release(&resource).await })
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        const ON_THEIR_WAY: usize = 1_000;
        let way = self.way;
        let late = move |notification| async move {
            sleep(way).await;
            notification
        };
        self.store.listen(inbox).map(late).buffered(ON_THEIR_WAY).boxed()
    }
}

impl QuorumNode for FarNode {
    fn acquire_each_from<'a>(
        &'a self,
        asked: &'a [Arc<Acquisition>],
        first: Fence,
    ) -> BoxFuture<'a, AcquiredFrom> {
        let asked = asked.to_vec();
        self.send(move |store| async move { store.acquire_each_from(&asked, first).await })
    }

    fn hand_off_from<'a>(&'a self, from: &'a Hold, to: &'a Arc<Acquisition>, first: Fence) -> HandOff<'a> {
        let (from, to) = (from.clone(), Arc::clone(to));
        self.send(move |store| async move { store.hand_off_from(&from, &to, first).await })
    }

    fn give_way<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, bool> {
        let asked = asked.clone();
        self.send(|store| async move { store.give_way(&asked).await })
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        let raises: Vec<_> = raises.iter().map(|(hold, fence)| ((*hold).clone(), *fence)).collect();
        self.send(|store| async move {
            let raises: Vec<_> = raises.iter().map(|(hold, fence)| (hold, *fence)).collect();
            store.raise_fences(&raises).await
        })
    }

    fn incarnation(&self) -> Reply<'_, Incarnation> {
        self.send(|store| async move { store.incarnation().await })
    }

    fn report(&self) -> Reply<'_, Report> {
        self.send(|store| async move { store.report().await })
    }

    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()> {
        let lesson = lesson.clone();
        self.send(|store| async move { store.teach(&lesson).await })
    }
}

/// Random numbers from a seed.
#[derive(Debug)]
struct Seeded(Mutex<StdRng>);

impl Random for Seeded {
    fn draw(&self, _: Draw) -> f64 {
        self.0.lock().unwrap().random()
    }

    fn token(&self) -> Token {
        Token::from_bits(self.0.lock().unwrap().random())
    }
}

fn manager(
    nodes: &[FarNode],
    clock: &Arc<RuntimeClock>,
    (fresh_start, node_timeout): (bool, Duration),
    seed: u64,
) -> Addr<LockManager> {
    let named = nodes.iter().enumerate().map(|(which, node)| {
        let store: Arc<dyn QuorumNode> = Arc::new(node.clone());
        (which.to_string(), store)
    });
    let options = QuorumOptions { node_timeout, max_ttl: MAX_TTL, fresh_start, ..QuorumOptions::default() };
    let store = QuorumStore::with_clock(named, options, clock.clone()).unwrap();
    let random = Seeded(Mutex::new(StdRng::seed_from_u64(seed)));
    let builder = LockManager::builder(Arc::new(store)).clock(clock.clone()).random(Arc::new(random));
    builder.start_here().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_hand_off_takes_no_longer_than_an_acquisition() {
    let (clock, way) = (Arc::new(RuntimeClock::start()), Duration::from_millis(10));
    let named = (0..5).map(|which: usize| {
        let node = FarNode { way, store: MemoryStore::new(clock.clone()) };
        (which.to_string(), Arc::new(node) as Arc<dyn QuorumNode>)
    });
    let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
    let store = QuorumStore::with_clock(named, options, clock.clone()).unwrap();
    let [from, to] = [exclusive(), exclusive()];
    let mut another = exclusive();
    another.hold.resource = ResourceName::new("another").unwrap();
    granted(&store, &another).await;
    let began = Instant::now();
    let first = granted(&store, &from).await;
    let took = began.elapsed();
    let began = Instant::now();
    let handed_off = store.hand_off(&from.hold, &to, false).await.unwrap();
    assert_eq!(began.elapsed(), took);
    assert_eq!(handed_off.released, Released::Freed);
    let Ok(Acquired::Granted(Grant { fence, .. })) = handed_off.acquired else { panic!("{handed_off:?}") };
    assert!(fence > Some(first));
}

/// The behaviour of a node that is away.
#[derive(Clone, Copy)]
enum Away {
    /// It refuses every request.
    Fails,
    /// It answers nothing.
    Hangs,
}

/// Has clients ask at once, each of them with another node nearest to it, while a minority of the nodes is away. Returns the
/// longest time for which nobody held.
async fn longest_idle(
    (of, away, node_timeout): (usize, Away, Duration),
    way: u64,
    clients: usize,
    seed: u64,
) -> Duration {
    let clock = Arc::new(RuntimeClock::start());
    let memories: Vec<_> = (0..of).map(|_| MemoryStore::new(clock.clone())).collect();
    let nodes = |way: &dyn Fn(usize) -> u64| -> Vec<FarNode> {
        let ways = (0..of).map(|node| Duration::from_millis(way(node)));
        memories.iter().cloned().zip(ways).map(|(store, way)| FarNode { way, store }).collect()
    };
    sleep(2 * MAX_TTL).await;
    let begin = manager(&nodes(&|_| 0), &clock, (true, node_timeout), seed);
    begin.send(Acquire::new("first")).await.unwrap().unwrap().release().await.unwrap();
    sleep(secs(1)).await;
    let manager_of = |client: usize| {
        let way = |node| way + ((node + client) % 3) as u64;
        manager(&nodes(&way), &clock, (false, node_timeout), 1_000 * seed + client as u64 + 1)
    };
    let managers: Vec<_> = (0..clients).map(manager_of).collect();
    // Each of them has met the nodes, and knows their clocks.
    for (client, manager) in managers.iter().enumerate() {
        manager.send(Acquire::new(format!("of {client}"))).await.unwrap().unwrap().release().await.unwrap();
    }
    for node in &memories[..(of - 1) / 2] {
        node.disconnect_subscribers(true);
        match away {
            Away::Fails => node.fail_next(100_000),
            Away::Hangs => node.stall_next(100_000, secs(86_400)),
        }
    }
    let turns = managers.iter().map(async |manager| {
        let lease = manager.send(Acquire::new("r").ttl(secs(30)).wait(secs(600))).await.unwrap().unwrap();
        let granted = Instant::now();
        lease.release().await.unwrap();
        (granted, Instant::now())
    });
    let started = Instant::now();
    let mut turns = futures_util::future::join_all(turns).await;
    turns.sort();
    let released = std::iter::once(started).chain(turns.iter().map(|turn| turn.1));
    released.zip(&turns).map(|(released, turn)| turn.0.saturating_duration_since(released)).max().unwrap()
}

/// Returns the same, in a runtime of its own.
fn idle_in(deployment: (usize, Away, Duration), way: u64, clients: usize, seed: u64) -> Duration {
    let idle = Cell::new(Duration::MAX);
    in_virtual_time(|| async { idle.set(longest_idle(deployment, way, clients, seed).await) });
    let idle = idle.get();
    println!("{} nodes, {clients} clients, {way} ms, seed {seed}: {idle:?}", deployment.0);
    idle
}

#[test]
fn a_split_among_far_nodes_is_resolved_within_seven_round_trips() {
    for (of, clients) in [(3, 2), (3, 6), (5, 3), (5, 12)] {
        for way in [1, 20, 100] {
            for seed in 0..8 {
                let idle = idle_in((of, Away::Fails, secs(1)), way, clients, seed);
                assert!(idle < Duration::from_millis(50 + 14 * way), "{idle:?}: see above");
            }
        }
    }
}

#[test]
fn a_node_that_hangs_does_not_keep_a_split_open() {
    const NODE_TIMEOUT: Duration = Duration::from_millis(50);
    for (of, clients) in [(3, 2), (3, 6), (5, 3), (5, 12)] {
        for seed in 0..8 {
            let idle = idle_in((of, Away::Hangs, NODE_TIMEOUT), 5, clients, seed);
            assert!(idle < 12 * NODE_TIMEOUT, "{idle:?}: see above");
        }
    }
}
