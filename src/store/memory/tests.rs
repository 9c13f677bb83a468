//! Tests of what nobody sees from outside: nothing is left behind.

use super::*;
use crate::{
    core::Token,
    runtime::env::RuntimeClock,
    store::{QueueTicket, types::exclusive},
};

fn store() -> MemoryStore {
    MemoryStore::new(Arc::new(RuntimeClock::start()))
}

async fn fence(store: &MemoryStore, asked: &Acquisition) -> u64 {
    match store.acquire(asked).await.unwrap() {
        Acquired::Granted(grant) => grant.fence.unwrap().get(),
        kept_out => panic!("{kept_out:?}"),
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

#[tokio::test]
async fn verbs_leave_nothing_behind_of_a_resource_that_was_free_or_is_free_after_them() {
    let store = store();
    let asked = exclusive("orders/42", 1);
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::NotHeld { count: 0 });
    assert_eq!(store.renew(&asked.hold, asked.ttl).await.unwrap(), Renewed::NotHeld);
    assert_eq!(store.force_release(&asked.hold.resource).await.unwrap(), 0);
    assert!(store.state.lock().resources.is_empty());
    fence(&store, &asked).await;
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    assert!(store.state.lock().resources.is_empty());
}

#[tokio::test]
async fn a_subscriber_that_is_dropped_leaves_nothing_behind_when_another_one_comes() {
    let store = store();
    drop(store.listen(&INBOX));
    let holder = exclusive("job/1", 1);
    fence(&store, &holder).await;
    ahead(&store, &waiting("job/1", 2)).await;
    assert_eq!(store.release(&holder.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    let _other = store.listen(&Inbox(Token::from_bits(10)));
    assert_eq!(store.state.lock().inboxes.subscribed.values().map(Vec::len).collect::<Vec<_>>(), [1]);
}

#[tokio::test(start_paused = true)]
async fn leases_and_waiters_that_ended_and_are_never_asked_for_again_do_not_pile_up() {
    let second = Duration::from_secs(1);
    for (ttl, waits) in [(second, false), (Duration::from_millis(1), true)] {
        let store = store();
        for turn in 0..5_000 {
            let name = format!("job/{turn}");
            fence(&store, &Acquisition { ttl, ..exclusive(&name, turn) }).await;
            if waits {
                ahead(&store, &waiting(&name, 10_000 + turn)).await;
            }
            tokio::time::advance(second / 100).await;
        }
        // 100 leases live at a time, or 100 tickets are kept.
        let kept = store.state.lock().resources.len();
        assert!(kept <= 400, "{kept} resources are kept");
    }
}
