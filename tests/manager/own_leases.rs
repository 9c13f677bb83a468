//! A manager's own leases and waiters: who they are, and how many are told. On the memory store, in virtual time.

use leasehold::{
    Acquire, AcquireAll, InspectError, LeaseStatus, Leases, Mode, OwnLeases, ReadLock, ResourceName,
};
use tokio::time::sleep;

use support::virtual_time::{World, in_virtual_time, millis, secs};

fn name(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

#[test]
fn leases_and_waiters_are_told_with_all_that_is_known_of_them() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, other) = (world.manager(), world.manager());
        let lease = locks.send(Acquire::new("r").owner("job").ttl(secs(10))).await.unwrap().unwrap();
        let _read = other.send(ReadLock::new("s")).await.unwrap().unwrap();
        sleep(secs(2)).await;
        let waits = actix_rt::spawn(locks.send(ReadLock::new("r").wait(secs(60))));
        let writes = actix_rt::spawn(locks.send(Acquire::new("s").owner("job").wait(secs(60))));
        sleep(millis(500)).await;
        let own = locks.send(Leases::new()).await.unwrap().unwrap();
        let [held] = &own.held[..] else { panic!("{own:?}") };
        assert_eq!((&held.resource, held.mode, held.fence), (&name("r"), Mode::Exclusive, lease.fence()));
        assert_eq!((held.token, held.status), (lease.token().prefix(), LeaseStatus::Held));
        assert_eq!(held.owner.as_ref().unwrap().as_str(), "job");
        assert_eq!((held.held_for, held.valid_for), (millis(2_500), lease.remaining()));
        let waiting: Vec<_> =
            own.waiting.iter().map(|it| (&it.resource, it.mode, it.waited, it.attempts, it.ahead)).collect();
        let half = millis(500);
        assert_eq!(waiting.len(), 2);
        for expected in
            [(&name("r"), Mode::Shared, half, 1, Some(0)), (&name("s"), Mode::Exclusive, half, 1, Some(0))]
        {
            assert!(waiting.contains(&expected), "{expected:?} is not in {waiting:?}");
        }
        waits.abort();
        writes.abort();
        sleep(millis(100)).await;
        let own = locks.send(Leases::new()).await.unwrap().unwrap();
        assert_eq!((own.held_in_all, own.waiting_in_all), (1, 0), "callers that have gone do not wait");
        lease.release().await.unwrap();
        assert_eq!(locks.send(Leases::new()).await.unwrap().unwrap(), OwnLeases::default());
    });
}

#[test]
fn the_longest_held_are_told_first_and_the_others_are_counted() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let mut leases = Vec::new();
        for number in 0..5 {
            leases.push(locks.send(Acquire::new(format!("r/{number}"))).await.unwrap().unwrap());
            sleep(millis(10)).await;
        }
        let own = locks.send(Leases::new().limit(2)).await.unwrap().unwrap();
        let told: Vec<_> = own.held.iter().map(|lease| lease.resource.to_string()).collect();
        assert_eq!((told, own.held_in_all), (vec!["r/0".to_owned(), "r/1".to_owned()], 5));
        let refused = locks.send(Leases::new().limit(0)).await.unwrap().unwrap_err();
        assert!(matches!(refused, InspectError::Invalid(_)), "{refused}");
    });
}

#[test]
fn a_caller_that_has_gone_does_not_wait_though_its_attempt_is_in_flight() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(1));
        let goes = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(60))));
        sleep(millis(100)).await;
        assert_eq!(locks.send(Leases::new()).await.unwrap().unwrap().waiting_in_all, 1);
        goes.abort();
        sleep(millis(100)).await;
        assert_eq!(locks.send(Leases::new()).await.unwrap().unwrap().waiting_in_all, 0);
    });
}

#[test]
fn a_set_that_is_being_tried_waits_with_each_of_its_resources() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(1));
        let both = actix_rt::spawn(locks.send(AcquireAll::new(["a", "b"]).wait(secs(5))));
        sleep(millis(500)).await;
        let own = locks.send(Leases::new()).await.unwrap().unwrap();
        let told: Vec<_> = own.waiting.iter().map(|it| (it.resource.to_string(), it.waited)).collect();
        assert_eq!(told, [("a".to_owned(), millis(500)), ("b".to_owned(), millis(500))]);
        let both = both.await.unwrap().unwrap().unwrap();
        let own = locks.send(Leases::new()).await.unwrap().unwrap();
        assert_eq!((own.held_in_all, own.waiting_in_all), (2, 0));
        both.release().await.unwrap();
    });
}
