//! The queue: what it costs, what is kept of it, and what comes to it in the way.

use futures_util::StreamExt;
use leasehold::store::{Notification, QueueTicket, Store};

use crate::redis::store::*;

const WINDOW: Duration = Duration::from_secs(5);
/// Longer than ten thousand waiters need to queue on a busy machine.
const TICKET_TTL: Duration = Duration::from_secs(240);

fn waiting(asked: Acquisition) -> Acquisition {
    let ticket =
        QueueTicket { inbox: INBOX, ttl: TICKET_TTL, grant_window: WINDOW, max_waiters: 20_000, place: None };
    Acquisition { ticket: Some(ticket), ..asked }
}

fn waiter(token: u128) -> Acquisition {
    waiting(exclusive(&hold("r", token)))
}

/// How many are ahead of it.
async fn queued(store: &RedisStore, asked: &Acquisition) -> u64 {
    match store.acquire(asked).await.unwrap() {
        Acquired::Queued { ahead, .. } => ahead,
        other => panic!("{asked:?} does not wait: {other:?}"),
    }
}

async fn freed(store: &RedisStore, asked: &Acquisition) {
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn a_hand_over_is_one_release_and_one_acquisition() {
    let server = RedisServer::start();
    let store = store(&server);
    let mut notifications = store.listen(&INBOX);
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    let waiters: Vec<_> = (0..100).map(waiter).collect();
    for asked in &waiters {
        let _ = store.acquire(asked).await.unwrap();
    }
    server.command(&["CONFIG", "RESETSTAT"]);
    for pair in waiters.windows(2) {
        freed(&store, &pair[0]).await;
        granted(&store, &pair[1]).await;
    }
    assert_eq!(calls(&server, &["evalsha", "publish"]), [2 * 99, 99 + 98], "the last has none behind it");

    server.command(&["CONFIG", "RESETSTAT"]);
    granted(&store, &waiters[99]).await;
    assert_eq!(
        calls(&server, &["getrange", "get", "set", "pexpire", "exists", "time"]),
        [1, 0, 0, 1, 1, 0],
        "taking up is three commands"
    );
}

#[tokio::test]
async fn who_waits_costs_the_holder_nothing_but_a_look_at_its_release() {
    let server = RedisServer::start();
    let store = store(&server);
    let holder = exclusive(&hold("r", 1));
    granted(&store, &holder).await;
    queued(&store, &waiter(2)).await;
    let _ = store.release(&waiter(2).hold, Duration::ZERO).await.unwrap();
    freed(&store, &holder).await;

    granted(&store, &holder).await;
    server.command(&["CONFIG", "RESETSTAT"]);
    store.renew(&holder.hold, TTL).await.unwrap();
    freed(&store, &holder).await;
    assert_eq!(calls(&server, &["get", "pexpire", "del", "exists", "time"]), [0, 1, 1, 0, 0]);
}

#[tokio::test]
async fn all_that_is_kept_of_waiters_ends_with_their_tickets() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    // Of whose inbox nobody hears is taken for dead.
    let mut told = store.listen(&INBOX);
    assert!(matches!(told.next().await, Some(Notification::Subscribed)));
    for asked in one_of_each() {
        granted(&store, &Acquisition { lock_delay: Duration::ZERO, ..asked.clone() }).await;
        for token in 100..103 {
            let owner = None;
            let hold = Hold { token: Token::from_bits(token), owner, ..asked.hold.clone() };
            let _ = store.acquire(&waiting(exclusive(&hold))).await.unwrap();
            assert_all_end(&server);
        }
    }
    let kept = |server: &RedisServer| server.keys().iter().filter(|(name, _)| name.ends_with(":q")).count();
    assert_eq!(kept(&server), 5);
    for asked in one_of_each() {
        let _ = store.release(&asked.hold, Duration::ZERO).await.unwrap();
        assert_all_end(&server);
    }
    assert_eq!(kept(&server), 5, "one was handed over, and two wait");
    server.advance(TICKET_TTL + Duration::from_millis(1));
    let left = server.keys();
    assert!(left.iter().all(|(name, _)| name == "leasehold:fence"), "{left:?}");
}

#[tokio::test]
async fn the_only_waiter_that_is_late_leaves_no_key_without_an_end() {
    for takes_up in [true, false] {
        let server = RedisServer::with_clock();
        let store = store(&server);
        let mut told = store.listen(&INBOX);
        assert!(matches!(told.next().await, Some(Notification::Subscribed)));
        let (holder, late) = (exclusive(&hold("r", 1)), waiter(2));
        granted(&store, &holder).await;
        queued(&store, &late).await;
        let _ = store.release(&holder.hold, Duration::ZERO).await.unwrap();
        assert!(matches!(told.next().await, Some(Notification::HandedOver(_))));
        // Its process pauses for longer than its grant window.
        server.advance(WINDOW + Duration::from_millis(1));
        if takes_up {
            granted(&store, &late).await;
        }
        let _ = store.release(&late.hold, Duration::ZERO).await.unwrap();
        assert_all_end(&server);
    }
}

#[tokio::test]
async fn ten_thousand_waiters_that_died_are_cleared_away() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    granted(&store, &Acquisition { ttl: 2 * TICKET_TTL, ..exclusive(&hold("r", 1)) }).await;
    for token in 2..10_002 {
        queued(&store, &waiter(token)).await;
    }
    server.advance(TICKET_TTL / 2);
    assert_eq!(queued(&store, &waiter(20_000)).await, 10_000);
    server.advance(TICKET_TTL / 2);
    // Each verb clears so many away, and no more.
    let mut verbs = 1;
    while queued(&store, &waiter(20_000)).await > 0 && verbs < 1_000 {
        verbs += 1;
    }
    assert!((25..200).contains(&verbs), "{verbs}");
    assert_eq!(store.inspect(&hold("r", 1).resource, 1).await.unwrap().waiting, 1);
    for (command, key) in [("ZCARD", "q"), ("HLEN", "w"), ("ZCARD", "p")] {
        assert_eq!(number(server.command(&[command, &format!("leasehold:{{r}}:{key}")])), 1);
    }
}

#[tokio::test]
async fn a_server_that_lost_its_scripts_hands_over_all_the_same() {
    let server = RedisServer::start();
    let store = store(&server);
    granted(&store, &waiter(1)).await;
    server.command(&["SCRIPT", "FLUSH"]);
    queued(&store, &waiter(2)).await;
    server.command(&["SCRIPT", "FLUSH"]);
    freed(&store, &waiter(1)).await;
    server.command(&["SCRIPT", "FLUSH"]);
    granted(&store, &waiter(2)).await;
}

#[tokio::test]
async fn a_full_server_takes_no_new_waiter_and_serves_those_it_has() {
    let server = RedisServer::start();
    let store = store(&server);
    let delayed = Acquisition { lock_delay: WINDOW, ..waiter(2) };
    let reader = |token| Acquisition { mode: Mode::Shared, ..waiter(token) };
    granted(&store, &waiter(1)).await;
    for (ahead, asked) in [&delayed, &reader(3), &reader(4), &waiter(5)].into_iter().enumerate() {
        assert_eq!(queued(&store, asked).await, ahead as u64);
    }
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = store.acquire(&waiter(9)).await.unwrap_err();
    assert!(matches!(error, StoreError::OutOfMemory { .. }), "{error}");
    assert_eq!(queued(&store, &waiter(5)).await, 3, "who waits keeps its place");
    freed(&store, &waiter(1)).await;
    granted(&store, &delayed).await;
    freed(&store, &delayed).await;
    for asked in [reader(3), reader(4)] {
        granted(&store, &asked).await;
    }
    assert_eq!(store.force_release(&hold("r", 1).resource).await.unwrap(), 2);
    granted(&store, &waiter(5)).await;
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_all_end(&server);
}

#[tokio::test]
async fn a_release_is_one_though_its_hand_over_has_no_fence_to_give() {
    let server = RedisServer::start();
    let store = store(&server);
    granted(&store, &waiter(1)).await;
    queued(&store, &waiter(2)).await;
    for broken in [&["SET", "leasehold:fence", "x"][..], &["RPUSH", "leasehold:fence", "x"]] {
        server.command(&["DEL", "leasehold:fence"]);
        server.command(broken);
        let released = store.release(&waiter(1).hold, Duration::ZERO).await.unwrap();
        assert!(matches!(released, Released::Freed | Released::NotHeld { count: 0 }), "{released:?}");
        for asked in [waiter(2), waiter(3)] {
            let error = store.acquire(&asked).await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        }
    }
    server.command(&["DEL", "leasehold:fence"]);
    granted(&store, &waiter(2)).await;
}

#[tokio::test]
async fn a_waiter_of_which_the_server_lost_a_part_is_passed_over() {
    let server = RedisServer::start();
    let store = store(&server);
    for part in ["w", "p", "q"] {
        granted(&store, &waiter(1)).await;
        queued(&store, &waiter(2)).await;
        server.command(&["DEL", &format!("leasehold:{{r}}:{part}")]);
        freed(&store, &waiter(1)).await;
        granted(&store, &waiter(2)).await;
        freed(&store, &waiter(2)).await;
    }
}
