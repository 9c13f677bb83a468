//! The counters of windows and classes, and their form as data. On the memory store, in virtual time.

use actix::Addr;
use leasehold::{Acquire, AcquireAll, AcquireError, LockManager, Statistics, Stats};
use tokio::time::sleep;

use support::virtual_time::{World, in_virtual_time, millis, secs};

async fn stats(locks: &Addr<LockManager>) -> Statistics {
    // What has been released without an answer arrives first.
    sleep(millis(1)).await;
    locks.send(Stats).await.unwrap()
}

#[test]
fn the_last_minute_and_the_last_hour_forget_what_is_older() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        locks.send(Acquire::new("r")).await.unwrap().unwrap_err();
        locks.send(Acquire::new("r").wait(secs(10))).await.unwrap().unwrap_err();
        let told = stats(&locks).await;
        assert_eq!(told.last_minute, told.last_hour);
        let of = |stats: &Statistics| {
            [&stats.last_minute, &stats.last_hour]
                .map(|it| [it.requests, it.granted, it.refused, it.timed_out])
        };
        assert_eq!(of(&told), [[3, 1, 1, 1]; 2]);
        assert_eq!(told.last_minute.success_rate(), 1.0 / 3.0);
        sleep(secs(90)).await;
        assert_eq!(of(&stats(&locks).await), [[0, 0, 0, 0], [3, 1, 1, 1]]);
        sleep(secs(4_000)).await;
        assert_eq!(of(&stats(&locks).await), [[0; 4]; 2]);
        lease.release().await.unwrap();
        let told = stats(&locks).await;
        assert_eq!((told.last_minute.released, told.last_minute.held_for.count, told.requests), (1, 1, 3));
        assert_eq!(told.last_minute.success_rate(), 1.0, "no request has ended in it");
    });
}

#[test]
fn a_window_tells_how_near_the_nearest_miss_was() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let _lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
        sleep(secs(25)).await;
        let minute = stats(&locks).await.last_minute;
        let left = minute.smallest_validity_left.unwrap();
        assert!((secs(18)..secs(21)).contains(&left), "{left:?} left of 30 s when it is renewed after 10 s");
        assert!(minute.longest_renewal_lag.unwrap() < millis(500), "{:?}", minute.longest_renewal_lag);
        world.store.fail_next(1);
        sleep(secs(10)).await;
        let minute = stats(&locks).await.last_minute;
        assert_eq!((minute.missed_renewals, minute.near_misses), (1, 1));
        assert!(minute.smallest_validity_left.unwrap() < left);
    });
}

#[test]
fn a_renewal_that_was_not_due_has_no_lag() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let by_hand = locks.send(Acquire::new("r").no_renew()).await.unwrap().unwrap();
        let early = locks.send(Acquire::new("s")).await.unwrap().unwrap();
        sleep(secs(1)).await;
        by_hand.renew().await.unwrap();
        early.renew().await.unwrap();
        let minute = stats(&locks).await.last_minute;
        assert_eq!((minute.renewals, minute.longest_renewal_lag), (2, None));
    });
}

#[test]
fn each_class_is_counted_by_itself() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let paid = locks.send(Acquire::new("orders/1").class("payments")).await.unwrap().unwrap();
        let refused = Acquire::new("orders/1").class(format!("re{}", "ports"));
        locks.send(refused).await.unwrap().unwrap_err();
        let both = AcquireAll::new(["a", "b"]).class("reports");
        let _both = locks.send(both).await.unwrap().unwrap();
        let _unnamed = locks.send(Acquire::new("c")).await.unwrap().unwrap();
        paid.release().await.unwrap();
        let told = stats(&locks).await;
        let of = |class: &str| {
            let it = &told.classes[class];
            (it.requests, it.granted, it.refused, it.released)
        };
        assert_eq!(of("payments"), (1, 1, 0, 1));
        assert_eq!(of("reports"), (3, 2, 1, 0));
        assert_eq!((told.classes.len(), told.requests), (2, 5));
    });
}

#[test]
fn classes_are_bounded_and_the_rest_is_one_more() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        for number in 0..1_000 {
            drop(locks.send(Acquire::new("r").class(number.to_string()).attempts(1)).await.unwrap());
        }
        let classes = stats(&locks).await.classes;
        assert_eq!(classes.len(), 64);
        assert_eq!((classes["0"].requests, classes["62"].requests), (1, 1));
        assert_eq!(classes["other"].requests, 1_000 - 63);
    });
}

#[test]
fn a_class_that_is_no_label_is_refused_by_name() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        for wrong in ["order 42", "", "ä", &"x".repeat(65), "none", "other"] {
            let refused = locks.send(Acquire::new("r").class(wrong.to_owned())).await.unwrap().unwrap_err();
            let AcquireError::Invalid(invalid) = refused else { panic!("{refused}") };
            let allowed = "1 to 64 of A-Z a-z 0-9 _ . : -, and neither none nor other";
            assert_eq!(invalid.to_string(), format!("invalid class: {wrong:?} (allowed: {allowed})"));
        }
        assert!(stats(&locks).await.classes.is_empty());
        drop(locks.send(Acquire::new("r").class("orders.pay:v2-a_B")).await.unwrap().unwrap());
        assert_eq!(stats(&locks).await.classes.len(), 1);
    });
}

#[test]
fn statistics_are_data_with_the_names_of_their_fields() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease =
            locks.send(Acquire::new("r").class("web").ttl(secs(1)).no_renew()).await.unwrap().unwrap();
        sleep(secs(2)).await;
        drop(lease);
        let told = serde_json::to_value(stats(&locks).await).unwrap();
        assert_eq!(told["requests"], 1);
        assert_eq!(told["lost"]["expired"], 1);
        assert_eq!(told["classes"]["web"]["lost"], 1);
        assert_eq!(told["last_hour"]["smallest_validity_left_seconds"], serde_json::Value::Null);
        assert!(told["last_hour"].get("smallest_validity_left_seconds").is_some());
        let held = told["last_minute"]["held_seconds"]["max"].as_f64().unwrap();
        assert!((0.9..1.0).contains(&held), "{held} seconds");
    });
}
