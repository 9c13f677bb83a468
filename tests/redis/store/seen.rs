//! What an operator sees: how long somebody has held and waited by the clock of the server, and what a walk costs.

use crate::redis::store::*;
use leasehold::{
    Layout,
    store::{Names, QueueTicket, QuorumNode, Store, Walk},
};

pub(crate) fn waiting(token: u128) -> Acquisition {
    let ticket = QueueTicket { inbox: INBOX, ttl: 4 * TTL, grant_window: TTL, max_waiters: 100, place: None };
    Acquisition { ticket: Some(ticket), ..exclusive(&hold("r", token)) }
}

/// The server's clock, which is moved, also moves by itself: for so long since the test began.
fn assert_since(began: Instant, actual: Option<Duration>, expected: u64) {
    let (expected, slack) = (Duration::from_secs(expected), Duration::from_millis(2));
    let is_near = actual.is_some_and(|it| it + slack >= expected && it <= expected + began.elapsed() + slack);
    assert!(is_near, "{actual:?} is not about {expected:?}");
}

async fn waits(store: &RedisStore, token: u128) {
    let answer = store.acquire(&waiting(token)).await.unwrap();
    assert!(matches!(answer, Acquired::Queued { .. }), "{answer:?}");
}

#[tokio::test]
async fn how_long_somebody_has_held_and_waited_is_told_by_the_clock_of_the_server() {
    let (server, began) = (RedisServer::with_clock(), Instant::now());
    let store = store(&server);
    let held = exclusive(&hold("r", 100));
    granted(&store, &held).await;
    server.advance(Duration::from_secs(7));
    waits(&store, 1).await;
    server.advance(Duration::from_secs(5));
    waits(&store, 2).await;
    store.renew(&held.hold, TTL).await.unwrap();
    let seen = store.inspect(&held.hold.resource, 10).await.unwrap();
    assert_since(began, seen.holders[0].held_for, 12);
    assert_since(began, seen.waiters[0].waited, 5);
    assert_since(began, seen.waiters[1].waited, 0);
    // A repeat keeps the time of the arrival.
    server.advance(Duration::from_secs(1));
    waits(&store, 1).await;
    assert_since(began, store.inspect(&held.hold.resource, 1).await.unwrap().waiters[0].waited, 6);
    let Acquired::Refused(refusal) = store.acquire(&exclusive(&hold("r", 3))).await.unwrap() else {
        panic!("it is held")
    };
    assert_eq!(refusal.by.held_for, None, "a refusal does not tell it");
}

#[tokio::test]
async fn readers_have_held_each_for_their_own_time_and_who_re_enters_for_that_of_the_first_hold() {
    let (server, began) = (RedisServer::with_clock(), Instant::now());
    let store = store(&server);
    let me = |name, token| Hold { owner: Some(Owner::new("me").unwrap()), ..hold(name, token) };
    let reader = |token| Acquisition { mode: Mode::Shared, ..exclusive(&hold("read", token)) };
    let entered = |token| Acquisition { reentrant: true, ..exclusive(&me("entered", token)) };
    for (first, second) in [(reader(1), reader(2)), (entered(1), entered(2))] {
        granted(&store, &first).await;
        server.advance(Duration::from_secs(3));
        granted(&store, &second).await;
    }
    let holders = async |name| store.inspect(&hold(name, 0).resource, 10).await.unwrap().holders;
    let [first, second] = &holders("read").await[..] else { panic!("not two") };
    assert_since(began, first.held_for, 6);
    assert_since(began, second.held_for, 3);
    for holder in holders("entered").await {
        assert_since(began, holder.held_for, 3);
    }
}

#[tokio::test]
async fn a_hold_that_outlives_the_counter_of_fences_still_tells_its_time_and_a_closed_one_tells_none() {
    let (server, began) = (RedisServer::with_clock(), Instant::now());
    let store = store(&server);
    let held = Acquisition { ttl: 400 * TTL, ..exclusive(&hold("r", 1)) };
    granted(&store, &held).await;
    server.advance(Duration::from_secs(3_700));
    assert!(server.keys().iter().all(|(key, _)| key != "leasehold:fence"), "{:?}", server.keys());
    assert_since(began, store.inspect(&held.hold.resource, 1).await.unwrap().holders[0].held_for, 3_700);
    let _freed = store.release(&held.hold, TTL).await.unwrap();
    assert_eq!(store.inspect(&held.hold.resource, 1).await.unwrap().holders[0].held_for, None);
}

#[tokio::test]
async fn a_node_of_a_quorum_does_not_guess_times_from_the_clocks_of_others() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    let held = exclusive(&hold("r", 100));
    let fence = granted(&store, &held).await;
    waits(&store, 1).await;
    assert!(store.inspect(&held.hold.resource, 1).await.unwrap().holders[0].held_for.is_some());
    let raised = store.raise_fences(&[(&held.hold, Fence::new(fence.get() + 1_000))]).await;
    assert!(matches!(raised[..], [Ok(true)]), "{raised:?}");
    let seen = store.inspect(&held.hold.resource, 1).await.unwrap();
    assert_eq!((seen.holders[0].held_for, seen.waiters[0].waited), (None, None));
}

#[tokio::test]
async fn a_long_queue_is_told_in_part_by_a_script_of_bounded_work() {
    let server = RedisServer::start();
    let store = store(&server);
    granted(&store, &exclusive(&hold("r", 100_000))).await;
    let waiters: Vec<_> = (0..2_000)
        .map(|token| {
            let asked = waiting(token);
            let ticket = asked.ticket.map(|ticket| QueueTicket { max_waiters: 10_000, ..ticket });
            std::sync::Arc::new(Acquisition { ticket, ..asked })
        })
        .collect();
    for answer in store.acquire_each(&waiters).await {
        assert!(matches!(answer, Ok(Acquired::Queued { .. })), "{answer:?}");
    }
    server.command(&["CONFIG", "RESETSTAT"]);
    let seen = store.inspect(&hold("r", 0).resource, 10_000).await.unwrap();
    assert_eq!((seen.waiters.len(), seen.waiting), (400, 2_000));
    // One for each waiter that is told, and some pages of their names.
    let counts = calls(&server, &["hget", "zscore", "zrange"]);
    assert!(counts[0] == 400 && counts[1] == 0 && counts[2] <= 10, "{counts:?}");
}

#[tokio::test]
async fn a_walk_says_how_many_keys_it_has_looked_at() {
    let server = RedisServer::start();
    let store = store(&server);
    for number in 0..3 {
        granted(&store, &exclusive(&hold(&format!("r{number}"), number))).await;
    }
    let walked = async || store.list(&Walk::new("r", 10)).await.unwrap().walked;
    assert_eq!(walked().await, 1_000, "one step");
    server.command(&["EVAL", "for i = 1, 4000 do redis.call('SET', 'other' .. i, '') end", "0"]);
    let many = walked().await;
    assert!((4_000..=6_000).contains(&many), "{many}");
}

#[tokio::test]
async fn the_plain_layout_has_nobody_who_waits_and_tells_no_times() {
    let server = RedisServer::start();
    let options = RedisOptions { layout: Layout::Plain, ..patient::patient() };
    let store = RedisStore::with_options(&server.url(), options).unwrap();
    let held = Acquisition { metadata: BTreeMap::new().into(), ..exclusive(&hold("r", 1)) };
    assert!(matches!(store.acquire(&held).await, Ok(Acquired::Granted(_))));
    // A name that ends like the key of a queue, or of a register.
    for name in ["{r}:q", "{r}:r"] {
        let _other = store.acquire(&exclusive(&hold(name, 2))).await.unwrap();
    }
    let seen = store.inspect(&held.hold.resource, 1).await.unwrap();
    assert_eq!((seen.holders[0].held_for, &seen.waiters[..]), (None, &[][..]));
    for names in [Names::WaitedFor, Names::Registers] {
        let mut walk = Walk::new("", 10);
        walk.names = names;
        let listing = store.list(&walk).await.unwrap();
        assert_eq!((&listing.resources[..], listing.complete), (&[][..], true), "{names:?}");
    }
}
