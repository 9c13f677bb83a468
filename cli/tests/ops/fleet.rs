//! `elections` and `schedules`: who leads, and what schedules do.

use std::time::Duration;

use leasehold::{
    Acquire,
    election::{Candidacy, Election, ElectionEvent},
    schedule::Schedule,
};
use serde_json::{Value, json};

use leasehold_testing::servers::RedisServer;

use crate::support::{acquire, run, run_beside, until, with_config, with_locks};

/// An actor that hears of elections and does nothing.
struct Deaf;

impl actix::Actor for Deaf {
    type Context = actix::Context<Self>;
}

impl actix::Handler<ElectionEvent> for Deaf {
    type Result = ();

    fn handle(&mut self, _: ElectionEvent, _: &mut Self::Context) {}
}

#[test]
fn an_election_is_told_from_other_locks_with_its_leader_and_its_queue() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        use actix::Actor;
        let _lock = acquire(&locks, Acquire::new("no-election")).await;
        let candidacy = || Candidacy::from("town").tell(Deaf.start().recipient());
        let _first = Election::start(&locks, candidacy()).unwrap();
        let ask = async || run_beside(&server.url(), &["elections", "--json"]).await.of_kind("election");
        until("somebody leads", async || ask().await.iter().any(|it| it["leader"] != Value::Null)).await;
        with_second_candidate(&server, async || {
            until("another one stands", async || ask().await[0]["waiting"] == 1).await;
        })
        .await;
        let elections = ask().await;
        assert_eq!(elections.len(), 1, "{elections:?}");
        let town = &elections[0];
        assert_eq!((&town["resource"], &town["role"]), (&json!("town"), &json!("election")));
        assert_eq!(town["leader"]["pid"], std::process::id());
        let table = run_beside(&server.url(), &["elections"]).await;
        table.shows(0, &["ELECTION", "town"]);
        assert!(table.err.starts_with("1 election among 2 resources; looked at up to "), "{table:?}");
    });
}

/// Stands from another lock manager, in a thread of its own, while this is waited for.
async fn with_second_candidate(server: &RedisServer, wait: impl AsyncFnOnce()) {
    let (url, (stop, stopped)) = (server.url(), std::sync::mpsc::channel::<()>());
    let thread = std::thread::spawn(move || {
        with_locks(&url, async |locks| {
            use actix::Actor;
            let candidacy = Candidacy::from("town").tell(Deaf.start().recipient());
            let _second = Election::start(&locks, candidacy).unwrap();
            until("it is told to stop", async || stopped.try_recv().is_ok()).await;
        });
    });
    wait().await;
    stop.send(()).unwrap();
    thread.join().unwrap();
}

#[test]
fn a_schedule_is_shown_paused_resumed_and_run_by_an_operator() {
    let server = RedisServer::start();
    let url = server.url();
    with_locks(&url, async |locks| {
        let schedule = Schedule::every(Duration::from_secs(3_600)).named("report");
        let work = async |_| Err::<(), &str>("no \u{1b}[31mpaper");
        let scheduler = schedule.start(&locks, work).unwrap();
        let show = async || {
            let shown = run_beside(&url, &["schedules", "show", "report", "--json"]).await;
            shown.out.lines().next().map(|line| serde_json::from_str::<Value>(line).unwrap())
        };
        until("the store knows it", async || show().await.is_some_and(|it| it["runner"] != Value::Null))
            .await;
        let shown = show().await.unwrap();
        assert_eq!(
            (&shown["kind"], &shown["paused"], &shown["runs"]),
            (&json!("schedule"), &json!(false), &json!(0))
        );
        assert_eq!(shown["runner"]["pid"], std::process::id());
        run_beside(&url, &["schedules", "history", "report"]).await.shows(0, &["report has not run yet"]);
        run_beside(&url, &["schedules", "pause", "report"]).await.shows(0, &["report is paused"]);
        assert!(scheduler.is_paused().await.unwrap());
        run_beside(&url, &["schedules", "ls"]).await.shows(0, &["SCHEDULE", "report", "paused"]);
        run_beside(&url, &["schedules", "run-now", "report"]).await.shows(0, &["within a second"]);
        until("it has run", async || show().await.is_some_and(|it| it["last_run"]["outcome"] == "failed"))
            .await;
        run_beside(&url, &["schedules", "resume", "report"]).await.shows(0, &["goes on"]);
        assert!(!scheduler.is_paused().await.unwrap());
        let history = run_beside(&url, &["schedules", "history", "report", "--json"]).await.json();
        let run = &history[0];
        assert_eq!((&run["kind"], &run["number"], &run["asked"]), (&json!("run"), &json!(1), &json!(true)));
        assert_eq!(run["message"], "no \u{1b}[31mpaper");
        let table = run_beside(&url, &["schedules", "history", "report"]).await;
        table.shows(0, &["OUTCOME", "failed", "no \\u{1b}[31mpaper"]);
        run_beside(&url, &["schedules", "show", "report"])
            .await
            .shows(0, &["report: runs, 1 runs", "last run    1 at "]);
        run_beside(&url, &["elections", "--json"]).await.shows(0, &["\"role\":\"schedule\""]);
    });
}

#[test]
fn a_schedule_that_nobody_has_started_is_not_begun_by_a_misspelt_name() {
    let server = RedisServer::start();
    for verb in ["show", "pause", "resume", "run-now", "history"] {
        let ran = run(&server.url(), &["schedules", verb, "reprot"]);
        ran.tells(1, &["knows no schedule reprot", "leasehold schedules ls"]);
    }
    assert_eq!(server.keys(), []);
    assert_eq!(run(&server.url(), &["schedules", "ls"]).err, "0 schedules; looked at up to 1000 keys\n");
    let none = run(&server.url(), &["elections"]);
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""), "{none:?}");
}

#[test]
fn a_quorum_has_no_schedules_and_says_so() {
    let servers = [(); 3].map(|()| RedisServer::start());
    let nodes: Vec<String> = servers.iter().map(RedisServer::url).collect();
    let url = format!("quorum://[{}]", nodes.join(","));
    with_config(&format!("store.url = '{url}'"), async |_| {
        run_beside(&url, &["schedules", "ls"]).await.tells(2, &["this store has no"]);
        run_beside(&url, &["schedules", "pause", "report"]).await.tells(2, &["this store has no"]);
    });
}
