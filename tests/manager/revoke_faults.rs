//! What is hard about a revocation: several at a time, a notice that fails or comes too early, shutdowns, panics. In virtual
//! time.

use std::{sync::Arc, time::Duration};

use actix::{Actor, Addr};
use futures_util::{FutureExt, StreamExt};
use leasehold::{
    Acquire, AcquireAll, AcquireError, Certainty, Lease, LeaseChange, LockManager, LossReason, Revoke,
    RevokeError, RevokeRequested, Settings, Shutdown, Token,
    store::{HolderNotice, Inbox, Notification, Store},
};
use tokio::time::{Instant, sleep, timeout};

use support::{
    odd_store::{OddStore, odd_store},
    virtual_time::{Listener, World, in_virtual_time, millis, secs},
};

fn revoke(reason: &str, grace: Duration) -> Revoke {
    Revoke::new("r").reason(reason).grace(grace)
}

/// A lease whose events are listened to.
async fn heard_lease(locks: &Addr<LockManager>, ask: Acquire) -> (Lease, Listener) {
    let listener = Listener::default();
    let ask = ask.events(listener.clone().start().recipient());
    (locks.send(ask).await.unwrap().unwrap(), listener)
}

/// Returns the reason and the grace of a request that is there already.
async fn told(request: impl Future<Output = Option<RevokeRequested>>) -> (String, Duration) {
    let request = timeout(millis(1), request).await.expect("told at once").expect("while it holds");
    (request.reason.to_string(), request.grace)
}

/// Returns the reasons of the requests that were told, in their order.
fn reasons(listener: &Listener) -> Vec<String> {
    let heard = listener.heard().into_iter();
    heard
        .filter_map(|change| match change {
            LeaseChange::RevokeRequested(request) => Some(request.reason.to_string()),
            _ => None,
        })
        .collect()
}

#[test]
fn each_of_two_revokes_is_told_once_and_the_one_that_ends_first_counts() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let (lease, listener) = heard_lease(&locks, Acquire::new("r")).await;
        operator.do_send(revoke("sharp", secs(30)));
        assert_eq!(told(lease.revoke_requested()).await, ("sharp".into(), secs(30)));
        operator.do_send(revoke("gentle", secs(60)));
        sleep(secs(25)).await;
        assert_eq!(told(lease.revoke_requested()).await, ("sharp".into(), secs(5)), "what is left of it");
        assert_eq!(reasons(&listener), ["sharp", "gentle"]);
        assert_eq!(timeout(secs(6), lease.lost()).await, Ok(LossReason::Forced));
    });
}

#[test]
fn a_holder_that_finishes_hears_of_a_sharper_request_and_of_no_gentler_one() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let (lease, _) = heard_lease(&locks, Acquire::new("r")).await;
        operator.do_send(revoke("a deploy", secs(60)));
        let known = timeout(millis(1), lease.revoke_requested()).await.unwrap().unwrap();
        operator.do_send(revoke("gentle", secs(90)));
        sleep(secs(10)).await;
        assert!(lease.revoke_requested_sooner(&known).now_or_never().is_none(), "repeats are no news");
        operator.do_send(revoke("now, please", secs(5)));
        assert_eq!(told(lease.revoke_requested_sooner(&known)).await, ("now, please".into(), secs(5)));
        assert_eq!(told(lease.revoke_requested()).await.0, "now, please");
        let sharpest = timeout(millis(1), lease.revoke_requested()).await.unwrap().unwrap();
        let sooner = lease.revoke_requested_sooner(&sharpest);
        lease.release().await.unwrap();
        assert_eq!(timeout(millis(1), sooner).await, Ok(None), "it does not wait for ever");
    });
}

#[test]
fn a_lease_that_is_given_back_when_asked_keeps_nothing_closed() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let (lease, _) = heard_lease(&locks, Acquire::new("r").min_hold(secs(200))).await;
        operator.do_send(revoke("a deploy", secs(30)));
        told(lease.revoke_requested()).await;
        lease.release().await.unwrap();
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn a_lease_of_the_revoking_manager_is_told_that_it_is_taken_though_the_notice_fails() {
    in_virtual_time(|| async {
        for (fails, counted) in [(1, 1), (2, 0)] {
            let world = World::new();
            let locks = world.manager();
            let (lease, listener) = heard_lease(&locks, Acquire::new("r").min_hold(secs(200))).await;
            let revoking = actix_rt::spawn(locks.send(revoke("a deploy", millis(20))));
            told(lease.revoke_requested()).await;
            // The notice that it is taken; the second time its release too.
            world.store.fail_next(fails);
            let revoked = revoking.await.unwrap().unwrap().unwrap();
            assert_eq!((revoked.taken, revoked.unconfirmed), (counted, 1 - counted));
            assert_eq!(timeout(millis(1), lease.lost()).await, Ok(LossReason::Forced));
            sleep(secs(1)).await;
            assert_eq!(listener.heard().last(), Some(&LeaseChange::Lost(LossReason::Forced)));
            assert_eq!(
                world.left().await,
                0,
                "the library has repeated the release, and nothing is kept closed"
            );
        }
    });
}

/// Returns two managers, of which the first has its answers to acquisitions 100 ms late.
fn with_late_answers() -> (World, OddStore, [Addr<LockManager>; 2]) {
    let world = World::new();
    let late = odd_store(world.store.clone());
    let locks = world.builder_on(Arc::new(late.clone())).start_here().unwrap();
    let operator = world.manager();
    late.answer_acquisitions_after(millis(100));
    (world, late, [locks, operator])
}

#[test]
fn a_grant_that_is_taken_before_its_answer_is_here_is_no_lease() {
    in_virtual_time(|| async {
        let (_world, late, [locks, operator]) = with_late_answers();
        let asked = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(60))));
        let set = actix_rt::spawn(locks.send(AcquireAll::new(["p", "q"]).wait(secs(60))));
        sleep(millis(50)).await;
        late.answer_acquisitions_after(Duration::ZERO);
        for resource in ["r", "p"] {
            let revoked = operator.send(Revoke::at_once(resource)).await.unwrap().unwrap();
            assert_eq!(revoked.taken, 1, "the answer is on its way");
        }
        let others = [operator.send(Acquire::new("r")).await, operator.send(Acquire::new("p")).await];
        sleep(secs(5)).await;
        assert!(!set.is_finished(), "somebody else has it");
        let error = timeout(secs(20), asked).await.unwrap().unwrap().unwrap().unwrap_err();
        assert!(matches!(&error, AcquireError::Store(it) if it.certainty() == Certainty::Unknown), "{error}");
        others.into_iter().for_each(|other| drop(other.unwrap().unwrap()));
        assert!(timeout(secs(20), set).await.unwrap().unwrap().unwrap().unwrap().is_valid());
    });
}

#[test]
fn a_revoke_that_repeats_its_release_takes_nothing_that_was_granted_meanwhile() {
    in_virtual_time(|| async {
        let (world, late, [locks, operator]) = with_late_answers();
        let asked = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(60))));
        sleep(millis(50)).await;
        late.answer_acquisitions_after(Duration::ZERO);
        // The looks of the revoke, its notice, and the answer to its release, which is lost.
        let revoking = actix_rt::spawn(operator.send(revoke("a deploy", millis(10))));
        sleep(millis(9)).await;
        world.store.stall_next(1, millis(2));
        sleep(millis(2)).await;
        world.store.lose_next_replies(1);
        let revoked = timeout(secs(20), revoking).await.unwrap().unwrap().unwrap().unwrap();
        assert_eq!((revoked.finished, revoked.taken + revoked.unconfirmed), (0, 1));
        let asked = timeout(secs(20), asked).await.unwrap().unwrap().unwrap();
        let other = operator.send(Acquire::new("r").wait(secs(60))).await.unwrap().unwrap();
        assert!(asked.is_err() && other.is_valid(), "never two of them");
    });
}

#[test]
fn a_forced_release_is_answered_though_its_manager_shuts_down() {
    in_virtual_time(|| async {
        // The second time the store answers only after the manager has stopped.
        for stalled in [secs(1), secs(15)] {
            let world = World::new();
            let (locks, operator) = (world.manager(), world.manager());
            let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
            world.store.stall_next(1, stalled);
            let forced = actix_rt::spawn(operator.send(Revoke::at_once("r")));
            sleep(millis(1)).await;
            let begun = Instant::now();
            operator.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
            assert!(begun.elapsed() < secs(3), "a shutdown does not wait for ever: {:?}", begun.elapsed());
            let forced = timeout(secs(30), forced).await.expect("answered").unwrap();
            assert_eq!(forced.unwrap().unwrap().taken, 1);
            assert_eq!(lease.lost().await, LossReason::Forced);
        }
    });
}

#[test]
fn a_bounded_number_of_revokes_runs_at_a_time() {
    in_virtual_time(|| async {
        let world = World::new();
        let mut settings = Settings::default();
        settings.limits.max_pending = 2;
        let operator = world.builder().settings(settings).start_here().unwrap();
        let (lease, _) = heard_lease(&operator, Acquire::new("r")).await;
        let running =
            [secs(50), secs(60)].map(|grace| actix_rt::spawn(operator.send(revoke("a deploy", grace))));
        sleep(secs(1)).await;
        let refused = operator.send(revoke("one more", secs(1))).await.unwrap();
        assert!(matches!(refused, Err(RevokeError::Busy { running: 2 })), "{refused:?}");
        drop(lease);
        for revoking in running {
            assert_eq!(revoking.await.unwrap().unwrap().unwrap().finished, 1);
        }
        operator.send(revoke("one more", secs(1))).await.unwrap().unwrap();
    });
}

#[test]
fn a_long_grace_costs_few_notices_and_ends_early_all_the_same() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let (lease, _) = heard_lease(&locks, Acquire::new("r")).await;
        let mut ears = world.store.listen(&Inbox(Token::from_bits(1)));
        let revoking = actix_rt::spawn(operator.send(revoke("a deploy", secs(3_600))));
        sleep(secs(3_500)).await;
        let mut notices = 0;
        while let Some(Some(notification)) = ears.next().now_or_never() {
            let revoke = |notice: &HolderNotice| matches!(notice, HolderNotice::RevokeRequested { .. });
            notices += usize::from(matches!(notification, Notification::ToHolders(_, it) if revoke(&it)));
        }
        assert!((10..30).contains(&notices), "{notices} notices to every manager");
        lease.release().await.unwrap();
        let revoked = timeout(millis(1_100), revoking).await.expect("answered soon after");
        assert_eq!(revoked.unwrap().unwrap().unwrap().finished, 1);
    });
}
