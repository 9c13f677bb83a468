//! A server whose clock is set back: what nobody renews ends all the same, and what somebody holds is not cut short.
//!
//! The server's own clock runs on besides, so times are compared with a slack of seconds.

use futures_util::StreamExt;
use leasehold::store::{Notification, QueueTicket, Refusal};

use crate::redis::store::*;

const STEP: Duration = Duration::from_secs(600);
const LOCK_DELAY: Duration = Duration::from_secs(5);
/// More than a case takes on the busiest machine, and less than a TTL.
const SLACK: Duration = Duration::from_secs(20);

/// The refusal of somebody else who asks for the same resource.
async fn refused(store: &RedisStore, asked: &Acquisition) -> Refusal {
    let name = asked.hold.resource.to_string();
    match store.acquire(&exclusive(&hold(&name, 100))).await.unwrap() {
        Acquired::Refused(refusal) => refusal,
        other => panic!("{name}: {other:?}"),
    }
}

async fn assert_free(store: &RedisStore) {
    for asked in one_of_each() {
        let name = asked.hold.resource.to_string();
        granted(store, &exclusive(&hold(&name, 100))).await;
    }
}

#[tokio::test]
async fn the_locks_of_dead_holders_are_closed_for_one_ttl_after_they_are_asked_for() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    for asked in one_of_each() {
        granted(&store, &asked).await;
    }
    server.set_back(STEP);
    for asked in one_of_each() {
        let told = refused(&store, &asked).await.remaining;
        assert!(told <= TTL + asked.lock_delay, "{asked:?}: {told:?}");
        assert!(store.is_held(&asked.hold).await.unwrap(), "{asked:?}");
    }
    server.advance(TTL + LOCK_DELAY + Duration::from_millis(1));
    assert_free(&store).await;
}

#[tokio::test]
async fn what_a_release_keeps_closed_opens_after_its_time() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    for asked in one_of_each() {
        granted(&store, &asked).await;
    }
    for asked in one_of_each() {
        let _ = store.release(&asked.hold, 2 * LOCK_DELAY).await.unwrap();
    }
    server.set_back(STEP);
    for asked in one_of_each() {
        let told = refused(&store, &asked).await.remaining;
        assert!(told <= 3 * LOCK_DELAY, "{asked:?}: {told:?}");
    }
    server.advance(3 * LOCK_DELAY + Duration::from_millis(1));
    assert_free(&store).await;
}

#[tokio::test]
async fn a_live_holder_keeps_its_lock_while_others_ask_for_it() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    for asked in one_of_each() {
        granted(&store, &asked).await;
    }
    server.set_back(STEP);
    for asked in one_of_each() {
        refused(&store, &asked).await;
    }
    for _ in 0..3 {
        server.advance(TTL / 3);
        for asked in one_of_each() {
            assert_eq!(store.renew(&asked.hold, 2 * TTL).await.unwrap(), Renewed::Extended, "{asked:?}");
            let told = refused(&store, &asked).await.remaining;
            assert!(told > 2 * TTL - SLACK && told <= 2 * TTL + LOCK_DELAY, "{asked:?}: {told:?}");
        }
    }
}

/// The TTL in a record is the last one: it may be longer than the first.
#[tokio::test]
async fn an_end_that_was_counted_with_another_ttl_is_not_cut() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    for asked in one_of_each() {
        granted(&store, &asked).await;
    }
    for ttl in [3 * TTL, TTL, 2 * TTL] {
        for asked in one_of_each() {
            assert_eq!(store.renew(&asked.hold, ttl).await.unwrap(), Renewed::Extended, "{asked:?}");
            let told = refused(&store, &asked).await.remaining;
            assert!(told > ttl - SLACK, "renewed, {asked:?}: {told:?}");
        }
    }
    for asked in one_of_each() {
        granted(&store, &Acquisition { ttl: 4 * TTL, ..asked.clone() }).await;
        let told = refused(&store, &asked).await.remaining;
        assert!(told > 4 * TTL - SLACK, "acquired again, {asked:?}: {told:?}");
    }
}

#[tokio::test]
async fn what_was_handed_over_and_taken_up_has_its_whole_ttl() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    let mut notifications = store.listen(&INBOX);
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    let ticket = QueueTicket { inbox: INBOX, ttl: TTL, grant_window: TTL, max_waiters: 10, place: None };
    for asked in one_of_each() {
        let name = asked.hold.resource.to_string();
        let first = exclusive(&hold(&name, 50));
        let _ = store.release(&hold(&name, 100), Duration::ZERO).await.unwrap();
        if matches!(store.acquire(&first).await.unwrap(), Acquired::Refused(_)) {
            // The second hold of one owner, which is beside the first.
            continue;
        }
        let waiter = Acquisition { ticket: Some(ticket), ttl: 10 * TTL, ..asked };
        assert!(matches!(store.acquire(&waiter).await.unwrap(), Acquired::Queued { .. }));
        assert_eq!(store.release(&first.hold, Duration::ZERO).await.unwrap(), Released::Freed);
        // Handed over: for its window alone, also after the clock was set back.
        server.set_back(STEP);
        assert!(refused(&store, &waiter).await.remaining <= TTL, "{waiter:?}");
        granted(&store, &waiter).await;
        let told = refused(&store, &waiter).await.remaining;
        assert!(told > 10 * TTL - SLACK, "{waiter:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_record_of_an_older_version_is_not_cut_until_it_is_renewed() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    let asked = exclusive(&hold("r", 9));
    let value = format!("{:032x}-7 x 1 0  {{}}", 9);
    server.command(&["SET", "leasehold:{r}", &value, "PX", "600000"]);
    assert!(refused(&store, &asked).await.remaining > STEP - SLACK);
    assert_eq!(store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    server.set_back(STEP);
    assert!(refused(&store, &asked).await.remaining <= TTL);
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
}

/// One call cuts only so many.
#[tokio::test]
async fn many_dead_readers_are_cut_by_several_attempts() {
    const READERS: u128 = 300;
    let server = RedisServer::with_clock();
    let store = store(&server);
    for token in 1..=READERS {
        granted(&store, &Acquisition { mode: Mode::Shared, ..exclusive(&hold("r", 1_000 + token)) }).await;
    }
    server.set_back(STEP);
    let asked = exclusive(&hold("r", 1));
    let mut attempts = 0;
    while refused(&store, &asked).await.remaining > TTL {
        attempts += 1;
        assert!(attempts < 10);
    }
    server.advance(TTL + Duration::from_millis(1));
    granted(&store, &exclusive(&hold("r", 100))).await;
}
