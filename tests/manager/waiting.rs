//! How callers wait in the queue: in the order of arrival, without polling, and what happens when somebody dies. In
//! virtual time.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, Addr};
use leasehold::{
    Acquire, AcquireAll, AcquireError, Inspect, LeaseChange, LockManager, ReadLock, Request, Settings,
    Shutdown, Stats, WriteLock,
};
use support::{
    odd_store::odd_store,
    virtual_time::{Listener, World, in_virtual_time, millis, secs},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

/// Who was served, and when after the start.
type Served = Rc<RefCell<Vec<(u32, Duration)>>>;

/// Starts a caller that waits, holds for `hold`, and writes down when it was served.
fn waiter<Kind: 'static>(
    (locks, number, served): (&Addr<LockManager>, u32, &Served),
    asked: Request<Kind>,
    hold: Duration,
) -> JoinHandle<()> {
    let (asking, served, start) = (locks.send(asked.wait(secs(600))), Rc::clone(served), Instant::now());
    actix_rt::spawn(async move {
        let lease = asking.await.unwrap().unwrap();
        served.borrow_mut().push((number, start.elapsed()));
        sleep(hold).await;
        lease.release().await.unwrap();
    })
}

fn numbers(served: &Served) -> Vec<u32> {
    served.borrow().iter().map(|(number, _)| *number).collect()
}

#[test]
fn waiters_of_many_managers_are_served_in_the_order_of_arrival_without_polling() {
    in_virtual_time(|| async {
        let world = World::new();
        let managers: Vec<_> = (0..4).map(|_| world.strict_manager()).collect();
        let lease = managers[0].send(Acquire::new("r")).await.unwrap().unwrap();
        let served = Served::default();
        let mut waiters = Vec::new();
        for number in 0..40 {
            let locks = &managers[number as usize * 7 % 4];
            waiters.push(waiter((locks, number, &served), Acquire::new("r"), millis(1)));
            sleep(millis(1)).await;
        }
        let start = Instant::now();
        drop(lease);
        for waiter in waiters {
            waiter.await.unwrap();
        }
        assert_eq!(numbers(&served), (0..40).collect::<Vec<_>>());
        assert!(start.elapsed() < millis(200), "1 ms each, and no pauses: {:?}", start.elapsed());
        let mut attempts = 0;
        for locks in &managers {
            attempts += locks.send(Stats).await.unwrap().attempts;
        }
        assert!(attempts <= 1 + 40 * 2, "one to join the queue and one to take up: {attempts}");
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn a_writer_is_not_overtaken_by_readers_that_keep_coming() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let served = Served::default();
        let reader = |number| waiter((&locks, number, &served), ReadLock::new("r"), secs(1));
        let mut all = vec![reader(0), reader(1)];
        sleep(millis(100)).await;
        all.push(waiter((&locks, 2, &served), WriteLock::new("r"), secs(1)));
        for number in 3..20 {
            sleep(millis(100)).await;
            all.push(reader(number));
        }
        for caller in all {
            caller.await.unwrap();
        }
        assert_eq!(numbers(&served)[..3], [0, 1, 2]);
        let (_, waited) = served.borrow()[2];
        assert!(waited < secs(1), "as soon as the readers before it were done: {waited:?}");
    });
}

#[test]
fn a_dead_head_costs_its_grant_window_and_no_more() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        let dying = world.builder_on(Arc::new(store.clone())).start_here().unwrap();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let _head = actix_rt::spawn(dying.send(Acquire::new("r").wait(secs(600))));
        sleep(millis(10)).await;
        let served = Served::default();
        let next = waiter((&locks, 1, &served), Acquire::new("r"), millis(1));
        sleep(millis(10)).await;
        // What it is handed over it never takes up, as if its process had died.
        store.panic_from_now_on();
        let start = Instant::now();
        drop(lease);
        next.await.unwrap();
        assert!(start.elapsed() <= millis(1_200), "{:?}", start.elapsed());
    });
}

#[test]
fn a_waiter_that_gives_up_leaves_the_queue_and_does_not_hold_it_up() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.strict_manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let gone = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(600))));
        let impatient = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(1))));
        sleep(millis(10)).await;
        let served = Served::default();
        let last = waiter((&locks, 1, &served), Acquire::new("r"), millis(1));
        sleep(millis(10)).await;
        assert_eq!(locks.send(Inspect::new("r")).await.unwrap().unwrap().waiting, 3);
        gone.abort();
        let refused = impatient.await.unwrap().unwrap();
        assert!(matches!(refused, Err(AcquireError::Held { ahead: Some(_), .. })), "{refused:?}");
        sleep(millis(10)).await;
        assert_eq!(locks.send(Inspect::new("r")).await.unwrap().unwrap().waiting, 1);
        let start = Instant::now();
        drop(lease);
        last.await.unwrap();
        assert!(start.elapsed() < millis(50), "{:?}", start.elapsed());
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn waiters_that_hear_of_no_hand_over_are_served_all_the_same() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.lose_notifications(true);
        let lease = locks.send(Acquire::new("r").ttl(secs(5))).await.unwrap().unwrap();
        let served = Served::default();
        let waiters: Vec<_> = (0..3)
            .map(|number| waiter((&locks, number, &served), Acquire::new("r").ttl(secs(5)), millis(1)))
            .collect();
        sleep(millis(10)).await;
        drop(lease);
        for waiter in waiters {
            waiter.await.unwrap();
        }
        assert_eq!(served.borrow().len(), 3);
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn a_try_does_not_overtake_those_who_wait() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let permits = || Acquire::new("r").permits(2, 3);
        let held = locks.send(permits()).await.unwrap().unwrap();
        let served = Served::default();
        let waiting = waiter((&locks, 1, &served), permits(), millis(1));
        sleep(millis(10)).await;
        let overtaking = locks.send(Acquire::new("r").permits(1, 3)).await.unwrap();
        assert!(matches!(overtaking, Err(AcquireError::Held { ahead: None, .. })), "{overtaking:?}");
        drop(held);
        waiting.await.unwrap();
    });
}

#[test]
fn a_queue_that_is_full_says_so_at_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let mut settings = Settings::default();
        settings.limits.max_waiters = 2;
        let locks = world.builder().settings(settings).start_here().unwrap();
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let ask = || locks.send(Acquire::new("r").wait(secs(60)));
        let _waiting = [actix_rt::spawn(ask()), actix_rt::spawn(ask())];
        sleep(millis(10)).await;
        let start = Instant::now();
        let full = ask().await.unwrap();
        assert!(matches!(full, Err(AcquireError::QueueFull { waiters: 2 })), "{full:?}");
        assert_eq!(start.elapsed(), secs(0));
    });
}

#[test]
fn a_waiter_is_told_its_position() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let ask = || Acquire::new("r").wait(secs(60));
        let _first = actix_rt::spawn(locks.send(ask()));
        sleep(millis(10)).await;
        let listener = Listener::default();
        let _second = actix_rt::spawn(locks.send(ask().events(listener.clone().start().recipient())));
        sleep(millis(10)).await;
        assert_eq!(listener.heard(), [LeaseChange::Queued { ahead: 1, expected_wait: None }]);
    });
}

#[test]
fn a_manager_that_shuts_down_takes_its_waiters_out_of_the_queue() {
    in_virtual_time(|| async {
        let world = World::new();
        let (ending, locks) = (world.manager(), world.manager());
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let waiting = actix_rt::spawn(ending.send(Acquire::new("r").wait(secs(60))));
        sleep(millis(10)).await;
        ending.send(Shutdown { drain: secs(0) }).await.unwrap();
        assert!(matches!(waiting.await.unwrap().unwrap(), Err(AcquireError::ShuttingDown)));
        assert_eq!(locks.send(Inspect::new("r")).await.unwrap().unwrap().waiting, 0);
        drop(lease);
    });
}

#[test]
fn a_wait_without_end_is_not_bound_by_the_longest_wait() {
    in_virtual_time(|| async {
        let world = World::new();
        let mut settings = Settings::default();
        settings.limits.max_wait = secs(60);
        let locks = world.builder().settings(settings).start_here().unwrap();
        let lease = locks.send(Acquire::new("a")).await.unwrap().unwrap();
        let one = actix_rt::spawn(locks.send(Acquire::new("a").wait_forever()));
        let set = actix_rt::spawn(locks.send(AcquireAll::new(["b", "a"]).wait_forever()));
        sleep(secs(3 * 24 * 3600)).await;
        assert!(!one.is_finished() && !set.is_finished());
        drop(lease);
        drop(one.await.unwrap().unwrap().unwrap());
        assert!(set.await.unwrap().unwrap().unwrap().is_valid());
    });
}

#[test]
fn a_wait_without_end_ends_when_its_caller_gives_up() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let asked = tokio::time::timeout(secs(60), locks.send(Acquire::new("r").wait_forever()));
        assert!(asked.await.is_err());
        sleep(millis(10)).await;
        assert_eq!(locks.send(Inspect::new("r")).await.unwrap().unwrap().waiting, 0);
    });
}

#[test]
fn a_limited_number_of_attempts_ends_a_wait_without_end() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let refused = locks.send(Acquire::new("r").wait_forever().attempts(3)).await.unwrap().unwrap_err();
        assert!(matches!(refused, AcquireError::Held { attempts: 3, .. }), "{refused}");
    });
}
