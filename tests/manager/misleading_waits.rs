//! The expected wait where what was seen is no measure of what comes: it is unknown, or soon right again. In virtual time.

use leasehold::{Acquire, AcquireError, Lease, LockManager, ReadLock};
use tokio::time::sleep;

use crate::{
    expected_wait::in_demand,
    support::virtual_time::{World, in_virtual_time, millis, secs},
};

async fn take(locks: &actix::Addr<LockManager>, ask: Acquire) -> Lease {
    locks.send(ask).await.unwrap().unwrap()
}

#[test]
fn a_holder_that_hung_for_an_hour_makes_nobody_give_up_later() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        drop(in_demand(&locks, millis(10), 0).await);
        sleep(millis(10)).await;
        let hangs = take(&others, Acquire::new("r")).await;
        let waits = actix_rt::spawn(locks.send(Acquire::new("r").wait_forever()));
        sleep(secs(3_600)).await;
        drop(hangs);
        drop(waits.await.unwrap().unwrap().unwrap());
        for _ in 0..120 {
            sleep(secs(1)).await;
            let lease = take(&locks, Acquire::new("r")).await;
            sleep(millis(10)).await;
            lease.release().await.unwrap();
        }
        let lease = take(&others, Acquire::new("r")).await;
        let waits = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(2)).give_up_early(true)));
        sleep(millis(100)).await;
        drop(lease);
        assert!(waits.await.unwrap().unwrap().is_ok(), "the holds since then are short");
    });
}

#[test]
fn readers_do_not_give_up_because_of_what_a_writer_takes() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = in_demand(&locks, secs(10), 0).await;
        let ask = || locks.send(ReadLock::new("r").wait(secs(15)).give_up_early(true));
        let readers: Vec<_> = (0..20).map(|_| actix_rt::spawn(ask())).collect();
        sleep(secs(9)).await;
        drop(lease);
        for reader in readers {
            assert!(reader.await.unwrap().unwrap().is_ok(), "all are granted together");
        }
    });
}

#[test]
fn what_an_owner_takes_again_inside_is_no_hold() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = in_demand(&locks, secs(10), 0).await;
        lease.release().await.unwrap();
        let job = || Acquire::new("r").owner("job").wait(secs(1));
        let outer = take(&locks, job()).await;
        for _ in 0..16 {
            let inner = take(&locks, job()).await;
            sleep(millis(1)).await;
            inner.release().await.unwrap();
        }
        outer.release().await.unwrap();
        let _lease = take(&locks, Acquire::new("r").wait(secs(1))).await;
        sleep(secs(1)).await;
        let refused = locks.send(Acquire::new("r").wait(secs(0))).await.unwrap().unwrap_err();
        let AcquireError::Held { expected_wait: Some(expected), .. } = refused else { panic!("{refused:?}") };
        assert!(expected > secs(5), "{expected:?}");
    });
}
