//! Pauses of one's own: when a request attempts, and what bounds it. On the memory store, in virtual time.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use leasehold::{Acquire, AcquireAll, AcquireError, Backoff, SetTuning, Stats};
use tokio::time::{Instant, sleep};

use support::virtual_time::{World, in_virtual_time, millis, secs};

#[test]
fn a_request_pauses_as_its_function_says_and_ends_with_it() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let _held = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let pause = move |made: u32, draw: f64| {
            noted.lock().unwrap().push((made, draw));
            (made < 4).then(|| secs(1) * made)
        };
        let start = Instant::now();
        let refused = locks.send(Acquire::new("r").backoff_by(pause)).await.unwrap().unwrap_err();
        assert!(matches!(refused, AcquireError::Held { attempts: 4, .. }), "{refused}");
        assert_eq!(start.elapsed(), secs(1 + 2 + 3));
        assert_eq!(*asked.lock().unwrap(), [(1, 0.5), (2, 0.5), (3, 0.5), (4, 0.5)]);
    });
}

#[test]
fn a_pause_takes_five_milliseconds_at_least_and_the_wait_at_most() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let _held = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        for (pause, attempts) in [(Duration::ZERO, 20), (Duration::MAX, 1)] {
            let (start, ask) = (Instant::now(), Acquire::new("r").wait(millis(100)));
            let refused = locks.send(ask.backoff_by(move |_, _| Some(pause))).await.unwrap().unwrap_err();
            let AcquireError::Held { attempts: made, .. } = refused else { panic!("{refused}") };
            assert_eq!((made, start.elapsed()), (attempts, millis(100)));
        }
    });
}

#[test]
fn a_function_that_wants_no_second_attempt_ends_a_set_with_its_first_try() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let _held = locks.send(Acquire::new("b")).await.unwrap().unwrap();
        let all = || AcquireAll::new(["a", "b"]).wait(secs(1));
        let start = Instant::now();
        locks.send(all().backoff_by(|_, _| None)).await.unwrap().unwrap_err();
        assert_eq!((start.elapsed(), locks.send(Stats).await.unwrap().attempts), (millis(0), 2));
        locks.send(all().backoff_by(|_, _| Some(millis(400)))).await.unwrap().unwrap_err();
        assert_eq!(start.elapsed(), secs(1));
    });
}

#[test]
fn a_holder_that_ends_earlier_than_the_pause_is_not_waited_out() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let _held = locks.send(Acquire::new("r").ttl(secs(10)).no_renew()).await.unwrap().unwrap();
        let start = Instant::now();
        let ask = Acquire::new("r").wait(secs(3_000)).backoff_by(|_, _| Some(millis(20_000)));
        let _lease = locks.send(ask).await.unwrap().unwrap();
        assert!(start.elapsed() < millis(11_500), "{:?}", start.elapsed());
    });
}

#[test]
fn a_function_that_panics_costs_nobody_a_lock() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let held = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let ask = Acquire::new("r").wait(millis(500)).backoff_by(|_, _| panic!("the function of a test"));
        let refused = locks.send(ask).await.unwrap().unwrap_err();
        assert!(matches!(refused, AcquireError::Held { .. }), "{refused}");
        assert_eq!(locks.send(Stats).await.unwrap().manager_restarts, 0);
        held.release().await.unwrap();
    });
}

#[test]
fn the_function_of_a_manager_is_for_requests_without_one_until_it_is_set_otherwise() {
    in_virtual_time(|| async {
        let world = World::new();
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        let pause = move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(millis(10))
        };
        let locks = world.builder().backoff_by(pause).start_here().unwrap();
        let _held = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let ask = async |ask: Acquire| {
            let refused = locks.send(ask).await.unwrap().unwrap_err();
            assert!(matches!(refused, AcquireError::Held { .. }), "{refused}");
            calls.swap(0, Ordering::Relaxed)
        };
        assert_eq!(ask(Acquire::new("r")).await, 1, "a try stays a try");
        assert_eq!(ask(Acquire::new("r").wait(secs(1)).attempts(3)).await, 2);
        assert_eq!(ask(Acquire::new("r").backoff(Backoff::FLASH_SALE)).await, 0);
        let built_in = SetTuning { backoff: Some(Backoff::DEFAULT), ..SetTuning::default() };
        locks.send(built_in).await.unwrap().unwrap();
        assert_eq!(ask(Acquire::new("r").wait(secs(1))).await, 0);
        sleep(millis(1)).await;
    });
}
