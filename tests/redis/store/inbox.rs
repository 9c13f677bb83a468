//! The inbox: lost, refused, stalled, and back again.

use futures_util::StreamExt;
use leasehold::store::{Notification, Notifications, QueueTicket, Store};

use crate::redis::store::*;

/// Longer than a heartbeat and its answer take.
const SOON: Duration = leasehold_testing::waiting::PATIENCE;

fn waiter(token: u128) -> Acquisition {
    let ticket = QueueTicket { inbox: INBOX, ttl: TTL, grant_window: TTL, max_waiters: 10, place: None };
    Acquisition { ticket: Some(ticket), ..exclusive(&hold("r", token)) }
}

async fn next(notifications: &mut Notifications) -> Notification {
    tokio::time::timeout(SOON, notifications.next()).await.expect("a notification").unwrap()
}

async fn listening(notifications: &mut Notifications) {
    let told = next(notifications).await;
    assert!(matches!(told, Notification::Subscribed), "{told:?}");
}

/// The same for an impatient store, to which a server without a turn seems to be gone.
async fn listening_in_the_end(notifications: &mut Notifications) {
    loop {
        match next(notifications).await {
            Notification::Subscribed => return,
            Notification::Disconnected(error) => assert!(error.is_transient(), "{error}"),
            told => panic!("{told:?}"),
        }
    }
}

async fn disconnected(notifications: &mut Notifications) -> StoreError {
    match next(notifications).await {
        Notification::Disconnected(error) => error,
        told => panic!("{told:?}"),
    }
}

/// A hand-over from one token to the next is notified.
async fn is_notified(store: &RedisStore, notifications: &mut Notifications, token: u128) {
    granted(store, &waiter(token)).await;
    let after = waiter(token + 1);
    assert!(matches!(store.acquire(&after).await.unwrap(), Acquired::Queued { ahead: 0, .. }));
    let _ = store.release(&hold("r", token), Duration::ZERO).await.unwrap();
    let told = next(notifications).await;
    assert!(matches!(told, Notification::HandedOver(told) if told == after.hold.token), "{told:?}");
}

#[tokio::test]
async fn an_inbox_whose_connection_was_killed_listens_again() {
    let server = RedisServer::start();
    let store = store(&server);
    let mut notifications = store.listen(&INBOX);
    listening(&mut notifications).await;
    for token in 1..4 {
        is_notified(&store, &mut notifications, token).await;
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        listening(&mut notifications).await;
    }
    is_notified(&store, &mut notifications, 4).await;
}

#[tokio::test]
async fn an_inbox_is_deaf_while_the_server_is_gone() {
    let mut server = RedisServer::start();
    let store = store(&server);
    let mut notifications = store.listen(&INBOX);
    listening(&mut notifications).await;
    server.kill();
    let error = disconnected(&mut notifications).await;
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    server.restart();
    listening(&mut notifications).await;
    is_notified(&store, &mut notifications, 1).await;
}

#[tokio::test]
async fn an_inbox_waits_for_a_server_that_is_not_there_yet() {
    let mut server = RedisServer::start();
    server.kill();
    let mut notifications = store(&server).listen(&INBOX);
    disconnected(&mut notifications).await;
    server.restart();
    listening(&mut notifications).await;
}

#[tokio::test]
async fn a_server_that_stalls_is_noticed_though_nothing_is_notified() {
    let server = RedisServer::start();
    let mut notifications = impatient(&server.url()).listen(&INBOX);
    listening_in_the_end(&mut notifications).await;
    server.pause();
    let error = disconnected(&mut notifications).await;
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    server.resume();
    listening_in_the_end(&mut notifications).await;
}

#[tokio::test]
async fn a_heartbeat_does_not_disturb_who_listens() {
    let server = RedisServer::start();
    let store = store(&server);
    let mut notifications = store.listen(&INBOX);
    listening(&mut notifications).await;
    server.command(&["CONFIG", "RESETSTAT"]);
    // The notifications are polled while the heartbeat is waited for: that is what sends it.
    let heartbeat = async {
        while calls(&server, &["ping"]) == [0] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = heartbeat => {}
        told = next(&mut notifications) => panic!("{told:?}"),
    }
    is_notified(&store, &mut notifications, 1).await;
}

#[tokio::test]
async fn who_may_not_use_channels_is_told_so_once_and_locks_all_the_same() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "mute", "on", ">s3cret", "~*", "+@all", "resetchannels"]);
    let store = patient::open(&server.url_for("mute", "s3cret"));
    let mut notifications = store.listen(&INBOX);
    let error = disconnected(&mut notifications).await;
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("s3cret"));
    granted(&store, &waiter(1)).await;
    assert!(matches!(store.acquire(&waiter(2)).await.unwrap(), Acquired::Queued { .. }));
    assert_eq!(store.release(&hold("r", 1), Duration::ZERO).await.unwrap(), Released::Freed);
    assert!(store.is_held(&hold("r", 2)).await.unwrap(), "it was handed over, though nobody was told");
    granted(&store, &waiter(2)).await;
}

#[tokio::test]
async fn what_strangers_publish_is_no_notification() {
    let server = RedisServer::start();
    let store = store(&server);
    let mut notifications = store.listen(&INBOX);
    listening(&mut notifications).await;
    for message in ["", "hello", "\u{fffd}"] {
        server.command(&["PUBLISH", &format!("leasehold:inbox:{}", INBOX.0.to_hex()), message]);
    }
    is_notified(&store, &mut notifications, 1).await;
}

#[tokio::test]
async fn nothing_is_left_of_an_inbox_that_nobody_listens_to() {
    let server = RedisServer::start();
    let store = store(&server);
    let mut notifications = store.listen(&INBOX);
    listening(&mut notifications).await;
    assert_eq!(subscribers(&server), 1);
    drop(notifications);
    while subscribers(&server) > 0 {
        tokio::task::yield_now().await;
    }
}

/// How many clients have a subscription.
fn subscribers(server: &RedisServer) -> u64 {
    let list: String =
        redis::from_redis_value(server.command(&["CLIENT", "LIST", "TYPE", "pubsub"])).unwrap();
    list.lines().filter(|line| !line.is_empty()).count() as u64
}
