//! The pages: each is whole, escapes what strangers say, and says what it does not know.

use std::{future::pending, time::Duration};

use actix_web::test::TestRequest;
use futures_util::future::join_all;
use leasehold::{
    Acquire, Config,
    partitions::{Member, Partitions},
    schedule::{Recover, Schedule},
};
use leasehold_tuning::tuner::Tuner;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::site::{HOST, Idle, Site};
use support::virtual_time::{in_virtual_time, secs};

const VIEWS: [&str; 9] = [
    "",
    "?all=true",
    "resource?name=orders/1",
    "managers",
    "elections",
    "schedules",
    "partitions",
    "doctor",
    "tuning",
];

#[test]
fn every_view_is_a_whole_page_without_a_script_or_a_style_of_its_own() {
    in_virtual_time(|| async {
        let site = Site::new();
        let _lease = site.hold(Acquire::new("orders/1")).await;
        site.wait_for("orders/1").await;
        for view in VIEWS.into_iter().chain(["login"]) {
            let page = site.get(view).await;
            assert_eq!(
                (page.status, page.header("content-type")),
                (200, "text/html; charset=utf-8"),
                "{view}"
            );
            for part in [
                "<!DOCTYPE html>",
                "lang=\"en\"",
                "href=\"#main\"",
                "<main id=\"main\"",
                "role=\"status\"",
                "data-revision=\"",
                "<p id=\"age\"></p>",
                "<h1>",
            ] {
                assert!(page.text.contains(part), "{view} has no {part}: {}", page.text);
            }
            // The script keeps what is in it fresh.
            assert_eq!(page.text.contains("<div id=\"live\">"), view != "login", "{view}");
            assert_eq!(page.text.matches("<script").count(), 1, "{view}");
            assert!(page.text.contains("<script src=\"console.js\" defer></script>"), "{view}");
            for inline in [" style=", "<style", " onclick=", "javascript:"] {
                assert!(!page.text.contains(inline), "{view} has {inline}");
            }
            let policy = page.header("content-security-policy");
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe")
            );
            assert_eq!(
                (page.header("x-content-type-options"), page.header("cache-control")),
                ("nosniff", "no-store")
            );
        }
        for (file, content) in
            [("console.css", "text/css"), ("console.js", "text/javascript"), ("icon.svg", "image/svg")]
        {
            assert!(site.get(file).await.header("content-type").starts_with(content), "{file}");
        }
    });
}

#[test]
fn a_path_without_a_slash_leads_to_the_folder_of_the_pages() {
    in_virtual_time(|| async {
        let site = Site::new();
        let answer = site.send(TestRequest::get().uri("/locks").insert_header(("host", HOST))).await;
        assert_eq!(answer.leads_to(), "locks/");
        assert_eq!(site.get("no-such-page").await.status, 404);
    });
}

#[test]
fn what_strangers_say_is_text_on_every_page() {
    in_virtual_time(|| async {
        let site = Site::new();
        let hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}\n\0";
        let name = "<b>&\"'{evil}\u{202e}";
        let request =
            Acquire::new(name).owner(hostile).metadata("role", "election").metadata(hostile, hostile);
        let _lease = site.hold(request.metadata("host", hostile)).await;
        site.wait_for(name).await;
        let resource = "resource?name=%253Cb%253E%2526%2522%2527%257Bevil%257D%25E2%2580%25AE";
        let resource = resource.replace("%253C", "<").replace("%253E", ">").replace("%2526", "%26");
        let resource = resource.replace("%2527", "'").replace('<', "%3C").replace('>', "%3E");
        for view in [
            "",
            "?all=true",
            &resource,
            "managers",
            "elections",
            "schedules?name=%3Cscript%3Ealert(1)",
            "partitions?name=%3Cscript%3Ealert(1)",
        ] {
            let page = site.get(view).await;
            assert_eq!(page.status, 200, "{view}: {}", page.text);
            for tag in ["<script>", "<img", "<b>", "\u{202e}", "\0"] {
                assert!(!page.text.contains(tag), "{view} has {tag:?}: {}", page.text);
            }
        }
        let page = site.get(&resource).await.text;
        assert!(
            page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("\\u{202e}\\n\\0"),
            "{page}"
        );
    });
}

#[test]
fn contended_resources_come_in_pages_in_the_order_of_their_names() {
    in_virtual_time(|| async {
        let site = Site::new();
        let mut leases = Vec::new();
        for name in ["a/1", "a/2", "a/3", "b/1"] {
            leases.push(site.hold(Acquire::new(name)).await);
            site.wait_for(name).await;
        }
        leases.push(site.hold(Acquire::new("a/free")).await);
        let names = |page: &serde_json::Value| -> Vec<String> {
            let rows = page["resources"].as_array().unwrap();
            rows.iter().map(|row| row["resource"].as_str().unwrap().to_owned()).collect()
        };
        let first = site.get_json("api/resources?prefix=a/&limit=2").await;
        assert_eq!(
            (names(&first), first["next"].as_str()),
            (vec!["a/1".to_owned(), "a/2".into()], Some("a/2"))
        );
        let second = site.get_json("api/resources?prefix=a/&limit=2&after=a/2").await;
        assert_eq!((names(&second), second["next"].as_str()), (vec!["a/3".to_owned()], None));
        assert_eq!(names(&site.get_json("api/resources?all=true").await).len(), 5);
        let page = site.get("?prefix=a/&limit=2").await.text;
        assert!(page.contains("href=\"./?prefix=a/&amp;all=false&amp;after=a/2&amp;limit=2\""), "{page}");
        assert_eq!(site.get("api/resources?limit=201").await.status, 400);
        let contention = site.console.contention();
        assert_eq!((contention.resources, contention.waiters, contention.complete), (Some(4), Some(4), true));
    });
}

#[test]
fn a_timeline_tells_who_held_and_who_waited() {
    in_virtual_time(|| async {
        let site = Site::new();
        let lease = site.hold(Acquire::new("orders/1").metadata("host", "first").metadata("pid", "1")).await;
        site.wait_for("orders/1").await;
        sleep(secs(10)).await;
        lease.release().await.unwrap();
        sleep(secs(5)).await;
        let timeline = &site.get_json("api/resource?name=orders/1").await["timeline"];
        let (holds, waits) = (timeline["holds"].as_array().unwrap(), timeline["waits"].as_array().unwrap());
        assert_eq!((holds.len(), waits.len()), (2, 1), "{timeline}");
        assert_eq!((&holds[0]["who"], &holds[0]["goes_on"]), (&"first/1".into(), &false.into()));
        assert_eq!(holds[1]["goes_on"], true);
        let waited = |key: &str| waits[0][key].as_f64().unwrap();
        let lasted = Duration::from_secs_f64(waited("from_seconds_ago") - waited("until_seconds_ago"));
        assert!((secs(11)..=secs(14)).contains(&lasted), "{lasted:?}");
        let page = site.get("resource?name=orders/1").await.text;
        assert!(
            page.contains("<svg class=\"timeline\" role=\"img\"") && page.contains("first/1 held from"),
            "{page}"
        );
    });
}

#[test]
fn a_store_that_does_not_answer_is_told_and_nothing_is_zero() {
    in_virtual_time(|| async {
        let site = Site::new();
        site.look().await;
        let contention = || (site.console.contention().resources, site.console.contention().store_up);
        assert_eq!(contention(), (Some(0), Some(true)));
        site.world.store.fail_next(100);
        site.look().await;
        assert_eq!(contention(), (None, Some(false)));
        let page = site.get("").await;
        assert_eq!(page.status, 503);
        assert!(page.text.contains("data-failed"), "the script does not reload it: {}", page.text);
        assert!(
            page.text.contains("The store does not say") && !page.text.contains("Nobody waits"),
            "{}",
            page.text
        );
        assert_eq!(site.get("api/resources").await.json()["kind"], "unavailable");
    });
}

#[test]
fn who_asks_what_others_ask_is_never_turned_away_and_the_script_asks_again_for_who_is() {
    in_virtual_time(|| async {
        let site = Site::new();
        let all = async |path: &dyn Fn(usize) -> String| {
            join_all((0..50).map(|at| {
                let path = path(at);
                let site = &site;
                async move { site.get(&path).await }
            }))
            .await
        };
        assert!(all(&|_| "?all=true".to_owned()).await.iter().all(|page| page.status == 200));
        let pages = all(&|at| format!("?prefix=p/{at}")).await;
        let refused: Vec<_> = pages.iter().filter(|page| page.status == 429).collect();
        assert!(!refused.is_empty() && refused.len() < 50, "{}", refused.len());
        assert!(refused.iter().all(|page| page.text.contains("data-failed")), "{}", refused[0].text);
    });
}

#[test]
fn elections_schedules_and_the_doctor_have_their_pages() {
    in_virtual_time(|| async {
        let site = Site::new();
        let schedule = Schedule::every(secs(60)).named("report");
        let scheduler = schedule.start(&site.locks, async |_| Err::<(), _>("no <paper>")).unwrap();
        sleep(secs(70)).await;
        let page = site.get("schedules").await.text;
        assert!(page.contains("report") && page.contains("failed: no &lt;paper&gt;"), "{page}");
        let election = site.get_json("api/elections?name=report").await;
        assert_eq!(election["elections"][0]["leader"]["metadata"]["role"], "schedule");
        scheduler.stop().await;

        assert_eq!(site.get_json("api/diagnosis").await["diagnosis"], Value::Null);
        assert_eq!(site.post("doctor", &[]).await.leads_to(), "doctor");
        assert!(site.get("doctor").await.text.contains("memory-only"));
    });
}

#[test]
fn a_fleet_has_its_members_its_owners_and_the_balance_between_them() {
    in_virtual_time(|| async {
        let site = Site::new();
        assert!(site.get("partitions").await.text.contains("The store knows no fleet"));
        let _odd = (site.hold(Acquire::new("odd/members")).await, site.hold(Acquire::new("/members")).await);
        let join = |member: Member| Partitions::start(&site.locks, "orders", 8, member, |_| Idle).unwrap();
        let _a = join(Member::new("<a>").at("http://10.0.0.7"));
        let b = join(Member::new("b"));
        sleep(secs(30)).await;
        let seen = site.get_json("api/partitions?name=orders").await;
        assert_eq!(
            seen["fleets"],
            json!([{"fleet": "orders", "partitions": 8, "members": 2, "trouble": null}])
        );
        let shown = &seen["shown"];
        let members = json!([
            {"member": "<a>", "endpoint": "http://10.0.0.7", "partitions": 4},
            {"member": "b", "endpoint": null, "partitions": 4},
        ]);
        assert_eq!((&shown["members"], &shown["unowned"]), (&members, &json!(0)));
        let owners: Vec<_> = shown["partitions"].as_array().unwrap().iter().map(|it| &it["owner"]).collect();
        assert_eq!((owners.len(), owners.iter().filter(|owner| ***owner == "b").count()), (8, 4));
        let page = site.get("partitions?name=orders").await.text;
        assert!(
            page.contains("&lt;a&gt;") && page.contains("4 and 4") && !page.contains(">nobody<"),
            "{page}"
        );
        b.drain().await;
        sleep(secs(30)).await;
        assert!(site.get("partitions?name=orders").await.text.contains("8 and 8"));
        assert!(site.get("partitions?name=none").await.text.contains("No member of none is known"));
        assert_eq!(site.get_json("api/partitions").await["shown"], Value::Null);
    });
}

#[test]
fn the_page_of_partitions_says_that_more_names_than_it_looks_at_may_be_fleets() {
    in_virtual_time(|| async {
        let site = Site::new();
        let mut names: Vec<_> = (0..201).map(|number| format!("{number}/members")).collect();
        let one_more = site.hold(Acquire::new(names.pop().unwrap())).await;
        let _held = join_all(names.into_iter().map(|name| site.hold(Acquire::new(name)))).await;
        let page = site.get("partitions").await.text;
        assert!(page.contains("only 200 names that end in /members were looked at"), "{page}");
        one_more.release().await.unwrap();
        sleep(secs(30)).await;
        let page = site.get("partitions").await.text;
        assert!(page.contains("knows no fleet") && !page.contains("There may be other fleets"), "{page}");
    });
}

#[test]
fn a_tuner_tells_the_console() {
    in_virtual_time(|| async {
        let site = Site::new();
        let mut settings = Config::default().tuner;
        settings.enabled = true;
        let tuner = Tuner::builder(&site.locks).settings(settings).tell(site.console.tuner_events());
        let _tuner = tuner.start().unwrap();
        assert!(site.get("tuning").await.text.contains("no tuner tells this console"));
        for _ in 0..60 {
            let locks = site.locks.clone();
            actix::spawn(async move {
                let lease = locks.send(Acquire::new("sale").wait(secs(60))).await.unwrap().unwrap();
                sleep(Duration::from_millis(100)).await;
                lease.release().await.unwrap();
            });
        }
        sleep(secs(5)).await;
        let page = site.get("tuning").await.text;
        assert!(
            page.contains("are served a second") && !page.contains("no tuner tells this console"),
            "{page}"
        );
        let settings = &site.get_json("api/tuning").await["settings"];
        assert_eq!(settings["backoff"], "100ms to 1s, times 2, any number of attempts");
    });
}

#[test]
fn a_run_that_is_repeated_is_told_from_the_first_attempt() {
    in_virtual_time(|| async {
        let site = Site::new();
        let schedule = || Schedule::every(secs(5)).named("report").recover(Recover::Again { at_most: 1 });
        let first = schedule().start(&site.locks, async |_| pending::<()>().await).unwrap();
        sleep(secs(6)).await;
        first.stop().await;
        let second = schedule().start(&site.locks, async |_| ()).unwrap();
        sleep(secs(3)).await;
        site.look().await;
        let page = site.get("schedules").await.text;
        assert_eq!(page.matches(" (attempt 2)").count(), 1, "{page}");
        second.stop().await;
    });
}
