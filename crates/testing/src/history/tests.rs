//! Histories that are made up, and what is found in them.

use std::{sync::Arc, time::Duration};

use leasehold::{
    Acquire, Fence, LockManager, LossReason, MemoryStore, Mode, Owner, ResourceName, Revoke,
    env::RuntimeClock, rules::guard_band,
};

use super::*;

const TTL: Duration = Duration::from_secs(10);

fn at(secs: u64) -> Moment {
    Moment::since_origin(Duration::from_secs(secs))
}

/// An exclusive lease that was asked for a second before it was granted, and released while it was valid.
fn held(granted: u64, stopped: u64, fence: u64) -> Held {
    Held {
        resource: ResourceName::new("r").unwrap(),
        mode: Mode::Exclusive,
        owner: None,
        reentered: false,
        fence: Some(Fence::new(fence)),
        ttl: TTL,
        asked: at(granted - 1),
        granted: at(granted),
        valid_until: at(stopped) + TTL,
        stopped: at(stopped),
        lost: None,
    }
}

fn owned(held: Held) -> Held {
    Held { owner: Some(Owner::new("worker").unwrap()), ..held }
}

fn moded(mode: Mode, held: Held) -> Held {
    Held { mode, ..held }
}

fn conflicts_of(held: &[Held]) -> Vec<(Moment, Moment)> {
    conflicts(held).iter().map(|conflict| (conflict.from, conflict.until)).collect()
}

#[test]
fn leases_that_are_valid_at_once_conflict() {
    assert_eq!(conflicts_of(&[held(1, 5, 1), held(5, 9, 2)]), []);
    // In whatever order they were written down.
    assert_eq!(conflicts_of(&[held(4, 9, 2), held(1, 5, 1)]), [(at(4), at(5))]);
    let over = Held { valid_until: at(3), ..held(1, 5, 1) };
    assert_eq!(conflicts_of(&[over, held(4, 9, 2)]), []);
    let elsewhere = Held { resource: ResourceName::new("s").unwrap(), ..held(4, 9, 2) };
    assert_eq!(conflicts_of(&[held(1, 5, 1), elsewhere]), []);
    assert_eq!(conflicts_of(&[held(1, 5, 1), held(3, 3, 2)]), [], "valid at no moment");
    assert_eq!(conflicts_of(&[held(3, 3, 1), held(3, 5, 2)]), [], "valid at no moment");
}

#[test]
fn modes_decide_about_conflicts() {
    let shared = |granted, stopped| moded(Mode::Shared, held(granted, stopped, granted));
    assert_eq!(conflicts_of(&[shared(1, 9), shared(2, 9)]), []);
    assert_eq!(conflicts_of(&[shared(1, 9), shared(2, 5), held(3, 4, 3)]), [(at(3), at(4))]);
    let permits = |count, granted| moded(Mode::permits(count, 3).unwrap(), held(granted, 9, granted));
    assert_eq!(conflicts_of(&[permits(1, 1), permits(2, 2)]), []);
    assert_eq!(conflicts_of(&[permits(1, 1), permits(2, 2), permits(1, 3)]), [(at(3), at(9))]);
    let of_five = |count, granted| moded(Mode::permits(count, 5).unwrap(), held(granted, 9, granted));
    assert_eq!(conflicts_of(&[permits(1, 1), of_five(2, 2)]), []);
    assert_eq!(conflicts_of(&[permits(1, 1), of_five(3, 2)]).len(), 1, "the smaller capacity counts");
    assert_eq!(conflicts_of(&[of_five(3, 1), permits(1, 2)]).len(), 1);
    assert_eq!(conflicts_of(&[owned(held(1, 9, 1)), owned(held(2, 5, 1))]), []);
    assert_eq!(conflicts_of(&[owned(held(1, 9, 1)), owned(shared(2, 5))]), [(at(2), at(5))]);
}

#[test]
fn a_conflict_of_permits_lasts_until_the_rest_of_them_is_within_the_capacity() {
    let permits =
        |count, granted, stopped| moded(Mode::permits(count, 5).unwrap(), held(granted, stopped, granted));
    assert_eq!(conflicts_of(&[permits(3, 1, 4), permits(2, 2, 9), permits(2, 3, 9)]), [(at(3), at(4))]);
    assert_eq!(conflicts_of(&[permits(2, 1, 9), permits(3, 2, 4), permits(2, 3, 9)]), [(at(3), at(4))]);
    assert_eq!(conflicts_of(&[permits(3, 1, 9), permits(2, 2, 9), permits(2, 3, 7)]), [(at(3), at(7))]);
}

#[test]
fn a_fence_is_larger_than_all_that_were_known_when_it_was_asked_for() {
    assert_eq!(fences(&[held(1, 2, 7), held(4, 5, 8)]), Vec::<String>::new());
    assert_eq!(fences(&[held(1, 2, 7), held(4, 5, 7)]).len(), 1);
    assert_eq!(fences(&[held(1, 2, 7), held(4, 5, 6)]).len(), 1);
    // It was asked for before the other was granted.
    assert_eq!(fences(&[held(3, 4, 7), held(4, 5, 6)]), Vec::<String>::new());
    let without = Held { fence: None, ..held(4, 5, 0) };
    assert_eq!(fences(&[held(1, 2, 7), without]), Vec::<String>::new());
}

#[test]
fn a_re_entry_has_the_fence_of_the_hold_that_it_entered() {
    let again = |fence| Held { reentered: true, ..owned(held(3, 4, fence)) };
    assert_eq!(fences(&[owned(held(1, 9, 7)), again(7)]), Vec::<String>::new());
    assert_eq!(fences(&[owned(held(1, 9, 7)), again(8)]).len(), 1);
    assert_eq!(fences(&[owned(held(1, 2, 7)), again(8)]), Vec::<String>::new(), "a hold that is over");
    let alone = |fence| Held { reentered: false, ..again(fence) };
    let ends_before_the_answer = Held { stopped: at(2) + Duration::from_millis(500), ..owned(held(1, 9, 7)) };
    assert_eq!(fences(&[ends_before_the_answer, alone(7)]), Vec::<String>::new());
    assert_eq!(fences(&[owned(held(1, 2, 7)), alone(7)]).len(), 1, "a hold that was over");
    assert_eq!(fences(&[held(1, 9, 7), alone(7)]).len(), 1, "of somebody else");
    assert_eq!(
        fences_of_quorum(&[owned(held(1, 9, 7)), again(8)]),
        Vec::<String>::new(),
        "nodes may not have known it"
    );
    assert_eq!(fences_of_quorum(&[owned(held(1, 9, 7)), again(6)]).len(), 1);
}

#[test]
fn a_loss_is_late_if_it_is_told_after_the_guard_band() {
    let lost =
        |stopped| Held { valid_until: at(5), stopped, lost: Some(LossReason::Expired), ..held(1, 5, 1) };
    let (last, milli) = (at(5) + guard_band(TTL), Duration::from_millis(1));
    assert_eq!(told_late(&[lost(last)], &[]), Vec::<&Held>::new());
    let late = lost(last + milli);
    assert_eq!(told_late(std::slice::from_ref(&late), &[]), [&late]);
    // The process had no turn: before the end, that counts; after it, it does not.
    let stall = |from, time| [(from, from + time)];
    assert_eq!(told_late(std::slice::from_ref(&late), &stall(at(4), Duration::from_secs(1))), [&late]);
    assert_eq!(told_late([&late], &stall(at(5), milli)), Vec::<&Held>::new());
    let released = Held { lost: None, ..lost(at(20)) };
    assert_eq!(told_late(&[released], &[]), Vec::<&Held>::new());
}

#[test]
fn an_entry_is_the_same_after_its_way_through_text() {
    let lost = Held { lost: Some(LossReason::NotHeld), ..owned(held(1, 5, 1)) };
    let permits = moded(Mode::permits(2, 3).unwrap(), Held { fence: None, ..held(1, 5, 1) });
    for entry in [held(1, 5, 1), moded(Mode::Shared, held(1, 5, 1)), lost, permits] {
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<Held>(&text).unwrap(), entry);
    }
    let odd = serde_json::to_string(&held(1, 5, 1)).unwrap().replace("\"lost\":null", "\"lost\":\"odd\"");
    let error = serde_json::from_str::<Held>(&odd).unwrap_err().to_string();
    assert!(error.contains("odd"), "{error}");
}

#[test]
fn a_lease_is_watched_until_the_work_is_done_or_it_is_lost() {
    let paused =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    actix::System::with_tokio_rt(paused).block_on(async {
        let clock = Arc::new(RuntimeClock::start());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let locks = LockManager::builder(store).clock(clock.clone()).start_here().unwrap();
        let history = History::with_clock(clock);
        let acquire = async || {
            let asked = history.now();
            let lease = locks.send(Acquire::new("r").ttl(TTL)).await.unwrap().unwrap();
            let held = history.granted(&lease, asked, TTL);
            (lease, held)
        };
        let (lease, held) = acquire().await;
        assert_eq!(history.watch(&lease, held, sleep(3 * TTL)).await, Some(()));
        lease.release().await.unwrap();
        let (lease, held) = acquire().await;
        let taken_away = async {
            sleep(TTL).await;
            locks.send(Revoke::at_once("r")).await.unwrap().unwrap();
            std::future::pending::<()>().await;
        };
        assert_eq!(history.watch(&lease, held, taken_away).await, None);
        assert_eq!(history.violations(), Vec::<String>::new());
        let [first, second] = history.take().try_into().unwrap();
        assert_eq!((first.lost, second.lost), (None, Some(LossReason::Forced)));
        assert!(first.stopped >= first.granted + 3 * TTL && first.valid_until > first.stopped, "{first:?}");
        assert!(second.fence > first.fence && second.stopped < second.granted + 2 * TTL, "{second:?}");
    });
}
