//! Leases that are handed over by tickets: who renews and releases them, and what of them goes along. In virtual time.

use std::{sync::Arc, time::Duration};

use actix::{Actor, Addr};
use leasehold::{
    Acquire, AcquireError, Adopt, AdoptError, Lease, LeaseChange, LeaseTicket, LockManager, LossReason, Mode,
    ReadLock, Release, Released, Revoke, Shutdown, Stats, WriteLock,
};
use tokio::time::{Instant, sleep};

use support::{
    odd_store::{OddStore, odd_store},
    virtual_time::{Listener, World, in_virtual_time, millis, secs},
};

/// A lease of 3 s, which is renewed every second.
pub(crate) fn short() -> Acquire {
    Acquire::new("r").ttl(secs(3))
}

pub(crate) async fn acquire(locks: &Addr<LockManager>, ask: Acquire) -> Lease {
    locks.send(ask).await.unwrap().unwrap()
}

pub(crate) async fn adopt(locks: &Addr<LockManager>, ticket: &LeaseTicket) -> Result<Lease, AdoptError> {
    locks.send(Adopt(ticket.clone())).await.unwrap()
}

/// The giver, whose store counts what it asks, and the adopter.
pub(crate) fn pair(world: &World) -> (Addr<LockManager>, Addr<LockManager>, OddStore) {
    let store = odd_store(world.store.clone());
    let giver = world.builder_on(Arc::new(store.clone())).start_here().unwrap();
    (giver, world.manager(), store)
}

pub(crate) async fn is_held(locks: &Addr<LockManager>) -> bool {
    matches!(locks.send(Acquire::new("r")).await.unwrap(), Err(AcquireError::Held { .. }))
}

#[test]
fn the_adopter_renews_and_releases_a_lease_and_the_giver_does_neither() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, store) = pair(&world);
        let listener = Listener::default();
        let lease = acquire(&giver, short().events(listener.clone().start().recipient())).await;
        sleep(secs(30)).await;
        let (token, fence, lost, renewals) = (lease.token(), lease.fence(), lease.lost(), store.renewals());
        assert!(renewals > 20);
        let ticket = lease.into_ticket().await.unwrap();
        assert_eq!((lost.await, listener.has_heard(LeaseChange::Released)), (LossReason::Released, true));
        sleep(secs(1)).await;
        let lease = adopt(&adopter, &ticket).await.unwrap();
        assert_eq!((lease.token(), lease.fence(), lease.is_valid()), (token, fence, true));
        sleep(secs(300)).await;
        assert!(lease.is_valid() && is_held(&giver).await, "beyond its TTL");
        assert_eq!((store.renewals(), store.releases()), (renewals, 0), "of the giver");
        let counted = giver.send(Stats).await.unwrap();
        assert_eq!((counted.held, counted.released, counted.lost.len()), (0, 1, 0));
        assert_eq!(adopter.send(Stats).await.unwrap().held, 1);
        lease.release().await.unwrap();
        assert!(!is_held(&giver).await);
    });
}

#[test]
fn a_ticket_is_there_when_the_renewals_on_their_way_have_ended() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, store) = pair(&world);
        let lease = acquire(&giver, short()).await;
        store.answer_renewals_after(millis(800));
        let before = store.renewals();
        while store.renewals() == before {
            sleep(millis(1)).await;
        }
        let began = Instant::now();
        let ticket = lease.into_ticket().await.unwrap();
        assert!(began.elapsed() > millis(700), "{:?}", began.elapsed());
        assert!(ticket.valid_for() > millis(500) && ticket.valid_for() < millis(1_300), "{ticket:?}");
        adopt(&adopter, &ticket).await.unwrap().release().await.unwrap();
    });
}

#[test]
fn the_validity_of_an_adopted_lease_counts_from_when_the_store_was_asked() {
    in_virtual_time(|| async {
        let world = World::new();
        let (slow, giver, store) = pair(&world);
        let ticket = acquire(&giver, short()).await.into_ticket().await.unwrap();
        store.answer_renewals_after(secs(1));
        let lease = adopt(&slow, &ticket).await.unwrap();
        assert!(lease.remaining() > millis(1_900) && lease.remaining() < secs(2), "{:?}", lease.remaining());
    });
}

#[test]
fn whoever_drops_the_hand_over_releases_the_lease() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, store) = pair(&world);
        // Before the manager knows of it, and while a renewal is on its way.
        for pause in [Duration::ZERO, millis(10)] {
            let lease = acquire(&giver, short()).await;
            store.answer_renewals_after(millis(800));
            let before = store.renewals();
            while store.renewals() == before {
                sleep(millis(1)).await;
            }
            let hand_over = tokio::time::timeout(pause, lease.into_ticket()).await;
            assert!(hand_over.is_err());
            sleep(millis(1)).await;
            assert!(!is_held(&adopter).await, "after {pause:?}");
            sleep(secs(10)).await;
        }
    });
}

#[test]
fn a_lease_that_is_over_has_no_ticket() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = acquire(&locks, short()).await;
        locks.send(Revoke::at_once("r")).await.unwrap().unwrap();
        let lost = lease.into_ticket().await.unwrap_err();
        assert_eq!((lost.reason, lost.resource.to_string().as_str()), (LossReason::Forced, "r"));
        let lease = acquire(&locks, short()).await;
        locks.send(Release::new("r", lease.token())).await.unwrap().unwrap();
        assert_eq!(lease.into_ticket().await.unwrap_err().reason, LossReason::Released);
        let lease = acquire(&locks, short()).await;
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        assert_eq!(lease.into_ticket().await.unwrap_err().reason, LossReason::ShutDown);
    });
}

#[test]
fn a_lease_that_nobody_adopts_ends_with_its_ttl_and_its_lock_delay() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        for (delay, least, most) in [(0, 2_900, 3_100), (2, 4_900, 5_100)] {
            let ticket = acquire(&locks, short().lock_delay(secs(delay))).await.into_ticket().await.unwrap();
            let began = Instant::now();
            let next = acquire(&locks, Acquire::new("r").wait(secs(60))).await;
            let waited = began.elapsed();
            assert!((millis(least)..millis(most)).contains(&waited), "{waited:?}");
            next.release().await.unwrap();
            let over = adopt(&world.manager(), &ticket).await.unwrap_err();
            assert!(matches!(over, AdoptError::NotHeld), "{over}");
        }
    });
}

#[test]
fn waiters_of_both_managers_get_it_when_the_adopter_releases_it_and_not_before() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let lease = acquire(&giver, short().wait(secs(1))).await;
        // Those of the giver stand behind its lease, and ask nobody.
        let waiting = [&giver, &giver, &adopter].map(|locks| {
            let asking = locks.send(Acquire::new("r").wait(secs(600)));
            actix_rt::spawn(async move {
                let lease = asking.await.unwrap().unwrap();
                sleep(millis(10)).await;
                lease.release().await.unwrap();
            })
        });
        sleep(millis(100)).await;
        let ticket = lease.into_ticket().await.unwrap();
        let lease = adopt(&adopter, &ticket).await.unwrap();
        sleep(secs(60)).await;
        assert!(lease.is_valid() && waiting.iter().all(|waiter| !waiter.is_finished()));
        lease.release().await.unwrap();
        sleep(secs(2)).await;
        assert!(waiting.iter().all(actix_rt::task::JoinHandle::is_finished));
    });
}

#[test]
fn every_mode_is_handed_over_as_it_is() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        for (ask, fits, conflicts) in [
            (Acquire::from(ReadLock::new("r")), Acquire::from(ReadLock::new("r")), Acquire::new("r")),
            (WriteLock::new("r").into(), Acquire::new("other"), ReadLock::new("r").into()),
            (
                Acquire::new("r").permits(2, 3),
                Acquire::new("r").permits(1, 3),
                Acquire::new("r").permits(2, 3),
            ),
        ] {
            let lease = acquire(&giver, ask.ttl(secs(3))).await;
            let mode = lease.mode();
            let ticket = lease.into_ticket().await.unwrap();
            let lease = adopt(&adopter, &ticket).await.unwrap();
            sleep(secs(60)).await;
            assert_eq!((ticket.mode(), lease.mode(), lease.is_valid()), (mode, mode, true));
            acquire(&giver, fits).await.release().await.unwrap();
            let refused = giver.send(conflicts.clone()).await.unwrap();
            assert!(matches!(refused, Err(AcquireError::Held { .. })), "{mode}: {refused:?}");
            lease.release().await.unwrap();
            acquire(&giver, conflicts).await.release().await.unwrap();
        }
        assert_eq!(Mode::permits(2, 3).unwrap().to_string(), "2 of 3 permits");
    });
}

#[test]
fn each_hold_of_an_owner_is_handed_over_by_itself() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let first = acquire(&giver, short().owner("job")).await;
        let second = acquire(&giver, short().owner("job")).await;
        let ticket = second.into_ticket().await.unwrap();
        let second = adopt(&adopter, &ticket).await.unwrap();
        assert_eq!((second.holds(), second.fence()), (2, first.fence()));
        sleep(secs(60)).await;
        let third = acquire(&adopter, short().owner("job")).await;
        assert_eq!(third.holds(), 3, "the adopter has the owner");
        third.release().await.unwrap();
        assert_eq!(second.release().await.unwrap(), Released::StillHeld { count: 1 });
        assert_eq!(first.release().await.unwrap(), Released::Freed);
    });
}

#[test]
fn what_is_left_of_the_limits_goes_along() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let hand_over = async |ask: Acquire, held: Duration| {
            let lease = acquire(&giver, ask.ttl(secs(6))).await;
            sleep(held).await;
            adopt(&adopter, &lease.into_ticket().await.unwrap()).await.unwrap()
        };
        let lost = async |lease: Lease| {
            let began = Instant::now();
            let reason = tokio::time::timeout(secs(600), lease.lost()).await.unwrap();
            drop(lease);
            sleep(secs(60)).await;
            (reason, began.elapsed().as_secs() - 60)
        };
        let ask = Acquire::new("r");
        let held_out = lost(hand_over(ask.clone().max_hold(secs(100)), secs(30)).await).await;
        assert_eq!(held_out, (LossReason::MaxHold, 70));
        // A renewal is made every two seconds, and the adoption is one more.
        let (reason, after) = lost(hand_over(ask.clone().max_renewals(3), secs(5)).await).await;
        assert!(reason == LossReason::MaxRenewals && (6..=9).contains(&after), "{reason}, {after} s");
        let (reason, after) = lost(hand_over(ask.clone().max_renewals(1), secs(5)).await).await;
        assert!(reason == LossReason::Expired && after == 5, "{reason}, {after} s");
        let (reason, after) = lost(hand_over(ask.clone().no_renew(), secs(5)).await).await;
        assert!(reason == LossReason::Expired && after == 5, "{reason}, {after} s");
        let (reason, _) = lost(hand_over(ask.clone().heartbeat(secs(3)), secs(2)).await).await;
        assert_eq!(reason, LossReason::HeartbeatMissed);
        let lease = hand_over(ask.clone().no_renew().lock_delay(secs(20)), secs(3)).await;
        tokio::time::timeout(secs(600), lease.lost()).await.unwrap();
        drop(lease);
        let began = Instant::now();
        acquire(&giver, Acquire::new("r").wait(secs(60))).await.release().await.unwrap();
        assert!((19..=21).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
        let lease = hand_over(ask.min_hold(secs(30)), secs(20)).await;
        lease.release().await.unwrap();
        let began = Instant::now();
        acquire(&giver, Acquire::new("r").wait(secs(60))).await.release().await.unwrap();
        assert!((9..=10).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    });
}

#[test]
fn a_revoke_reaches_the_adopter() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let ticket = acquire(&giver, short()).await.into_ticket().await.unwrap();
        let lease = adopt(&adopter, &ticket).await.unwrap();
        let asked = lease.revoke_requested();
        let revoke = actix_rt::spawn(giver.send(Revoke::new("r").grace(secs(60)).reason("a deploy")));
        assert_eq!(&*asked.await.unwrap().reason, "a deploy");
        lease.release().await.unwrap();
        assert_eq!(revoke.await.unwrap().unwrap().unwrap().finished, 1);
    });
}

#[test]
fn a_shutdown_lets_leases_be_handed_over_and_adopts_none() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let lease = acquire(&giver, short()).await;
        let ticket = acquire(&adopter, Acquire::new("s")).await.into_ticket().await.unwrap();
        let shut_down = actix_rt::spawn(giver.send(Shutdown { drain: secs(60) }));
        sleep(millis(10)).await;
        let refused = adopt(&giver, &ticket).await.unwrap_err();
        assert!(matches!(refused, AdoptError::ShuttingDown), "{refused}");
        let began = Instant::now();
        let handed_over = lease.into_ticket().await.unwrap();
        let drained = shut_down.await.unwrap().unwrap();
        assert_eq!((drained.finished, drained.revoked, began.elapsed() < secs(1)), (1, 0, true));
        for ticket in [handed_over, ticket] {
            adopt(&adopter, &ticket).await.unwrap().release().await.unwrap();
        }
    });
}
