//! What a caller sees of leases: granted, waited for, renewed, lost, released. On the memory store, in virtual time.

use std::{cell::Cell, rc::Rc, time::Duration};

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use leasehold::{
    Acquire, AcquireError, Backoff, Inspect, IsHeld, Lease, LeaseChange, LeaseStatus, List, LossReason,
    ReadLock, Release, ReleaseError, Released, RenewError, Revoke, SetTuning, Stats, StoreError, WriteLock,
};
use support::virtual_time::{Listener, World, in_virtual_time, millis, secs};
use tokio::time::{Instant, sleep};

#[test]
fn a_lease_is_exclusive_until_it_is_released() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = locks.send(Acquire::new("orders/42").purpose("invoice run")).await.unwrap().unwrap();
        let error = locks.send(Acquire::new("orders/42")).await.unwrap().unwrap_err();
        let AcquireError::Held { by, attempts, .. } = &error else { panic!("{error}") };
        assert_eq!((by.token, *attempts), (lease.token().prefix(), 1));
        let by = format!("held by token {} (invoice run, host ", by.token);
        let text = error.to_string();
        assert!(text.starts_with(&by) && text.contains(") for another 30s; gave up"), "{error}");
        assert_eq!(lease.release().await.unwrap(), Released::Freed);
        assert!(locks.send(Acquire::new("orders/42")).await.unwrap().is_ok());
    });
}

#[test]
fn a_lease_is_renewed_for_as_long_as_it_is_kept() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r").ttl(secs(3))).await.unwrap().unwrap();
        sleep(secs(3600)).await;
        assert_eq!(lease.status(), LeaseStatus::Held);
        assert!(locks.send(IsHeld::new("r", lease.token())).await.unwrap().unwrap());
        let renewals = locks.send(Stats).await.unwrap().renewals;
        assert!((3600..4200).contains(&renewals), "every 0.9 to 1 s: {renewals}");
    });
}

#[test]
fn a_lease_that_is_not_renewed_is_lost_before_the_store_ends_it() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let start = Instant::now();
        let lease = locks.send(Acquire::new("r").ttl(secs(10)).no_renew()).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::Expired);
        assert!(!lease.is_valid());
        assert!(start.elapsed() < secs(10));
        assert!(locks.send(IsHeld::new("r", lease.token())).await.unwrap().unwrap());
    });
}

#[test]
fn a_holder_without_renewal_can_renew_by_itself() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = locks.send(Acquire::new("r").ttl(secs(10)).no_renew()).await.unwrap().unwrap();
        for _ in 0..10 {
            sleep(secs(5)).await;
            assert!(lease.renew().await.unwrap() > secs(9));
        }
        assert_eq!(lease.lost().await, LossReason::Expired);
        let error = lease.renew().await.unwrap_err();
        assert!(matches!(error, RenewError::Lost { .. } | RenewError::NotFound), "{error}");
    });
}

#[test]
fn the_future_of_a_loss_outlives_its_lease_and_says_that_it_was_released() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = locks.send(Acquire::new("r").ttl(secs(10))).await.unwrap().unwrap();
        let (lost, start) = (lease.lost(), Instant::now());
        drop(lease);
        assert_eq!(lost.await, LossReason::Released);
        assert!(start.elapsed() < secs(1), "{:?}", start.elapsed());
    });
}

/// An actor that owns its lease, watches it, and releases it when it is told to.
struct Owner {
    lease: Option<Lease>,
    lost: Rc<Cell<Option<LossReason>>>,
}

#[derive(Message)]
#[rtype(result = "Option<Result<Released, ReleaseError>>")]
struct GiveBack;

impl Actor for Owner {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let Some(lease) = &self.lease else { return };
        ctx.spawn(lease.lost().into_actor(self).map(|reason, owner, _| owner.lost.set(Some(reason))));
    }
}

impl Handler<GiveBack> for Owner {
    type Result = ResponseFuture<Option<Result<Released, ReleaseError>>>;

    fn handle(&mut self, _: GiveBack, _: &mut Self::Context) -> Self::Result {
        let lease = self.lease.take();
        Box::pin(async { Some(lease?.release().await) })
    }
}

#[test]
fn an_actor_owns_its_lease_watches_it_and_releases_it() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        for (renewed, expected) in [(true, LossReason::Released), (false, LossReason::Expired)] {
            let ask = Acquire::new("r").ttl(secs(10));
            let ask = if renewed { ask } else { ask.no_renew() };
            let (lease, lost) = (Some(locks.send(ask).await.unwrap().unwrap()), Rc::default());
            let owner = Owner { lease, lost: Rc::clone(&lost) }.start();
            sleep(secs(20)).await;
            let released = owner.send(GiveBack).await.unwrap().unwrap();
            assert_eq!(released.is_ok(), renewed, "{released:?}");
            sleep(millis(1)).await;
            assert_eq!(lost.get(), Some(expected));
        }
    });
}

#[test]
fn a_dropped_lease_is_released() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        drop(locks.send(Acquire::new("r")).await.unwrap().unwrap());
        assert!(locks.send(Acquire::new("r")).await.unwrap().is_ok());
    });
}

#[test]
fn a_waiter_gets_the_lock_after_the_holder() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let first_fence = lease.fence().unwrap();
        let start = Instant::now();
        let waiting = locks.send(Acquire::new("r").wait(secs(5)));
        let release = async {
            sleep(secs(2)).await;
            lease.release().await.unwrap();
        };
        let (second, ()) = tokio::join!(waiting, release);
        assert!(second.unwrap().unwrap().fence().unwrap() > first_fence);
        assert!(start.elapsed() >= secs(2) && start.elapsed() <= secs(3), "{:?}", start.elapsed());
    });
}

#[test]
fn a_waiter_attempts_again_when_a_dead_holder_ends() {
    in_virtual_time(|| async {
        let world = World::new();
        let (dying, locks) = (world.manager(), world.manager());
        let dead = dying.send(Acquire::new("r").ttl(millis(400)).no_renew()).await.unwrap().unwrap();
        let start = Instant::now();
        let slow = Backoff::new(secs(30), secs(30)).unwrap();
        let lease = locks.send(Acquire::new("r").wait(secs(60)).backoff(slow)).await.unwrap().unwrap();
        assert!(lease.is_valid());
        assert!(start.elapsed() < secs(5), "not the 30 s of the pause: {:?}", start.elapsed());
        drop(dead);
    });
}

#[test]
fn a_wait_ends_at_its_deadline_with_the_holder_and_the_time_left() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _lease = locks.send(Acquire::new("r").owner("nightly job")).await.unwrap().unwrap();
        let start = Instant::now();
        let error = locks.send(Acquire::new("r").wait(secs(5))).await.unwrap().unwrap_err();
        let AcquireError::Held { by, remaining, ahead, attempts, waited, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(by.owner.unwrap().as_str(), "nightly job");
        assert!(remaining > secs(10) && remaining <= secs(30), "{remaining:?}");
        assert_eq!((ahead, attempts), (Some(0), 1), "its turn would have been announced");
        assert!(start.elapsed() >= secs(5) && start.elapsed() < millis(5_100));
        assert!(waited >= secs(5));
        assert_eq!(locks.send(Stats).await.unwrap().timed_out, 1);
    });
}

#[test]
fn a_wait_ends_when_its_attempts_are_used_up() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let start = Instant::now();
        let asked = Acquire::new("r").backoff(Backoff::FLASH_SALE).attempts(3);
        let error = locks.send(asked).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Held { attempts: 3, .. }), "{error}");
        assert!(start.elapsed() <= millis(240) + millis(5), "80 and 160 ms at most: {:?}", start.elapsed());
        assert_eq!(locks.send(Stats).await.unwrap().refused, 1);
    });
}

#[test]
fn a_caller_that_goes_while_it_waits_leaves_nothing_behind() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let waiting = locks.send(Acquire::new("r").wait(secs(3600)));
        assert!(tokio::time::timeout(secs(2), waiting).await.is_err());
        sleep(millis(1)).await;
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.pending, stats.cancelled), (0, 1));
        let attempts = stats.attempts;
        drop(lease);
        sleep(secs(60)).await;
        assert_eq!(locks.send(Stats).await.unwrap().attempts, attempts, "nobody attempts any more");
        assert!(locks.send(List::new("")).await.unwrap().unwrap().resources.is_empty());
    });
}

#[test]
fn a_request_that_nobody_waits_for_is_released() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        locks.do_send(Acquire::new("r"));
        locks.send(Stats).await.unwrap();
        sleep(millis(1)).await;
        assert!(locks.send(List::new("")).await.unwrap().unwrap().resources.is_empty());
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.requests, stats.cancelled, stats.held), (1, 1, 0));
    });
}

#[test]
fn an_owner_re_enters_and_gives_each_hold_back() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, other_process) = (world.manager(), world.manager());
        let asked = || Acquire::new("r").owner("job");
        let outer = locks.send(asked()).await.unwrap().unwrap();
        let inner = other_process.send(asked()).await.unwrap().unwrap();
        assert_eq!((outer.holds(), inner.holds()), (1, 2));
        assert_eq!(outer.fence(), inner.fence());
        assert!(locks.send(Acquire::new("r").owner("another")).await.unwrap().is_err());
        assert_eq!(outer.release().await.unwrap(), Released::StillHeld { count: 1 });
        assert!(locks.send(Acquire::new("r")).await.unwrap().is_err());
        assert_eq!(inner.release().await.unwrap(), Released::Freed);
    });
}

#[test]
fn an_owner_whose_re_entry_is_answered_when_its_first_hold_has_gone_has_the_same_fence() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let ask = || Acquire::new("r").owner("me").wait(secs(10));
        let first = locks.send(ask()).await.unwrap().unwrap();
        world.store.lose_next_replies(1);
        let second = actix::spawn(locks.send(ask()));
        sleep(millis(1)).await;
        let fence = first.fence();
        assert!(matches!(first.release().await.unwrap(), Released::StillHeld { .. }));
        let second = second.await.unwrap().unwrap().unwrap();
        assert_eq!((second.fence(), second.holds()), (fence, 1));
    });
}

#[test]
fn readers_share_and_a_writer_is_alone() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let first = locks.send(ReadLock::new("r")).await.unwrap().unwrap();
        let second = locks.send(ReadLock::new("r")).await.unwrap().unwrap();
        assert!(locks.send(WriteLock::new("r")).await.unwrap().is_err());
        drop((first, second));
        let writer = locks.send(WriteLock::new("r")).await.unwrap().unwrap();
        assert!(locks.send(ReadLock::new("r")).await.unwrap().is_err());
        assert!(locks.send(WriteLock::new("r")).await.unwrap().is_err());
        drop(writer);
    });
}

#[test]
fn upgrading_from_read_to_write_is_an_error_at_once() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _reading = locks.send(ReadLock::new("r").owner("me")).await.unwrap().unwrap();
        let start = Instant::now();
        let error = locks.send(WriteLock::new("r").owner("me").wait(secs(60))).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Store(StoreError::Deadlock { .. })), "{error}");
        assert_eq!(start.elapsed(), secs(0));
    });
}

#[test]
fn permits_are_granted_up_to_the_capacity() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let two = locks.send(Acquire::new("r").permits(2, 3)).await.unwrap().unwrap();
        let one = locks.send(Acquire::new("r").permits(1, 3)).await.unwrap().unwrap();
        assert!(locks.send(Acquire::new("r").permits(1, 3)).await.unwrap().is_err());
        let error = locks.send(ReadLock::new("r").wait(secs(60))).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Store(StoreError::ModeMismatch { .. })), "{error}");
        drop(two);
        assert!(locks.send(Acquire::new("r").permits(2, 3)).await.unwrap().is_ok());
        drop(one);
    });
}

#[test]
fn another_capacity_waits_for_what_is_in_use() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let old = locks.send(Acquire::new("r").permits(3, 3)).await.unwrap().unwrap();
        let waiting = actix::spawn(locks.send(Acquire::new("r").permits(1, 5).wait(secs(60))));
        sleep(secs(40)).await;
        assert!(!waiting.is_finished());
        drop(old);
        assert!(waiting.await.unwrap().unwrap().is_ok());
    });
}

#[test]
fn releasing_twice_is_an_error() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let token = lease.token();
        lease.release().await.unwrap();
        let error = locks.send(Release::new("r", token)).await.unwrap().unwrap_err();
        assert!(matches!(error, ReleaseError::NotHolder), "{error}");
    });
}

#[test]
fn releasing_what_another_holds_is_an_error_and_changes_nothing() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let (mine, other) = (Acquire::new("mine"), Acquire::new("other"));
        let mine = locks.send(mine).await.unwrap().unwrap();
        let other = locks.send(other).await.unwrap().unwrap();
        let error = locks.send(Release::new("other", mine.token())).await.unwrap().unwrap_err();
        assert!(matches!(error, ReleaseError::NotHolder), "{error}");
        assert!(mine.is_valid() && other.is_valid());
        assert!(locks.send(IsHeld::new("other", other.token())).await.unwrap().unwrap());
    });
}

#[test]
fn a_lease_can_be_released_by_its_token_from_another_process() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, other) = (world.manager(), world.manager());
        let lease = locks.send(Acquire::new("r").ttl(secs(3))).await.unwrap().unwrap();
        let released = other.send(Release::new("r", lease.token())).await.unwrap().unwrap();
        assert_eq!(released, Released::Freed);
        assert_eq!(lease.lost().await, LossReason::NotHeld);
    });
}

#[test]
fn a_lease_that_is_taken_away_by_force_is_told_at_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let listener = Listener::default();
        let events = listener.clone().start().recipient();
        let lease = locks.send(Acquire::new("r").ttl(secs(3)).events(events)).await.unwrap().unwrap();
        assert_eq!(locks.send(Revoke::at_once("r")).await.unwrap().unwrap().taken, 1);
        let began = Instant::now();
        assert_eq!((lease.lost().await, began.elapsed()), (LossReason::Forced, Duration::ZERO));
        let error = lease.release().await.unwrap_err();
        assert!(matches!(error, ReleaseError::Lost { reason: LossReason::Forced }), "{error}");
        sleep(millis(1)).await;
        assert_eq!(listener.heard(), [LeaseChange::Granted, LeaseChange::Lost(LossReason::Forced)]);
    });
}

#[test]
fn a_loss_that_only_the_release_finds_is_told() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let listener = Listener::default();
        let events = listener.clone().start().recipient();
        let lease = locks.send(Acquire::new("r").events(events)).await.unwrap().unwrap();
        world.store.lose_notifications(true);
        locks.send(Revoke::at_once("r")).await.unwrap().unwrap();
        let error = lease.release().await.unwrap_err();
        assert!(matches!(error, ReleaseError::Lost { reason: LossReason::NotHeld }), "{error}");
        sleep(millis(1)).await;
        assert!(listener.has_heard(LeaseChange::Lost(LossReason::NotHeld)));
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.released, stats.lost.values().sum::<u64>(), stats.held), (0, 1, 0));
    });
}

#[test]
fn missed_renewals_put_a_lease_at_risk_and_a_confirmed_one_brings_it_back() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let listener = Listener::default();
        let events = listener.clone().start().recipient();
        let lease = locks.send(Acquire::new("r").ttl(secs(9)).events(events)).await.unwrap().unwrap();
        world.store.fail_next(3);
        while lease.status() == LeaseStatus::Held {
            sleep(millis(10)).await;
        }
        assert!(lease.is_valid(), "at risk is still valid");
        while lease.status() == LeaseStatus::AtRisk {
            sleep(millis(10)).await;
        }
        assert_eq!(lease.status(), LeaseStatus::Held);
        assert_eq!(listener.heard(), [LeaseChange::Granted, LeaseChange::AtRisk, LeaseChange::Renewed]);
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.missed_renewals, stats.near_misses), (3, 1));
    });
}

#[test]
fn a_store_that_fails_for_longer_than_the_validity_loses_the_lease_in_time() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let start = Instant::now();
        let lease = locks.send(Acquire::new("r").ttl(secs(9))).await.unwrap().unwrap();
        world.store.fail_next(10_000);
        assert_eq!(lease.lost().await, LossReason::Expired);
        assert!(start.elapsed() < secs(9));
        let failed = lease.run(async { unreachable!("the lease is lost") }).await;
        assert_eq!(failed.unwrap_err().reason, LossReason::Expired);
    });
}

#[test]
fn work_is_stopped_when_the_lease_is_lost() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r").ttl(secs(3))).await.unwrap().unwrap();
        assert_eq!(lease.run(async { 7 }).await, Ok(7));
        world.store.clear();
        let error = lease.run(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(error.to_string(), "the lease of r was lost: the store says it is not held");
    });
}

#[test]
fn a_lost_answer_does_not_lose_the_lock_and_does_not_count_twice() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.lose_next_replies(2);
        let asked = Acquire::new("r").owner("me").wait(secs(5));
        let lease = locks.send(asked).await.unwrap().unwrap();
        assert_eq!(lease.holds(), 1);
        let seen = locks.send(Inspect::new("r")).await.unwrap().unwrap();
        assert_eq!(seen.total, 1);
        assert_eq!(lease.release().await.unwrap(), Released::Freed);
    });
}

#[test]
fn after_an_unknown_outcome_the_token_is_released() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.lose_next_replies(1);
        let error = locks.send(Acquire::new("r")).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Store(StoreError::ReplyLost { .. })), "{error}");
        sleep(millis(1)).await;
        assert!(locks.send(Acquire::new("r")).await.unwrap().is_ok(), "long before the TTL");
        assert_eq!(locks.send(Stats).await.unwrap().reclaimed, 1);
    });
}

#[test]
fn a_release_whose_answer_is_lost_says_so_and_is_done_all_the_same() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        world.store.fail_next(1);
        let error = lease.release().await.unwrap_err();
        assert!(matches!(error, ReleaseError::Store(_)), "{error}");
        sleep(secs(1)).await;
        assert!(locks.send(List::new("")).await.unwrap().unwrap().resources.is_empty());
    });
}

#[test]
fn a_lease_with_max_renewals_runs_out() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let start = Instant::now();
        let lease = locks.send(Acquire::new("r").ttl(secs(3)).max_renewals(4)).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::MaxRenewals);
        assert!(start.elapsed() > secs(5) && start.elapsed() < secs(7), "{:?}", start.elapsed());
        assert_eq!(locks.send(Stats).await.unwrap().renewals, 4);
    });
}

#[test]
fn a_lease_with_max_hold_is_lost_at_that_time() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let start = Instant::now();
        let lease = locks.send(Acquire::new("r").ttl(secs(3)).max_hold(secs(10))).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::MaxHold);
        assert!(start.elapsed() >= secs(10) && start.elapsed() < millis(10_010), "{:?}", start.elapsed());
        let next = locks.send(Acquire::new("r").wait(secs(10))).await.unwrap().unwrap();
        assert!(start.elapsed() <= secs(14), "within a TTL: {:?}", start.elapsed());
        drop((lease, next));
    });
}

#[test]
fn a_release_before_the_minimum_hold_opens_the_resource_only_then() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let start = Instant::now();
        let lease = locks.send(Acquire::new("r").min_hold(secs(5))).await.unwrap().unwrap();
        sleep(secs(1)).await;
        assert_eq!(lease.release().await.unwrap(), Released::Freed);
        assert!(locks.send(Acquire::new("r")).await.unwrap().is_err());
        let _next = locks.send(Acquire::new("r").wait(secs(10))).await.unwrap().unwrap();
        assert!(start.elapsed() >= secs(5) && start.elapsed() < secs(6), "{:?}", start.elapsed());
    });
}

#[test]
fn a_lock_delay_keeps_the_resource_closed_after_an_expiry_but_not_after_a_release() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let asked = || Acquire::new("r").ttl(secs(2)).lock_delay(secs(20));
        let lease = locks.send(asked()).await.unwrap().unwrap();
        lease.release().await.unwrap();
        let start = Instant::now();
        let lease = locks.send(asked().no_renew()).await.unwrap().unwrap();
        lease.lost().await;
        std::mem::forget(lease);
        let next = locks.send(Acquire::new("r").wait(secs(60))).await.unwrap().unwrap();
        assert!(start.elapsed() >= secs(22) && start.elapsed() < secs(24), "{:?}", start.elapsed());
        drop(next);
    });
}

#[test]
fn a_lease_with_heartbeat_lives_as_long_as_its_worker_reports() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let asked = Acquire::new("r").ttl(secs(3)).heartbeat(secs(2));
        let lease = locks.send(asked).await.unwrap().unwrap();
        for _ in 0..100 {
            lease.heartbeat();
            sleep(millis(500)).await;
        }
        assert_eq!(lease.status(), LeaseStatus::Held);
        let silent_since = Instant::now();
        assert_eq!(lease.lost().await, LossReason::HeartbeatMissed);
        assert!(silent_since.elapsed() < secs(5), "{:?}", silent_since.elapsed());
    });
}

#[test]
fn a_lease_bound_to_an_actor_is_released_when_that_dies() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let owner = Listener::default().start();
        let lease = locks.send(Acquire::new("r").bound_to(&owner)).await.unwrap().unwrap();
        sleep(secs(600)).await;
        assert!(lease.is_valid());
        drop(owner);
        sleep(millis(200)).await;
        assert!(!lease.is_valid());
        assert!(locks.send(Acquire::new("r")).await.unwrap().is_ok());
    });
}

#[test]
fn a_grant_whose_answer_took_longer_than_its_ttl_is_no_grant() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(3));
        let error = locks.send(Acquire::new("r").ttl(secs(1))).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::TooLate { .. }), "{error}");
        sleep(millis(1)).await;
        assert!(locks.send(List::new("")).await.unwrap().unwrap().resources.is_empty());
    });
}

#[test]
fn one_more_pending_request_than_allowed_is_busy_at_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let mut settings = leasehold::Settings::default();
        settings.limits.max_pending = 3;
        let locks = world.builder().settings(settings).start_here().unwrap();
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let waiting: Vec<_> = (0..3).map(|_| locks.send(Acquire::new("r").wait(secs(60)))).collect();
        let waiting = actix_rt::spawn(futures_util::future::join_all(waiting));
        sleep(secs(1)).await;
        let error = locks.send(Acquire::new("other")).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Busy { pending: 3 }), "{error}");
        waiting.abort();
        sleep(millis(1)).await;
        assert!(locks.send(Acquire::new("other")).await.unwrap().is_ok());
    });
}

#[test]
fn a_question_names_holders_owners_and_what_they_told() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let asked = Acquire::new("r").owner("job 7").metadata("trace", "4bf92f35");
        let lease = locks.send(asked).await.unwrap().unwrap();
        let seen = locks.send(Inspect::new("r")).await.unwrap().unwrap();
        let [holder] = &seen.holders[..] else { panic!("{seen:?}") };
        assert_eq!(holder.owner.as_ref().unwrap().as_str(), "job 7");
        assert_eq!(holder.fence, lease.fence());
        assert_eq!(holder.metadata["trace"], "4bf92f35");
        assert_eq!(holder.metadata["pid"], std::process::id().to_string());
        let listed = locks.send(List::new("r")).await.unwrap().unwrap();
        assert_eq!((listed.resources.len(), listed.complete), (1, true));
    });
}

#[test]
fn the_pauses_between_attempts_can_be_changed_while_running() {
    in_virtual_time(|| async {
        let world = World::new();
        // Who hears of hand-overs hardly attempts at all.
        world.store.disconnect_subscribers(true);
        let locks = world.manager();
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let attempts_in_a_minute = async || match locks.send(Acquire::new("r").wait(secs(60))).await.unwrap()
        {
            Err(AcquireError::Held { attempts, .. }) => attempts,
            other => panic!("{other:?}"),
        };
        let change = async |backoff| {
            let set = SetTuning { backoff: Some(backoff), ..SetTuning::default() };
            locks.send(set).await.unwrap().unwrap().backoff
        };
        let before = attempts_in_a_minute().await;
        let slow = Backoff::new(secs(10), secs(10)).unwrap();
        assert_eq!(change(slow).await, Backoff::DEFAULT);
        let after = attempts_in_a_minute().await;
        assert!(after < before / 4, "{before} and then {after}");
        assert_eq!(change(Backoff::DEFAULT).await, slow);
    });
}
