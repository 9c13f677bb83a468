//! A resource is asked back: its holders are told, may finish, and lose it when the grace is over. In virtual time.

use std::{sync::Arc, time::Duration};

use actix::{Actor, Addr};
use futures_util::FutureExt;
use leasehold::{
    Acquire, AcquireAll, Lease, LeaseChange, LockManager, LossReason, MemoryStore, QuorumOptions,
    QuorumStore, ReadLock, Revoke, RevokeError, RevokeRequested, Revoked, Shutdown, Stats, StoreError,
    WithLock, env::RuntimeClock,
};
use tokio::time::{Instant, sleep, timeout};

use support::virtual_time::{Listener, World, in_virtual_time, millis, secs};

fn revoke() -> Revoke {
    Revoke::new("r").reason("a deploy").grace(secs(30))
}

async fn held(locks: &Addr<LockManager>) -> Lease {
    locks.send(Acquire::new("r").wait(secs(600))).await.unwrap().unwrap()
}

async fn requested(lease: &Lease) -> RevokeRequested {
    timeout(millis(1), lease.revoke_requested()).await.expect("told at once").expect("while it holds")
}

/// Finished, taken and unconfirmed.
fn numbers(revoked: &Revoked) -> (usize, usize, usize) {
    (revoked.finished, revoked.taken, revoked.unconfirmed)
}

#[test]
fn a_holder_is_told_and_one_that_finishes_is_not_taken_from() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let listener = Listener::default();
        let ask = Acquire::new("r").events(listener.clone().start().recipient());
        let lease = locks.send(ask).await.unwrap().unwrap();
        let next = actix_rt::spawn({
            let others = world.manager();
            async move { held(&others).await }
        });
        let start = Instant::now();
        let revoking = actix_rt::spawn(operator.send(revoke()));
        let request = requested(&lease).await;
        assert_eq!((&*request.reason, request.grace), ("a deploy", secs(30)));
        assert_eq!(listener.heard(), [LeaseChange::Granted, LeaseChange::RevokeRequested(request)]);
        sleep(secs(12)).await;
        assert!(lease.is_valid(), "it is renewed while it finishes");
        let fence = lease.fence();
        lease.release().await.unwrap();
        let next = timeout(millis(1), next).await.expect("the next waiter has it at once").unwrap();
        assert!(next.fence() > fence);
        let revoked = revoking.await.unwrap().unwrap().unwrap();
        assert_eq!(numbers(&revoked), (1, 0, 0));
        assert!(start.elapsed() < secs(14), "answered soon after: {:?}", start.elapsed());
        sleep(secs(60)).await;
        assert!(next.is_valid(), "who came later is left alone");
        assert!(next.revoke_requested().now_or_never().is_none(), "and was not told");
        let times = |change: &LeaseChange| matches!(change, LeaseChange::RevokeRequested(_));
        assert_eq!(listener.heard().iter().filter(|change| times(change)).count(), 1, "told once");
    });
}

#[test]
fn a_holder_that_does_not_finish_loses_it_to_the_next_when_the_grace_is_over() {
    in_virtual_time(|| async {
        let world = World::new();
        // The waiter may be of the same process, or of another one.
        for others in [None, Some(world.manager())] {
            let (locks, operator) = (world.manager(), world.manager());
            let lease = held(&locks).await;
            let others = others.unwrap_or_else(|| locks.clone());
            let next = actix_rt::spawn(async move { held(&others).await });
            let start = Instant::now();
            let revoked = operator.send(revoke()).await.unwrap().unwrap();
            assert_eq!(numbers(&revoked), (0, 1, 0));
            assert!(start.elapsed() >= secs(30) && start.elapsed() < secs(31), "{:?}", start.elapsed());
            let lost = timeout(millis(1), lease.lost()).await;
            assert_eq!(lost, Ok(LossReason::Forced), "told without a renewal");
            let next = timeout(millis(1), next).await.expect("the next waiter has it at once").unwrap();
            assert!(next.fence() > lease.fence());
            lease.release().await.unwrap_err();
            sleep(secs(60)).await;
            assert!(next.is_valid());
            next.release().await.unwrap();
            assert_eq!(world.left().await, 0);
        }
    });
}

#[test]
fn nothing_is_kept_closed_after_a_lease_with_a_lock_delay_is_taken() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let ask = Acquire::new("r").lock_delay(secs(300)).min_hold(secs(200));
        let lease = locks.send(ask).await.unwrap().unwrap();
        // Its holder lets go as soon as it is told, which is before the release of the revoke is executed.
        let gone = actix_rt::spawn(async move { lease.lost().await });
        for pause in [Duration::ZERO, Duration::ZERO, secs(1)] {
            world.store.stall_next(1, pause);
        }
        let revoked = operator.send(revoke().grace(millis(1))).await.unwrap().unwrap();
        assert_eq!((numbers(&revoked), gone.await.unwrap()), ((0, 1, 0), LossReason::Forced));
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn all_that_hold_are_told_be_they_readers_permits_or_an_owner_that_re_entered() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let permit = || Acquire::new("r").permits(1, 3);
        let mine = || Acquire::new("r").owner("worker");
        let readers = [locks.send(ReadLock::new("r")).await, operator.send(ReadLock::new("r")).await];
        told_and_taken(&operator, readers.map(|lease| lease.unwrap().unwrap())).await;
        let permits = [locks.send(permit()).await, operator.send(permit()).await];
        told_and_taken(&operator, permits.map(|lease| lease.unwrap().unwrap())).await;
        let holds = [locks.send(mine()).await, locks.send(mine()).await];
        told_and_taken(&operator, holds.map(|lease| lease.unwrap().unwrap())).await;
        let set = locks.send(AcquireAll::new(["q", "r"])).await.unwrap().unwrap();
        let revoked = operator.send(revoke()).await.unwrap().unwrap();
        assert_eq!((numbers(&revoked), set.lost().await.reason), ((0, 1, 0), LossReason::Forced));
    });
}

/// Of two holders, the first finishes.
async fn told_and_taken(operator: &Addr<LockManager>, [first, second]: [Lease; 2]) {
    let revoking = actix_rt::spawn(operator.send(revoke()));
    assert_eq!(requested(&first).await, requested(&second).await);
    first.release().await.unwrap();
    let revoked = revoking.await.unwrap().unwrap().unwrap();
    assert_eq!(numbers(&revoked), (1, 1, 0));
    assert_eq!(second.lost().await, LossReason::Forced);
}

#[test]
fn a_resource_that_nobody_holds_is_revoked_at_once() {
    in_virtual_time(|| async {
        let (locks, start) = (World::new().manager(), Instant::now());
        let revoked = locks.send(revoke()).await.unwrap().unwrap();
        assert_eq!((revoked, start.elapsed()), (Revoked::default(), Duration::ZERO));
    });
}

#[test]
fn a_holder_that_missed_the_notice_is_told_later_within_the_grace() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let lease = held(&locks).await;
        world.store.disconnect_subscribers(true);
        let revoking = actix_rt::spawn(operator.send(revoke()));
        sleep(secs(5)).await;
        assert!(lease.revoke_requested().now_or_never().is_none());
        world.store.disconnect_subscribers(false);
        // Pauses grow up to an eighth of the grace, and notices go with a look, of which there is one a second.
        let request = timeout(secs(5), lease.revoke_requested()).await.unwrap().unwrap();
        assert!(request.grace > secs(19) && request.grace <= secs(25), "what is left: {:?}", request.grace);
        drop(lease);
        assert_eq!(numbers(&revoking.await.unwrap().unwrap().unwrap()), (1, 0, 0));
    });
}

#[test]
fn a_holder_that_hears_nothing_learns_of_the_loss_at_its_next_renewal() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let lease = held(&locks).await;
        world.store.disconnect_subscribers(true);
        let revoked = operator.send(revoke().grace(secs(25))).await.unwrap().unwrap();
        assert_eq!(numbers(&revoked), (0, 1, 0));
        assert!(lease.is_valid(), "as after every loss in the store that nobody tells of");
        assert_eq!(timeout(secs(11), lease.lost()).await, Ok(LossReason::NotHeld));
    });
}

#[test]
fn a_lease_of_the_revoking_manager_is_told_without_notifications() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = held(&locks).await;
        world.store.disconnect_subscribers(true);
        let revoking = actix_rt::spawn(locks.send(revoke()));
        requested(&lease).await;
        assert_eq!(numbers(&revoking.await.unwrap().unwrap().unwrap()), (0, 1, 0));
        assert_eq!(timeout(millis(1), lease.lost()).await, Ok(LossReason::Forced));
    });
}

#[test]
fn a_hand_over_that_is_taken_up_within_the_grace_is_told_too() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others, operator) = (world.manager(), world.manager(), world.manager());
        let lease = held(&locks).await;
        let next = actix_rt::spawn(async move { held(&others).await });
        sleep(secs(1)).await;
        // The release is executed at once, and the attempt that takes up the hand-over half a second later.
        world.store.stall_next(1, Duration::ZERO);
        world.store.stall_next(1, millis(500));
        lease.release().await.unwrap();
        sleep(millis(1)).await;
        let revoking = actix_rt::spawn(operator.send(revoke()));
        sleep(millis(10)).await;
        assert!(!next.is_finished(), "nobody could be told");
        let next = next.await.unwrap();
        let request = timeout(secs(2), next.revoke_requested()).await;
        assert!(matches!(request, Ok(Some(_))), "{request:?}");
        drop(next);
        assert_eq!(numbers(&revoking.await.unwrap().unwrap().unwrap()), (1, 0, 0));
    });
}

#[test]
fn a_revoke_goes_on_when_its_sender_goes() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let lease = held(&locks).await;
        operator.do_send(revoke());
        assert_eq!(timeout(secs(31), lease.lost()).await, Ok(LossReason::Forced));
    });
}

#[test]
fn a_manager_that_shuts_down_within_the_grace_takes_nothing() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let lease = held(&locks).await;
        let revoking = actix_rt::spawn(operator.send(revoke()));
        requested(&lease).await;
        let drain = actix_rt::spawn(operator.send(Shutdown { drain: Duration::ZERO }));
        let stopped = timeout(secs(1), revoking).await.expect("answered at once").unwrap().unwrap();
        assert!(matches!(stopped, Err(RevokeError::ShuttingDown)), "{stopped:?}");
        drain.await.unwrap().unwrap();
        sleep(secs(60)).await;
        assert!(lease.is_valid());
    });
}

#[test]
fn an_answer_that_is_not_certain_is_counted_as_such_and_repeated() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        world.store.fail_next(1);
        let failed = operator.send(revoke()).await.unwrap();
        assert!(matches!(failed, Err(RevokeError::Store(StoreError::Unavailable { .. }))), "{failed:?}");
        let lease = held(&locks).await;
        let revoking = actix_rt::spawn(operator.send(revoke().grace(millis(20))));
        requested(&lease).await;
        // The notice that it is taken, and its release.
        world.store.fail_next(2);
        assert_eq!(numbers(&revoking.await.unwrap().unwrap().unwrap()), (0, 0, 1));
        assert!(lease.is_valid(), "nobody has told it that it is taken");
        sleep(secs(1)).await;
        assert_eq!(world.left().await, 0, "the library has repeated the release");
    });
}

#[test]
fn work_under_a_lock_may_finish_early_and_nobody_who_is_released_waits_for_a_request() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        operator.do_send(revoke());
        let done = locks.with_lock(Acquire::new("r"), async |lease| {
            operator.do_send(revoke());
            lease.revoke_requested().await.map(|request| request.reason)
        });
        assert_eq!(done.await.unwrap().value.as_deref(), Some("a deploy"));
        let lease = held(&locks).await;
        let wanted_back = lease.revoke_requested();
        lease.release().await.unwrap();
        assert_eq!(timeout(millis(1), wanted_back).await, Ok(None), "it does not wait for ever");
    });
}

#[test]
fn a_forced_release_tells_holders_of_every_manager_at_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others, operator) = (world.manager(), world.manager(), world.manager());
        let readers = [locks.send(ReadLock::new("r")).await, others.send(ReadLock::new("r")).await];
        assert_eq!(numbers(&operator.send(Revoke::at_once("r")).await.unwrap().unwrap()), (0, 2, 0));
        for reader in readers {
            let lost = timeout(millis(1), reader.unwrap().unwrap().lost()).await;
            assert_eq!(lost, Ok(LossReason::Forced));
        }
        let lost = locks.send(Stats).await.unwrap().lost;
        assert_eq!(lost.get(&LossReason::Forced), Some(&1));
    });
}

#[test]
fn the_copies_of_a_quorum_are_told_once() {
    in_virtual_time(|| async {
        let clock = Arc::new(RuntimeClock::start());
        let node = |number: u32| (number.to_string(), Arc::new(MemoryStore::new(clock.clone())) as Arc<_>);
        let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
        let store = QuorumStore::with_clock((1..=5).map(node), options, clock.clone()).unwrap();
        let store = Arc::new(store);
        let manager = || LockManager::builder(store.clone()).clock(clock.clone()).start_here().unwrap();
        let (locks, operator) = (manager(), manager());
        sleep(millis(1)).await;
        let listener = Listener::default();
        let ask = Acquire::new("r").events(listener.clone().start().recipient());
        let lease = locks.send(ask).await.unwrap().unwrap();
        let next = actix_rt::spawn(async move { held(&locks).await });
        let revoked = operator.send(revoke().grace(secs(1))).await.unwrap().unwrap();
        assert_eq!((numbers(&revoked), lease.lost().await), ((0, 1, 0), LossReason::Forced));
        let told = |change: &&LeaseChange| !matches!(change, LeaseChange::Renewed);
        assert_eq!(listener.heard().iter().filter(told).count(), 3, "{:?}", listener.heard());
        let next = timeout(secs(1), next).await.expect("the next waiter has it at once").unwrap();
        assert!(next.fence() > lease.fence());
    });
}
