//! Changes: a revoke, a release by force, and a schedule that is paused, each with its line in the audit.

use leasehold::{Acquire, LeaseStatus, schedule::Schedule};
use serde_json::json;

use super::site::{Site, TOKEN};
use support::virtual_time::{in_virtual_time, secs};

#[test]
fn a_revoke_from_the_page_is_done_shown_and_audited_without_the_token() {
    in_virtual_time(|| async {
        let site = Site::new();
        let lease = site.hold(Acquire::new("orders/1")).await;
        site.sign_in().await;
        let page = site.get("resource?name=orders/1").await.text;
        assert!(page.contains("action=\"revoke\"") && page.contains("ann &lt;ops&gt;"), "{page}");
        let fields = [("resource", "orders/1"), ("reason", "a deploy"), ("grace_seconds", "5")];
        assert_eq!(site.post("revoke", &fields).await.leads_to(), "resource?name=orders/1");
        tokio::time::sleep(secs(1)).await;
        assert!(site.get("resource?name=orders/1").await.text.contains("goes on"));
        tokio::time::sleep(secs(6)).await;
        assert!(matches!(lease.status(), LeaseStatus::Lost(_)), "{:?}", lease.status());
        let page = site.get("resource?name=orders/1").await.text;
        assert!(page.contains("0 finished, 1 taken, 0 unconfirmed"), "{page}");
        let lines = site.audit.lines();
        for part in
            ["action=\"login\"", "action=\"revoke\"", "resource=orders/1", "ann <ops> (session", "1 taken"]
        {
            assert!(lines.iter().any(|line| line.contains(part)), "{part} is not in {lines:#?}");
        }
        assert!(!site.audit.text().contains(TOKEN));
    });
}

#[test]
fn a_program_releases_by_force_if_it_says_the_name_twice() {
    in_virtual_time(|| async {
        let site = Site::new();
        let lease = site.hold(Acquire::new("orders/1")).await;
        let body = |confirm: &str| json!({ "resource": "orders/1", "confirm": confirm });
        let refused = site.call(TOKEN, "force-release", &body("orders/2")).await;
        assert_eq!((refused.status, &refused.json()["kind"]), (400, &"invalid".into()));
        assert_eq!(lease.status(), LeaseStatus::Held);
        let done = site.call(TOKEN, "force-release", &body("orders/1")).await;
        assert_eq!((done.status, &done.json()["outcome"]), (200, &"taken from 1 holder".into()));
        tokio::time::sleep(secs(1)).await;
        assert!(matches!(lease.status(), LeaseStatus::Lost(_)));
    });
}

#[test]
fn a_schedule_is_paused_and_resumed_and_one_that_is_not_there_is_not_begun() {
    in_virtual_time(|| async {
        let site = Site::new();
        let schedule = Schedule::every(secs(60)).named("report");
        let scheduler = schedule.start(&site.locks, async |_| ()).unwrap();
        tokio::time::sleep(secs(5)).await;
        site.sign_in().await;
        let form = |action| [("schedule", "report"), ("action", action)];
        assert_eq!(site.post("schedule", &form("pause")).await.leads_to(), "schedules");
        site.look().await;
        assert!(scheduler.is_paused().await.unwrap());
        assert!(site.get("schedules").await.text.contains("value=\"resume\""));
        site.post("schedule", &form("resume")).await;
        site.look().await;
        assert!(!scheduler.is_paused().await.unwrap());
        let other = site.call(TOKEN, "schedule", &json!({ "schedule": "rapport", "action": "pause" })).await;
        assert_eq!((other.status, &other.json()["kind"]), (404, &"not_found".into()));
        let schedules = site.get_json("api/schedules").await;
        assert_eq!(schedules["schedules"].as_array().unwrap().len(), 1);
        scheduler.stop().await;
    });
}

#[test]
fn a_wrong_value_names_itself_and_what_is_allowed() {
    in_virtual_time(|| async {
        let site = Site::new();
        for (path, body, expected) in [
            ("revoke", json!({ "resource": "a b", "reason": "x" }), "%XX"),
            ("revoke", json!({ "resource": "r", "reason": "a\nb" }), "one line of 1 to 200 bytes"),
            ("revoke", json!({ "resource": "r" }), "reason"),
            ("revoke", json!({ "resource": "r", "reason": "x", "grace": 1 }), "grace_seconds"),
            ("schedule", json!({ "schedule": "r", "action": "stop" }), "resume"),
        ] {
            let answer = site.call(TOKEN, path, &body).await;
            assert_eq!((answer.status, &answer.json()["kind"]), (400, &"invalid".into()), "{}", answer.text);
            assert!(answer.text.contains(expected), "{}", answer.text);
        }
    });
}

#[test]
fn an_examination_is_audited_whoever_asks_and_two_at_once_share_it() {
    in_virtual_time(|| async {
        let site = Site::new();
        let ago = |answer: &serde_json::Value| answer["diagnosis"]["seconds_ago"].as_f64().unwrap();
        let first = site.call(TOKEN, "examine", &json!({})).await.json();
        assert_eq!(ago(&first), 0.0);
        tokio::time::sleep(secs(2)).await;
        assert_eq!(site.post("doctor", &[]).await.leads_to(), "doctor");
        assert_eq!(ago(&site.get_json("api/diagnosis").await), 2.0, "it was made again");
        tokio::time::sleep(secs(4)).await;
        assert_eq!(ago(&site.call(TOKEN, "examine", &json!({})).await.json()), 0.0);
        let lines = site.audit.lines();
        let said = |who: &str, what: &str| {
            let is_so = |line: &&String| {
                line.contains("action=\"examine\"") && line.contains(who) && line.contains(what)
            };
            lines.iter().filter(is_so).count()
        };
        assert_eq!(
            (said("somebody (bearer)", "asked for"), said("nobody", "asked for")),
            (2, 1),
            "{lines:#?}"
        );
        assert_eq!(said("", "outcome=\"the worst finding: "), 3, "{lines:#?}");
    });
}
