//! Tests of what only the memory store has: faults, handles, whole milliseconds, and nothing left behind.

mod queue;

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::store::types::exclusive;

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
async fn verbs_leave_nothing_behind_of_a_resource_that_was_free_or_is_free_after_them() {
    let (store, _) = store();
    let asked = exclusive("orders/42", 1);
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::NotHeld { count: 0 });
    assert_eq!(store.renew(&asked.hold, asked.ttl).await.unwrap(), Renewed::NotHeld);
    assert_eq!(store.force_release(&asked.hold.resource).await.unwrap(), 0);
    assert!(store.state.lock().resources.is_empty());
    fence(&store, &asked).await;
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    assert!(store.state.lock().resources.is_empty());
}
