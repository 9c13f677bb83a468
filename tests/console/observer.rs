//! The observer: when it tells that something is new, and what it does not know.

use std::time::Duration;

use leasehold::{Acquire, Shutdown, schedule::Schedule};
use serde_json::Value;
use tokio::time::sleep;

use super::{odd::Odd, site::Site};
use support::virtual_time::in_virtual_time;

/// The number of the state that the console has seen last.
async fn revision(site: &Site) -> u64 {
    let page = site.get("tuning").await.text;
    let (_, rest) = page.split_once("data-revision=\"").unwrap();
    rest.split('"').next().unwrap().parse().unwrap()
}

#[test]
fn the_end_of_an_outage_is_news_also_if_nothing_is_contended_and_the_walk_is_cut_short() {
    in_virtual_time(|| async {
        let site = Site::odd(Odd { unfinished: true, ..Odd::default() });
        site.look().await;
        let before = revision(&site).await;
        site.look().await;
        assert_eq!(revision(&site).await, before, "nothing has changed");
        site.world.store.fail_next(4);
        site.look().await;
        assert_eq!(site.console.contention().resources, None);
        let during = revision(&site).await;
        assert!(during > before);
        site.look().await;
        assert_eq!(site.console.contention().resources, Some(0));
        assert!(revision(&site).await > during, "who waits for news shows the outage for ever");
    });
}

#[test]
fn another_console_has_other_revisions() {
    in_virtual_time(|| async {
        let (one, other) = (Site::new(), Site::new());
        assert_ne!(revision(&one).await, revision(&other).await);
    });
}

#[test]
fn a_resource_that_nobody_may_look_at_hides_no_other_one() {
    in_virtual_time(|| async {
        let site = Site::odd(Odd { denied: Some("secret"), ..Odd::default() });
        let _lease = site.hold(Acquire::new("orders/1")).await;
        site.wait_for("orders/1").await;
        let answer = site.get("api/resource?name=secret").await;
        assert!(answer.status == 500 && answer.text.contains("denies access"), "{}", answer.text);
        site.look().await;
        let contention = site.console.contention();
        assert_eq!((contention.resources, contention.complete), (Some(1), true));
        // One that somebody waits for is missing among those that are counted, and that is said.
        let _secret = site.hold(Acquire::new("secret")).await;
        site.wait_for("secret").await;
        let contention = site.console.contention();
        assert_eq!((contention.resources, contention.complete), (Some(1), false));
        // It has a row of its own, which says what is not known.
        for page in ["api/resources", "api/resources?all=true"] {
            let rows = &site.get_json(page).await["resources"];
            assert_eq!((&rows[0]["resource"], &rows[0]["total"]), (&"orders/1".into(), &1.into()), "{rows}");
            assert_eq!((&rows[1]["resource"], &rows[1]["total"]), (&"secret".into(), &Value::Null), "{rows}");
            assert!(rows[1]["trouble"].as_str().is_some_and(|trouble| trouble.contains("denies")), "{rows}");
        }
        let page = site.get("").await;
        assert!(page.status == 200 && page.text.contains("denies access"), "{}", page.text);
        let election = site.get("elections?name=secret").await;
        assert!(election.status == 200 && election.text.contains("denies access"), "{}", election.text);
        assert!(!election.text.contains("nobody leads"), "{}", election.text);
    });
}

#[test]
fn a_schedule_that_nobody_may_look_at_hides_no_other_one() {
    in_virtual_time(|| async {
        let site = Site::odd(Odd { denied: Some("secret"), ..Odd::default() });
        let others = site.world.manager();
        for name in ["report", "secret"] {
            let schedule = Schedule::every(Duration::from_secs(60)).named(name);
            drop(schedule.start(&others, async |_| ()).unwrap());
        }
        site.look().await;
        let seen = site.get_json("api/schedules").await;
        let names =
            |of: &str, kind: &str| seen[kind].as_array().unwrap().iter().any(|it| it["schedule"] == of);
        assert!(names("report", "schedules") && names("secret", "unknown"), "{seen}");
        let page = site.get("schedules").await.text;
        assert!(page.contains("report") && page.contains("denies access"), "{page}");
    });
}

#[test]
fn a_store_that_denies_every_look_is_not_up() {
    in_virtual_time(|| async {
        for plain in [false, true] {
            let site = Site::odd(Odd { denied: Some("secret"), plain, ..Odd::default() });
            let _secret = site.hold(Acquire::new("secret")).await;
            if !plain {
                site.wait_for("secret").await;
            }
            site.look().await;
            let contention = site.console.contention();
            assert_eq!((contention.store_up, contention.resources), (Some(false), None), "{plain}");
        }
    });
}

#[test]
fn a_console_without_a_manager_knows_nothing() {
    in_virtual_time(|| async {
        let site = Site::new();
        site.look().await;
        assert_eq!(site.console.contention().store_up, Some(true));
        site.locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        for _ in 0..5 {
            site.look().await;
        }
        let contention = site.console.contention();
        assert_eq!((contention.store_up, contention.resources), (None, None));
        assert!(site.get("doctor").await.text.contains("nobody looks any more"));
        assert_eq!(site.get("events").await.status, 503);
    });
}

#[test]
fn where_there_are_no_queues_the_number_of_waiters_is_unknown_also_while_nothing_is_held() {
    in_virtual_time(|| async {
        let site = Site::odd(Odd { plain: true, ..Odd::default() });
        let lease = site.hold(Acquire::new("orders/1")).await;
        site.look().await;
        assert_eq!(site.console.contention().resources, None);
        lease.release().await.unwrap();
        site.look().await;
        let contention = site.console.contention();
        assert_eq!((contention.resources, contention.waiters, contention.store_up), (None, None, Some(true)));
        let free = site.get_json("api/resource?name=orders/1").await;
        assert_eq!((&free["total"], &free["waiting"]), (&0.into(), &Value::Null));
        // An outage does not make it known either, also when the store answers again and nobody has looked yet.
        site.world.store.fail_next(1);
        for _ in 0..30 {
            if site.console.contention().store_up == Some(true) {
                sleep(Duration::from_millis(100)).await;
            }
        }
        assert_eq!(site.console.contention().store_up, Some(false));
        assert_eq!(site.get_json("api/resource?name=orders/1").await["waiting"], Value::Null);
    });
}
