//! The readiness of a manager: what a health check learns, and what it costs. On the memory store, in virtual time.

use actix::Addr;
use leasehold::{Acquire, AcquireError, LockManager, Ready, Settings, Shutdown, StoreError};
use tokio::time::{Instant, sleep};

use support::virtual_time::{World, in_virtual_time, millis, secs};

async fn ask(locks: &Addr<LockManager>) -> Result<(), AcquireError> {
    locks.send(Ready).await.unwrap()
}

#[test]
fn a_manager_is_ready_when_the_store_answers() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.fail_next(1);
        let error = ask(&locks).await.unwrap_err();
        assert!(matches!(error, AcquireError::Store(StoreError::Unavailable { .. })), "{error}");
        ask(&locks).await.unwrap();
    });
}

#[test]
fn a_manager_whose_store_answered_lately_does_not_ask_it() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let _lease = locks.send(Acquire::new("r").no_renew()).await.unwrap().unwrap();
        world.store.fail_next(1);
        sleep(secs(4)).await;
        ask(&locks).await.unwrap();
        sleep(secs(3)).await;
        assert!(ask(&locks).await.is_err(), "7 s later the store is asked, and fails as it was told to");
    });
}

#[test]
fn a_manager_whose_store_failed_since_its_last_answer_is_not_ready() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        ask(&locks).await.unwrap();
        world.store.fail_next(2);
        locks.send(Acquire::new("r")).await.unwrap().unwrap_err();
        assert!(ask(&locks).await.is_err());
        ask(&locks).await.unwrap();
    });
}

#[test]
fn all_who_ask_at_the_same_time_share_one_answer_of_the_store() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(1));
        let start = Instant::now();
        let both = tokio::join!(ask(&locks), async {
            sleep(millis(500)).await;
            let answer = ask(&locks).await;
            (answer, start.elapsed())
        });
        both.0.unwrap();
        both.1.0.unwrap();
        assert_eq!(both.1.1, secs(1), "a question of its own would have been answered at once");
    });
}

#[test]
fn a_store_that_hangs_is_not_waited_for() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(3600));
        let start = Instant::now();
        let error = ask(&locks).await.unwrap_err();
        assert!(matches!(error, AcquireError::Store(StoreError::TimedOut { .. })), "{error}");
        assert_eq!(start.elapsed(), secs(2));
    });
}

#[test]
fn a_manager_that_is_busy_or_shuts_down_is_not_ready() {
    in_virtual_time(|| async {
        let world = World::new();
        let mut settings = Settings::default();
        settings.limits.max_pending = 1;
        let locks = world.builder().settings(settings).start_here().unwrap();
        ask(&locks).await.unwrap();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let waiting = locks.send(Acquire::new("r").wait(secs(60)));
        let busy = async {
            sleep(secs(1)).await;
            assert!(matches!(ask(&locks).await, Err(AcquireError::Busy { pending: 1 })));
            drop(lease);
        };
        let (second, ()) = tokio::join!(waiting, busy);
        let second = second.unwrap().unwrap();
        let shutdown = locks.send(Shutdown { drain: secs(5) });
        let asked = async {
            sleep(secs(1)).await;
            assert!(matches!(ask(&locks).await, Err(AcquireError::ShuttingDown)));
            drop(second);
        };
        let (drained, ()) = tokio::join!(shutdown, asked);
        assert_eq!(drained.unwrap().revoked, 0);
    });
}
