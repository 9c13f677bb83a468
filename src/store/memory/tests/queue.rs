//! Tests of the queue for the memory store alone: lost notifications, and nothing left behind.

use futures_util::{FutureExt, StreamExt};

use super::*;
use crate::{
    core::Token,
    store::{Notification, QueueTicket, Walk},
};

const INBOX: Inbox = Inbox(Token::from_bits(9));

fn waiting(name: &str, token: u128) -> Acquisition {
    let ticket = QueueTicket {
        inbox: INBOX,
        ttl: Duration::from_secs(1),
        grant_window: Duration::from_secs(1),
        max_waiters: u32::MAX,
        place: None,
    };
    Acquisition { ticket: Some(ticket), ..exclusive(name, token) }
}

async fn ahead(store: &MemoryStore, asked: &Acquisition) -> u64 {
    match store.acquire(asked).await.unwrap() {
        Acquired::Queued { ahead, .. } => ahead,
        other => panic!("{other:?}"),
    }
}

async fn hand_over(store: &MemoryStore, token: u128) {
    let (name, holder) = (format!("job/{token}"), token + 1_000);
    fence(store, &exclusive(&name, holder)).await;
    ahead(store, &waiting(&name, token)).await;
    assert_eq!(store.release(&exclusive(&name, holder).hold, Duration::ZERO).await.unwrap(), Released::Freed);
}

/// Returns the notifications that have arrived: `subscribed`, `disconnected` with its reason, or a token.
fn received(notifications: &mut Notifications) -> Vec<String> {
    let mut received = Vec::new();
    while let Some(next) = notifications.next().now_or_never() {
        received.push(match next.unwrap() {
            Notification::HandedOver(token) => token.to_hex().trim_start_matches('0').to_owned(),
            Notification::Next(token) => format!("next: {}", token.to_hex().trim_start_matches('0')),
            Notification::GoOn(token) => format!("go on: {}", token.to_hex().trim_start_matches('0')),
            Notification::Subscribed => "subscribed".to_owned(),
            Notification::ToHolders(holders, _) => format!("to {} holders", holders.len()),
            Notification::Disconnected(error) => format!("disconnected: {}", error.kind()),
        });
    }
    received
}

#[tokio::test]
async fn of_many_at_one_place_the_tokens_decide_in_whatever_order_they_came() {
    const MANY: u128 = 3_000;
    let at_a_place = |token| {
        let asked = waiting("job/1", token);
        let ticket = asked.ticket.map(|ticket| QueueTicket { place: Some(1 << 50), ..ticket });
        Acquisition { ticket, ..asked }
    };
    let ((first, _), (second, _)) = (store(), store());
    for store in [&first, &second] {
        fence(store, &exclusive("job/1", MANY + 1)).await;
    }
    for token in 1..=MANY {
        ahead(&first, &at_a_place(token)).await;
        ahead(&second, &at_a_place(MANY + 1 - token)).await;
    }
    for token in 1..=MANY {
        for store in [&first, &second] {
            assert_eq!(ahead(store, &at_a_place(token)).await, u64::try_from(token).unwrap() - 1);
        }
    }
}

#[tokio::test]
async fn who_is_next_hears_of_a_hand_over_unless_notifications_get_lost_or_it_is_disconnected() {
    let faults: [fn(&MemoryStore); 3] =
        [|_| {}, |store| store.lose_notifications(true), |store| store.disconnect_subscribers(true)];
    let told = [
        &["subscribed", "1", "next: 2", "3"][..],
        &["subscribed", "3"],
        &["subscribed", "disconnected: unavailable"],
    ];
    for (fault, told) in faults.into_iter().zip(told) {
        let (store, _) = store();
        let mut notifications = store.listen(&INBOX);
        fault(&store);
        let holder = exclusive("orders/42", 1_000);
        fence(&store, &holder).await;
        for token in [1, 2] {
            ahead(&store, &waiting("orders/42", token)).await;
        }
        assert_eq!(store.release(&holder.hold, Duration::ZERO).await.unwrap(), Released::Freed);
        store.lose_notifications(false);
        hand_over(&store, 3).await;
        assert_eq!(received(&mut notifications), told);
    }
}

#[tokio::test]
async fn a_subscriber_is_told_when_it_is_disconnected_and_when_it_is_subscribed_again() {
    let (store, _) = store();
    let mut early = store.listen(&INBOX);
    for disconnected in [true, true, false, false] {
        store.disconnect_subscribers(disconnected);
        hand_over(&store, 1 + u128::from(disconnected)).await;
        let _ = store.force_release(&exclusive("job/1", 0).hold.resource).await.unwrap();
        let _ = store.force_release(&exclusive("job/2", 0).hold.resource).await.unwrap();
    }
    let expected =
        ["subscribed", "disconnected: unavailable", "subscribed", "1", "to 1 holders", "1", "to 1 holders"];
    assert_eq!(received(&mut early), expected);
    store.disconnect_subscribers(true);
    let mut late = store.listen(&INBOX);
    assert_eq!(received(&mut late), ["disconnected: unavailable"]);
}

#[tokio::test]
async fn a_subscriber_that_is_dropped_gets_nothing_and_leaves_nothing_behind_when_another_one_comes() {
    let (store, _) = store();
    let (first, mut second) = (store.listen(&INBOX), store.listen(&INBOX));
    drop(first);
    hand_over(&store, 1).await;
    assert_eq!(received(&mut second), ["subscribed", "1"]);
    drop(second);
    hand_over(&store, 2).await;
    // Nobody would take the hand-over up.
    fence(&store, &exclusive("job/2", 5)).await;
    let mut third = store.listen(&Inbox(Token::from_bits(10)));
    assert_eq!(received(&mut third), ["subscribed"]);
    assert_eq!(store.state.lock().inboxes.subscribed.values().map(Vec::len).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn notifications_have_no_end_though_the_store_is_gone() {
    let (store, _) = store();
    let mut notifications = store.listen(&INBOX);
    drop(store);
    assert_eq!(received(&mut notifications), ["subscribed"]);
}

#[tokio::test]
async fn leases_and_waiters_that_ended_and_are_never_asked_for_again_do_not_pile_up() {
    let second = Duration::from_secs(1);
    for (ttl, waits) in [(second, false), (Duration::from_millis(1), true)] {
        let (store, hands) = store();
        for turn in 0..5_000 {
            let name = format!("job/{turn}");
            fence(&store, &Acquisition { ttl, ..exclusive(&name, turn) }).await;
            if waits {
                ahead(&store, &waiting(&name, 10_000 + turn)).await;
            }
            hands.turn(second / 100);
        }
        // 100 leases live at a time, or 100 tickets are kept.
        let kept = store.state.lock().resources.len();
        assert!(kept <= 400, "{kept} resources are kept");
    }
}

#[tokio::test]
async fn a_resource_that_only_has_waiters_is_kept_and_not_listed() {
    let (store, hands) = store();
    let holder = Acquisition { ttl: Duration::from_millis(1), ..exclusive("orders/42", 1) };
    fence(&store, &holder).await;
    let waiter = waiting("orders/42", 2);
    ahead(&store, &waiter).await;
    hands.turn(Duration::from_millis(1));
    assert!(store.list(&Walk::new(b"", 10)).await.unwrap().resources.is_empty());
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
