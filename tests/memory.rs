//! Tests of the memory store alone: faults on demand, whole milliseconds, and notifications that get lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, StreamExt};
use leasehold::{
    MemoryStore, Mode, ResourceName, Token,
    env::{Clock, Moment},
    store::{
        Acquired, Acquisition, Hold, Inbox, Notification, Notifications, QueueTicket, Released, Store, Walk,
    },
};

#[derive(Debug, Default)]
struct Hands(AtomicU64);

impl Hands {
    fn turn(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_micros()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for Hands {
    fn now(&self) -> Moment {
        Moment::since_origin(Duration::from_micros(self.0.load(Ordering::Relaxed)))
    }
}

fn store() -> (MemoryStore, Arc<Hands>) {
    let hands = Arc::new(Hands::default());
    (MemoryStore::new(hands.clone()), hands)
}

async fn fence(store: &MemoryStore, asked: &Acquisition) -> u64 {
    match store.acquire(asked).await.unwrap() {
        Acquired::Granted(grant) => grant.fence.unwrap().get(),
        kept_out => panic!("{kept_out:?}"),
    }
}

fn exclusive(resource: &str, token: u128) -> Acquisition {
    let (resource, token) = (ResourceName::new(resource).unwrap(), Token::from_bits(token));
    Acquisition {
        hold: Hold { resource, token, owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: Duration::from_secs(10),
        lock_delay: Duration::ZERO,
        metadata: Arc::default(),
        ticket: None,
    }
}

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
            Notification::Doubted(token) => format!("doubted: {}", token.to_hex()),
            Notification::Disconnected(error) => format!("disconnected: {}", error.kind()),
        });
    }
    received
}

#[tokio::test]
async fn a_pass_that_fails_is_not_executed_and_one_whose_reply_is_lost_is_executed_as_a_whole() {
    let (store, _) = store();
    let (from, to) = (exclusive("orders/42", 1), exclusive("orders/42", 2));
    fence(&store, &from).await;
    let fails: [fn(&MemoryStore, usize); 2] = [MemoryStore::fail_next, MemoryStore::lose_next_replies];
    for (fail, kind, executed) in [(fails[0], "unavailable", false), (fails[1], "reply_lost", true)] {
        fail(&store, 1);
        store.fail_next(1);
        assert_eq!(store.hand_off(&from.hold, &to, false).await.unwrap_err().kind(), kind);
        assert_eq!(store.is_held(&to.hold).await.unwrap_err().kind(), "unavailable", "it took one fault");
        assert_eq!(store.is_held(&from.hold).await.unwrap(), !executed);
        assert_eq!(store.is_held(&to.hold).await.unwrap(), executed);
    }
}

#[tokio::test]
async fn faults_come_in_the_order_they_were_asked_for() {
    let (store, _) = store();
    let resource = ResourceName::new("orders/42").unwrap();
    store.lose_next_replies(1);
    store.fail_next(2);
    for kind in ["reply_lost", "unavailable", "unavailable"] {
        assert_eq!(store.inspect(&resource, 1).await.unwrap_err().kind(), kind);
    }
    assert!(store.inspect(&resource, 1).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stalled_verb_is_executed_after_its_pause_and_not_at_all_if_nobody_waits() {
    let (store, _) = store();
    let pause = Duration::from_secs(2);
    store.stall_next(2, pause);

    let given_up = exclusive("a", 1);
    let waited = tokio::time::timeout(pause / 2, store.acquire(&given_up)).await;
    assert!(waited.is_err());

    let before = tokio::time::Instant::now();
    let asked = exclusive("b", 2);
    fence(&store, &asked).await;
    assert_eq!(before.elapsed(), pause);
    assert!(store.is_held(&asked.hold).await.unwrap());
    assert!(!store.is_held(&given_up.hold).await.unwrap());
}

#[tokio::test]
async fn a_store_that_a_clone_of_it_has_cleared_holds_nothing_and_its_fences_go_on() {
    let (store, _) = store();
    let asked = exclusive("orders/42", 1);
    let first = fence(&store, &asked).await;
    store.clone().clear();
    assert!(!store.is_held(&asked.hold).await.unwrap());
    assert!(fence(&store, &exclusive("orders/42", 2)).await > first);
}

#[tokio::test]
async fn a_fence_is_the_time_in_microseconds_unless_that_has_been_issued() {
    let (store, hands) = store();
    hands.turn(Duration::from_secs(5));
    assert_eq!(fence(&store, &exclusive("a", 1)).await, 5_000_000);
    assert_eq!(fence(&store, &exclusive("b", 2)).await, 5_000_001);
    hands.turn(Duration::from_millis(1));
    assert_eq!(fence(&store, &exclusive("c", 3)).await, 5_001_000);
}

#[tokio::test]
async fn a_hold_lasts_whole_milliseconds_and_never_less_than_asked() {
    let (store, hands) = store();
    let ttl = Duration::from_micros(1_100);
    let asked = Acquisition { ttl, ..exclusive("orders/42", 1) };
    fence(&store, &asked).await;
    hands.turn(Duration::from_micros(1_999));
    assert!(store.is_held(&asked.hold).await.unwrap());
    hands.turn(Duration::from_micros(1));
    assert!(!store.is_held(&asked.hold).await.unwrap());

    let none = Acquisition { ttl: Duration::ZERO, ..asked };
    fence(&store, &none).await;
    assert!(store.is_held(&none.hold).await.unwrap());
    hands.turn(Duration::from_millis(1));
    assert!(!store.is_held(&none.hold).await.unwrap());
}

#[tokio::test]
async fn a_ttl_without_measure_does_not_overflow() {
    let (store, hands) = store();
    hands.turn(Duration::from_secs(1));
    let asked = Acquisition { ttl: Duration::MAX, lock_delay: Duration::MAX, ..exclusive("orders/42", 1) };
    fence(&store, &asked).await;
    assert!(store.is_held(&asked.hold).await.unwrap());
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
async fn notifications_have_no_end_though_the_store_is_gone() {
    let (store, _) = store();
    let mut notifications = store.listen(&INBOX);
    drop(store);
    assert_eq!(received(&mut notifications), ["subscribed"]);
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

#[tokio::test]
async fn a_subscriber_that_is_dropped_gets_nothing_and_nobody_takes_up_what_it_was_handed() {
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
}
