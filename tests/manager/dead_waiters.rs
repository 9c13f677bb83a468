//! What waiters of dead processes cost those who live, in virtual time.

use std::{sync::Arc, time::Duration};

use leasehold::{
    Acquire, Mode, ResourceName, StoreError, Token,
    store::{Acquired, Acquisition, Hold, Inbox, Notifications, QueueTicket, Store},
};
use support::virtual_time::{World, in_virtual_time, millis, secs};
use tokio::time::{Instant, sleep};

const DEAD: [u64; 4] = [1, 8, 30, 300];
const WINDOW: Duration = secs(1);
/// How far attempts are spread by chance.
const LATE: Duration = millis(300);

fn asked(number: u64, ttl: Duration, ticket: Option<QueueTicket>) -> Acquisition {
    let token = Token::from_bits(u128::from(number) << 64);
    Acquisition {
        hold: Hold { resource: ResourceName::new("job").unwrap(), token, owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl,
        lock_delay: Duration::ZERO,
        metadata: Arc::default(),
        ticket,
    }
}

/// A holder, and behind it waiters of processes that are gone; of those whose notifications are kept nobody knows it.
async fn dead(world: &World, many: u64, ttl: Duration, vanished: bool) -> (Acquisition, Vec<Notifications>) {
    let holder = asked(many + 1, ttl, None);
    assert!(matches!(world.store.acquire(&holder).await, Ok(Acquired::Granted(_))));
    let mut lines = Vec::new();
    for number in 0..many {
        let inbox = Inbox(Token::from_bits(u128::from(number)));
        if vanished {
            lines.push(world.store.listen(&inbox));
        }
        let ticket =
            QueueTicket { inbox, ttl: secs(20), grant_window: WINDOW, max_waiters: 10_000, place: None };
        let waits = world.store.acquire(&asked(number, secs(10), Some(ticket))).await;
        assert!(matches!(waits, Ok(Acquired::Queued { .. })), "{waits:?}");
    }
    (holder, lines)
}

/// How long after the end of the holder one who lives has the resource.
async fn open_after(many: u64, ttl: Duration, released: bool, vanished: bool) -> Duration {
    let world = World::new();
    let (holder, _lines) = dead(&world, many, ttl, vanished).await;
    let end = Instant::now() + ttl;
    let locks = world.manager();
    let waiter = actix_rt::spawn(async move {
        let lease = locks.send(Acquire::new("job").wait(secs(600))).await.unwrap().unwrap();
        (Instant::now(), lease)
    });
    sleep(millis(100)).await;
    let end = if released {
        let _ = world.store.release(&holder.hold, Duration::ZERO).await.unwrap();
        Instant::now()
    } else {
        end
    };
    let (granted, _lease) = waiter.await.unwrap();
    granted - end
}

#[test]
fn however_many_dead_wait_one_who_lives_is_served_within_a_ttl_or_two_windows() {
    for many in DEAD {
        for (ttl, released, vanished) in [
            (secs(2), true, false),
            (secs(2), false, false),
            (secs(30), true, false),
            (secs(30), false, false),
            (secs(2), true, true),
            (secs(2), false, true),
            (secs(30), true, true),
        ] {
            in_virtual_time(|| async move {
                let open = open_after(many, ttl, released, vanished).await;
                let window_to_look = if vanished && !released { WINDOW } else { Duration::ZERO };
                let bound = ttl.max(2 * WINDOW) + window_to_look + LATE;
                assert!(open <= bound, "{many} dead, {ttl:?}, {released}, {vanished}: open after {open:?}");
            });
        }
    }
}

#[test]
fn however_many_dead_wait_a_try_after_a_ttl_is_granted() {
    for many in DEAD {
        for (ttl, released) in [(secs(2), true), (secs(2), false), (secs(30), true), (secs(30), false)] {
            in_virtual_time(|| async move {
                let world = World::new();
                let (holder, _) = dead(&world, many, ttl, false).await;
                if released {
                    let answer: Result<_, StoreError> =
                        world.store.release(&holder.hold, Duration::ZERO).await;
                    let _ = answer.unwrap();
                }
                sleep(ttl + millis(1)).await;
                let tried = world.manager().send(Acquire::new("job")).await.unwrap();
                assert!(tried.is_ok(), "{many} dead, {ttl:?}, {released}: {tried:?}");
            });
        }
    }
}
