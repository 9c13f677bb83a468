//! Leases that describe their work: what others see of it, when, and what the store is told. In virtual time.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use actix::Addr;
use futures_util::{FutureExt, future::BoxFuture};
use leasehold::{
    Acquire, AcquireError, Adopt, Holder, Inspect, Lease, LockManager, LossReason, MemoryStore, RenewError,
    Revoke, StoreError,
};
use leasehold_testing::decorated::{Decorated, Hooks, Verb};
use tokio::time::sleep;

use support::{
    odd_store::odd_store,
    virtual_time::{Loaded, World, in_virtual_time, millis, secs},
};

/// Returns the step that each renewal told, in their order.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<Option<String>>>);

impl Hooks for Told {
    fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Verb::Renew(renewals) = verb {
            let step =
                |metadata: &Arc<BTreeMap<String, String>>| metadata.get("step").cloned().unwrap_or_default();
            let told = renewals.iter().map(|renewal| renewal.metadata.as_ref().map(step));
            self.0.lock().unwrap().extend(told);
        }
        async { Ok(()) }.boxed()
    }
}

impl Told {
    /// Returns the steps told since the last call.
    fn now(&self) -> Vec<Option<String>> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A manager whose renewals are seen.
fn seen(world: &World) -> (Addr<LockManager>, Decorated<MemoryStore, Arc<Told>>) {
    let store = Decorated::new(world.store.clone(), Arc::<Told>::default());
    let builder = world.builder_on(Arc::new(store.clone())).random(Arc::new(Loaded::new(|_| false)));
    (builder.start_here().unwrap(), store)
}

/// A lease that is renewed every ten seconds.
async fn lease(locks: &Addr<LockManager>, ask: Acquire) -> Lease {
    locks.send(ask.ttl(secs(30))).await.unwrap().unwrap()
}

fn describe(lease: &Lease, step: u32) {
    lease.describe([("step", step.to_string())]).unwrap();
}

async fn holder(locks: &Addr<LockManager>) -> Holder {
    locks.send(Inspect::new("r")).await.unwrap().unwrap().holders.remove(0)
}

fn step(number: u32) -> Option<String> {
    Some(number.to_string())
}

#[test]
fn only_the_latest_description_is_told_and_only_once() {
    in_virtual_time(|| async {
        let (locks, told) = seen(&World::new());
        let lease = lease(&locks, Acquire::new("r")).await;
        // Renewals are a little later than every ten seconds.
        sleep(secs(5)).await;
        for round in 1..=3 {
            (1..=1_000).for_each(|step| describe(&lease, 1_000 * (round - 1) + step));
            let expected = (round > 1).then(|| (1_000 * (round - 1)).to_string());
            assert_eq!(
                holder(&locks).await.metadata.get("step").cloned(),
                expected,
                "until the next renewal"
            );
            sleep(secs(10)).await;
            assert_eq!(holder(&locks).await.metadata["step"], (1_000 * round).to_string());
        }
        assert_eq!(told.now(), [step(1_000), step(2_000), step(3_000)]);
        sleep(secs(100)).await;
        assert_eq!(told.now(), vec![None; 10], "nothing new was said");
        assert_eq!(holder(&locks).await.metadata["step"], "3000");
    });
}

#[test]
fn a_description_stands_beside_what_the_request_and_the_library_say() {
    in_virtual_time(|| async {
        for ask in [
            Acquire::new("r"),
            Acquire::new("r").owner("worker"),
            Acquire::new("r").permits(2, 3),
            Acquire::new("r").lock_delay(secs(1)),
        ] {
            let (locks, _) = seen(&World::new());
            let lease = lease(&locks, ask.purpose("import").metadata("row", "none")).await;
            let before = holder(&locks).await.metadata;
            lease.describe([("row", "1"), ("file", "a")]).unwrap();
            sleep(secs(11)).await;
            let mut expected = before.clone();
            expected.extend([("row", "1"), ("file", "a")].map(|(key, value)| (key.into(), value.into())));
            assert_eq!(holder(&locks).await.metadata, expected);
            assert!(expected.contains_key("pid") && expected["purpose"] == "import", "{expected:?}");
            lease.describe([("file", "b")]).unwrap();
            sleep(secs(10)).await;
            expected.extend([("row", "none"), ("file", "b")].map(|(key, value)| (key.into(), value.into())));
            assert_eq!(holder(&locks).await.metadata, expected, "only the latest counts");
            lease.describe::<&str, &str>([]).unwrap();
            sleep(secs(10)).await;
            assert_eq!(holder(&locks).await.metadata, before);
        }
    });
}

#[test]
fn a_description_whose_answer_was_lost_is_told_again() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, told) = seen(&world);
        let lease = lease(&locks, Acquire::new("r")).await;
        describe(&lease, 1);
        world.store.fail_next(1);
        sleep(secs(12)).await;
        assert_eq!(told.now(), [step(1), step(1)], "the second one after the miss");
        assert_eq!(holder(&locks).await.metadata["step"], "1");
        sleep(secs(30)).await;
        assert_eq!(told.now(), [step(1), None, None], "once more, in case that the first one comes late");
        describe(&lease, 2);
        world.store.lose_next_replies(1);
        sleep(secs(9)).await;
        describe(&lease, 3);
        sleep(secs(31)).await;
        assert_eq!(told.now().iter().flatten().map(String::as_str).collect::<Vec<_>>(), ["2", "3", "3"]);
        assert_eq!(holder(&locks).await.metadata["step"], "3");
    });
}

#[test]
fn what_was_told_is_told_again_after_any_miss_and_after_a_new_connection() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, told) = seen(&world);
        let lease = lease(&locks, Acquire::new("r")).await;
        describe(&lease, 1);
        sleep(secs(15)).await;
        assert_eq!(told.now(), [step(1)]);
        world.store.disconnect_subscribers(true);
        sleep(secs(1)).await;
        world.store.disconnect_subscribers(false);
        sleep(secs(19)).await;
        assert_eq!(told.now(), [step(1), None], "the server may be another one");
        world.store.fail_next(1);
        sleep(secs(30)).await;
        assert_eq!(told.now(), [None, step(1), step(1), None], "it may be another one again");
        drop(lease);
    });
}

#[test]
fn a_description_during_a_renewal_goes_with_the_next_one() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        store.answer_renewals_after(secs(2));
        let builder = world.builder_on(Arc::new(store.clone())).random(Arc::new(Loaded::new(|_| false)));
        let locks = builder.start_here().unwrap();
        let lease = lease(&locks, Acquire::new("r")).await;
        describe(&lease, 1);
        let number = |holder: Holder| holder.metadata.get("step").cloned();
        let mut seen = None;
        while seen.is_none() {
            sleep(millis(100)).await;
            seen = number(holder(&locks).await);
        }
        // The renewal has been executed, and is not answered yet.
        describe(&lease, 2);
        sleep(secs(3)).await;
        assert_eq!((seen, number(holder(&locks).await)), (step(1), step(1)));
        sleep(secs(10)).await;
        assert_eq!(number(holder(&locks).await), step(2));
    });
}

#[test]
fn many_described_leases_are_renewed_in_one_batch() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        let builder = world.builder_on(Arc::new(store.clone())).random(Arc::new(Loaded::new(|_| false)));
        let locks = builder.start_here().unwrap();
        let mut leases = Vec::new();
        for number in 0..64 {
            leases.push(lease(&locks, Acquire::new(format!("r/{number}"))).await);
        }
        sleep(secs(5)).await;
        for step in 1..=3 {
            leases.iter().for_each(|lease| describe(lease, step));
            sleep(secs(10)).await;
            assert_eq!(store.batches(), [("renew", 64)]);
        }
    });
}

#[test]
fn a_lease_that_is_not_renewed_by_itself_tells_when_its_holder_renews_it() {
    in_virtual_time(|| async {
        let (locks, told) = seen(&World::new());
        let lease = lease(&locks, Acquire::new("r").no_renew()).await;
        describe(&lease, 1);
        sleep(secs(20)).await;
        assert_eq!(told.now(), []);
        lease.renew().await.unwrap();
        lease.renew().await.unwrap();
        assert_eq!(told.now(), [step(1), None]);
        assert_eq!(holder(&locks).await.metadata["step"], "1");
    });
}

#[test]
fn a_lease_that_is_released_first_tells_nothing() {
    in_virtual_time(|| async {
        let (locks, told) = seen(&World::new());
        let first = lease(&locks, Acquire::new("r")).await;
        describe(&first, 1);
        first.release().await.unwrap();
        let second = lease(&locks, Acquire::new("r")).await;
        sleep(secs(15)).await;
        assert_eq!(told.now(), [None]);
        assert!(!holder(&locks).await.metadata.contains_key("step"));
        drop(second);
    });
}

#[test]
fn who_is_refused_and_who_adopts_see_the_description() {
    in_virtual_time(|| async {
        let world = World::new();
        let [giver, other] = [world.manager(), world.manager()];
        let first = lease(&giver, Acquire::new("r").metadata("row", "none")).await;
        describe(&first, 1);
        sleep(secs(11)).await;
        let refused = other.send(Acquire::new("r").wait(Duration::ZERO)).await.unwrap().unwrap_err();
        let AcquireError::Held { by, .. } = refused else { panic!("{refused:?}") };
        assert_eq!(by.metadata["step"], "1");
        let adopted = other.send(Adopt(first.into_ticket().await.unwrap())).await.unwrap().unwrap();
        assert_eq!(holder(&other).await.metadata["step"], "1", "until the adopter describes it");
        adopted.describe([("row", "7")]).unwrap();
        sleep(secs(11)).await;
        let metadata = holder(&other).await.metadata;
        assert!(metadata["row"] == "7" && metadata.contains_key("pid"), "{metadata:?}");
        assert!(!metadata.contains_key("step"), "{metadata:?}");
    });
}

#[test]
fn a_description_that_is_too_long_is_refused_and_the_one_before_it_stays() {
    in_virtual_time(|| async {
        let (locks, told) = seen(&World::new());
        let lease = lease(&locks, Acquire::new("r").metadata("a", "x".repeat(23)).metadata("b", "old")).await;
        describe(&lease, 1);
        for (told, bytes) in [("x".repeat(1_000), 1_025), ("é".repeat(5_000), 10_025)] {
            let error = lease.describe([("b", told)]).unwrap_err();
            assert!(matches!(error, RenewError::Invalid(_)), "{error:?}");
            let expected = format!(
                "invalid metadata: {bytes} bytes (allowed: at most 1024 bytes, keys and values together)"
            );
            assert_eq!(error.to_string(), expected);
        }
        sleep(secs(11)).await;
        assert_eq!(told.now(), [step(1)]);
        lease.describe([("b", "x".repeat(999))]).unwrap();
        sleep(secs(10)).await;
        assert_eq!(holder(&locks).await.metadata["b"].len(), 999);
    });
}

#[test]
fn a_lost_lease_is_not_described() {
    in_virtual_time(|| async {
        let (locks, _) = seen(&World::new());
        let lease = lease(&locks, Acquire::new("r")).await;
        locks.send(Revoke::at_once("r")).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::Forced);
        let error = lease.describe([("step", "1")]).unwrap_err();
        assert!(matches!(error, RenewError::Lost { reason: LossReason::Forced }), "{error:?}");
    });
}
