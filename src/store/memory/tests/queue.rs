//! Tests of the queue for the memory store alone: lost notifications, and nothing left behind.

use futures_util::FutureExt;

use super::*;
use crate::store::{Notification, QueueTicket, StoreExt};

const INBOX: Inbox = Inbox(Token::from_bits(9));

fn waiting(name: &str, token: u128) -> Acquisition {
    let ticket = QueueTicket {
        inbox: INBOX,
        ttl: Duration::from_secs(1),
        grant_window: Duration::from_secs(1),
        max_waiters: u32::MAX,
    };
    Acquisition { ticket: Some(ticket), ..exclusive(name, token) }
}

async fn ahead(store: &MemoryStore, asked: &Acquisition) -> u64 {
    match store.acquire(asked).await.unwrap() {
        Acquired::Queued { ahead, .. } => ahead,
        other => panic!("{other:?}"),
    }
}

/// Hands this token over, on a resource of its own.
async fn hand_over(store: &MemoryStore, token: u128) {
    let (name, holder) = (format!("job/{token}"), token + 1_000);
    fence(store, &exclusive(&name, holder)).await;
    ahead(store, &waiting(&name, token)).await;
    assert_eq!(store.release(&exclusive(&name, holder).hold, Duration::ZERO).await.unwrap(), Released::Freed);
}

/// Returns the notifications that have arrived: `Deaf`, `Listening`, or a token.
fn heard(notifications: &mut Notifications) -> Vec<String> {
    let mut heard = Vec::new();
    while let Some(next) = notifications.next().now_or_never() {
        heard.push(match next.unwrap() {
            Notification::HandedOver(token) => token.to_hex().trim_start_matches('0').to_owned(),
            Notification::Next(token) => format!("next: {}", token.to_hex().trim_start_matches('0')),
            Notification::GoOn(token) => format!("go on: {}", token.to_hex().trim_start_matches('0')),
            Notification::Subscribed => "listening".to_owned(),
            Notification::Disconnected(error) => format!("disconnected: {}", error.kind()),
        });
    }
    heard
}

#[tokio::test]
async fn announcements_get_lost_when_they_are_told_to() {
    let (store, _) = store();
    let mut notifications = store.listen(&INBOX);
    store.lose_announcements(true);
    hand_over(&store, 1).await;
    store.lose_announcements(false);
    hand_over(&store, 2).await;
    assert_eq!(heard(&mut notifications), ["listening", "2"]);
}

/// Hands over to 1, while 2 waits.
async fn leave_one_waiting(store: &MemoryStore) {
    let holder = exclusive("orders/42", 1_000);
    fence(store, &holder).await;
    for token in [1, 2] {
        ahead(store, &waiting("orders/42", token)).await;
    }
    assert_eq!(store.release(&holder.hold, Duration::ZERO).await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn who_is_next_is_lost_with_other_announcements() {
    for (lost, told) in [(false, &["listening", "1", "next: 2"][..]), (true, &["listening"])] {
        let (store, _) = store();
        let mut notifications = store.listen(&INBOX);
        store.lose_announcements(lost);
        leave_one_waiting(&store).await;
        assert_eq!(heard(&mut notifications), told);
    }
}

#[tokio::test]
async fn who_is_deaf_is_not_told_that_it_is_next() {
    let (store, _) = store();
    let mut notifications = store.listen(&INBOX);
    store.deafen(true);
    leave_one_waiting(&store).await;
    assert_eq!(heard(&mut notifications), ["listening", "disconnected: unavailable"]);
}

#[tokio::test]
async fn who_listens_is_told_when_it_is_deaf_and_when_it_hears_again() {
    let (store, _) = store();
    let mut early = store.listen(&INBOX);
    for disconnected in [true, true, false, false] {
        store.deafen(disconnected);
        hand_over(&store, 1 + u128::from(disconnected)).await;
        let _ = store.force_release(&exclusive("job/1", 0).hold.resource).await.unwrap();
        let _ = store.force_release(&exclusive("job/2", 0).hold.resource).await.unwrap();
    }
    assert_eq!(heard(&mut early), ["listening", "disconnected: unavailable", "listening", "1", "1"]);
    store.deafen(true);
    let mut late = store.listen(&INBOX);
    assert_eq!(heard(&mut late), ["disconnected: unavailable"]);
}

#[tokio::test]
async fn who_listens_no_more_leaves_nothing_behind() {
    let (store, _) = store();
    let (first, mut second) = (store.listen(&INBOX), store.listen(&INBOX));
    drop(first);
    hand_over(&store, 1).await;
    assert_eq!(heard(&mut second), ["listening", "1"]);
    assert_eq!(store.state().inboxes.count(), 1);
    drop(second);
    assert_eq!(store.state().inboxes.count(), 0);
}

#[tokio::test]
async fn announcements_have_no_end_though_the_store_is_gone() {
    let (store, _) = store();
    let mut notifications = store.listen(&INBOX);
    drop(store);
    assert_eq!(heard(&mut notifications), ["listening"]);
}

#[tokio::test]
async fn waiters_that_are_gone_and_never_asked_for_again_do_not_pile_up() {
    let (store, hands) = store();
    for turn in 0..5_000 {
        let name = format!("job/{turn}");
        fence(&store, &Acquisition { ttl: Duration::from_millis(1), ..exclusive(&name, turn) }).await;
        ahead(&store, &waiting(&name, 10_000 + turn)).await;
        hands.turn(Duration::from_millis(10));
    }
    // 100 tickets are kept at a time.
    let kept = store.state().resources.len();
    assert!(kept <= 400, "{kept} resources are kept");
}

#[tokio::test]
async fn a_resource_that_only_has_waiters_is_kept_and_not_listed() {
    let (store, hands) = store();
    let holder = Acquisition { ttl: Duration::from_millis(1), ..exclusive("orders/42", 1) };
    fence(&store, &holder).await;
    let waiter = waiting("orders/42", 2);
    ahead(&store, &waiter).await;
    hands.turn(Duration::from_millis(1));
    assert!(store.list(b"", 10).await.unwrap().resources.is_empty());
    assert_eq!(store.inspect(&waiter.hold.resource, 10).await.unwrap().waiting, 1);
    fence(&store, &waiter).await;
}

#[tokio::test]
async fn a_position_in_a_long_queue_is_the_number_of_those_ahead() {
    let (store, _) = store();
    fence(&store, &exclusive("orders/42", 0)).await;
    for (token, expected) in (1..=2_000).zip(0..) {
        assert_eq!(ahead(&store, &waiting("orders/42", token)).await, expected);
    }
    for token in (1..=2_000).filter(|token| token % 3 != 0) {
        let leaving = waiting("orders/42", token);
        assert_eq!(
            store.release(&leaving.hold, Duration::ZERO).await.unwrap(),
            Released::NotHeld { count: 0 }
        );
    }
    for (token, expected) in (3..=2_000).step_by(3).zip(0..) {
        assert_eq!(ahead(&store, &waiting("orders/42", token)).await, expected);
    }
}
