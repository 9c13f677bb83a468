//! `ls` and `show`: what they show of holders and waiters, on each kind of store.

use std::time::Duration;

use leasehold::{Acquire, ReadLock};
use serde_json::{Value, json};

use leasehold_testing::servers::RedisServer;

use crate::support::{acquire, calls, run, run_beside, until, with_config, with_locks};

#[test]
fn an_empty_store_has_nothing_to_list_and_nothing_to_show() {
    let server = RedisServer::start();
    let ls = run(&server.url(), &["ls"]);
    ls.shows(0, &[]);
    assert_eq!((ls.out.as_str(), ls.err.as_str()), ("", "0 held; looked at up to 1000 keys\n"));
    let page = json!({ "kind": "page", "walked": 1_000, "complete": true, "cut_short": false, "next": null, "unreadable": 0 });
    assert_eq!(run(&server.url(), &["ls", "--json"]).json(), [page]);
    run(&server.url(), &["show", "r"]).shows(1, &["r is free"]);
    let shown = run(&server.url(), &["show", "r", "--json"]);
    assert_eq!((shown.code, &shown.json()[0]["held"]), (Some(1), &Value::Bool(false)));
}

#[test]
fn a_holder_and_its_waiter_are_shown_with_all_that_they_told() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let request = Acquire::new("orders/42").owner("worker").purpose("billing").metadata("shard", "7");
        let lease = acquire(&locks, request).await;
        let waits = Acquire::new("orders/42").purpose("audit").wait(Duration::from_secs(60));
        let waits = actix_rt::spawn(locks.send(waits));
        let show = async || run_beside(&server.url(), &["show", "orders/42", "--json"]).await;
        until("somebody waits", async || show().await.json()[0]["waiting"] == 1).await;
        let shown = show().await.json().remove(0);
        assert_eq!(
            (&shown["kind"], &shown["held"], &shown["total"]),
            (&json!("resource"), &json!(true), &json!(1))
        );
        let holder = &shown["holders"][0];
        for (field, expected) in [
            ("state", json!("holding")),
            ("mode", json!("exclusive")),
            ("token", json!(lease.token().prefix().to_string())),
            ("owner", json!("worker")),
            ("fence", json!(lease.fence().unwrap().get())),
            ("pid", json!(std::process::id())),
            ("purpose", json!("billing")),
            ("trace", Value::Null),
        ] {
            assert_eq!(holder[field], expected, "{field} of {holder}");
        }
        let seconds = |field: &str| holder[field].as_f64().unwrap();
        assert!((0.0..30.0).contains(&seconds("age_seconds")), "{holder}");
        assert!((0.0..=30.0).contains(&seconds("left_seconds")), "{holder}");
        assert_eq!(holder["metadata"]["shard"], "7");
        let waiter = &shown["waiters"][0];
        assert_eq!((&waiter["position"], &waiter["purpose"]), (&json!(1), &json!("audit")));
        assert!(waiter["waited_seconds"].as_f64().unwrap() < 60.0, "{waiter}");
        let table = run_beside(&server.url(), &["show", "orders/42"]).await;
        table.shows(
            0,
            &["orders/42: 1 holder, 1 waiting", "HOLDER", "worker", "billing", "shard=7", "WAITER", "audit"],
        );
        let listed = run_beside(&server.url(), &["ls", "--contended"]).await;
        listed.shows(0, &["RESOURCE", "orders/42", "exclusive", "billing"]);
        assert!(!listed.out.contains('\u{1b}'), "colours where there is no terminal: {listed:?}");
        waits.abort();
    });
}

#[test]
fn only_contended_resources_are_listed_where_that_is_asked_for() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let _free = acquire(&locks, Acquire::new("calm")).await;
        let _held = acquire(&locks, Acquire::new("busy")).await;
        let waits = actix_rt::spawn(locks.send(Acquire::new("busy").wait(Duration::from_secs(60))));
        let names = async |arguments: &[&str]| -> Vec<String> {
            let ran = run_beside(&server.url(), &[&["ls", "--json"], arguments].concat()).await;
            ran.of_kind("resource").iter().map(|it| it["resource"].as_str().unwrap().to_owned()).collect()
        };
        until("busy is contended", async || names(&["--contended"]).await == ["busy"]).await;
        assert_eq!(names(&[]).await, ["busy", "calm"]);
        assert_eq!(names(&["ca"]).await, ["calm"]);
        waits.abort();
    });
}

#[test]
fn readers_and_permits_are_counted_and_those_that_end_first_are_shown() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let _first = locks.send(ReadLock::new("r").ttl(Duration::from_secs(5))).await.unwrap().unwrap();
        let _second = locks.send(ReadLock::new("r")).await.unwrap().unwrap();
        let _permits = acquire(&locks, Acquire::new("p").permits(2, 5)).await;
        let ls = run_beside(&server.url(), &["ls", "--json"]).await.of_kind("resource");
        assert_eq!(
            (&ls[0]["holders"][0]["mode"], &ls[0]["holders"][0]["capacity"]),
            (&json!("permits"), &json!(5))
        );
        assert_eq!((&ls[1]["total"], &ls[1]["holders"].as_array().unwrap().len()), (&json!(2), &1));
        assert!(ls[1]["holders"][0]["left_seconds"].as_f64().unwrap() <= 5.0, "{ls:?}");
        let show = run_beside(&server.url(), &["show", "r", "--limit", "1"]).await;
        show.shows(0, &["r: 2 holders", "shared"]);
        assert_eq!(show.err, "1 of 2 holders; --limit shows more\n");
        run_beside(&server.url(), &["show", "p"]).await.shows(0, &["2 of 5"]);
    });
}

#[test]
fn the_plain_layout_shows_what_it_knows() {
    let server = RedisServer::start();
    let config = format!("store = {{ url = '{}', layout = 'plain' }}", server.url());
    with_config(&config, async |locks| {
        let _lease = acquire(&locks, Acquire::new("r")).await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("locks.toml");
        std::fs::write(&file, &config).unwrap();
        let ls = run_beside(&server.url(), &["ls", "--config", file.to_str().unwrap()]).await;
        ls.shows(0, &["exclusive"]);
        let json = run_beside(&server.url(), &["show", "r", "--json", "--config", file.to_str().unwrap()])
            .await
            .json();
        let holder = &json[0]["holders"][0];
        assert_eq!(
            (&holder["fence"], &holder["age_seconds"], &holder["owner"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
    });
}

#[test]
fn a_quorum_of_three_is_listed_and_shown() {
    let servers = [(); 3].map(|()| RedisServer::start());
    let nodes: Vec<String> = servers.iter().map(RedisServer::url).collect();
    let url = format!("quorum://[{}]", nodes.join(","));
    let config = format!(
        "store = {{ url = '{url}', fresh_start = true, node_timeout = '5s', connect_timeout = '10s' }}"
    );
    with_config(&config, async |locks| {
        let lease = acquire(&locks, Acquire::new("r").ttl(Duration::from_secs(200)).purpose("quorate")).await;
        run_beside(&url, &["ls"]).await.shows(0, &["r ", "quorate"]);
        let shown = run_beside(&url, &["show", "r", "--json"]).await.json();
        assert_eq!(shown[0]["holders"][0]["fence"], lease.fence().unwrap().get());
        drop(servers);
        let down = run_beside(&url, &["ls"]).await;
        down.tells(2, &["no majority", "leasehold doctor"]);
    });
}

#[test]
fn a_name_that_is_no_text_is_shown_escaped_and_typed_so() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let _lease = acquire(&locks, Acquire::new(b"a b\xff")).await;
        run_beside(&server.url(), &["ls"]).await.shows(0, &["a%20b%FF"]);
        run_beside(&server.url(), &["show", "a%20b%FF"]).await.shows(0, &["a%20b%FF: 1 holder"]);
        run_beside(&server.url(), &["ls", "a b", "--json"]).await.shows(0, &["a%20b%FF"]);
    });
}

#[test]
fn no_escape_sequence_reaches_the_terminal() {
    let server = RedisServer::start();
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\nsecond line";
    with_locks(&server.url(), async |locks| {
        let request = Acquire::new(format!("r{evil}")).owner(evil).purpose(evil).metadata(evil, evil);
        let _lease = acquire(&locks, request).await;
        for arguments in [
            &["ls"][..],
            &["ls", "--json"],
            &["watch", "--prefix", "r", "--json"],
            &["watch", "--prefix", "r"],
        ] {
            let ran = match arguments[0] {
                "watch" => watched_for_a_moment(&server.url(), arguments).await,
                _ => run_beside(&server.url(), arguments).await.out,
            };
            check(&ran, arguments);
        }
        let name = leasehold::ResourceName::new(format!("r{evil}")).unwrap().to_string();
        for arguments in [&["show", name.as_str()][..], &["show", name.as_str(), "--json"]] {
            let shown = run_beside(&server.url(), arguments).await;
            check(&shown.out, arguments);
            if arguments.len() == 3 {
                assert_eq!(shown.json()[0]["holders"][0]["owner"], evil);
            }
        }
    });
}

/// Panics if a terminal would obey any of this.
fn check(shown: &str, arguments: &[&str]) {
    assert!(shown.contains("owned"), "{arguments:?}: {shown}");
    let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!shown.contains(obeyed) && !shown.contains("\nsecond"), "{arguments:?}: {shown:?}");
}

/// The first line that a watch tells.
async fn watched_for_a_moment(url: &str, arguments: &[&str]) -> String {
    use std::io::BufRead;
    let mut command = crate::support::command(arguments);
    command.env("LEASEHOLD_STORE_URL", url).stdout(std::process::Stdio::piped());
    let ran = actix_rt::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        line
    });
    ran.await.unwrap()
}

#[test]
fn a_look_opens_one_connection_and_subscribes_to_nothing() {
    let server = RedisServer::start();
    let connections = || -> u32 {
        let info: String = redis::from_redis_value(server.command(&["INFO", "stats"])).unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
        line.unwrap().parse().unwrap()
    };
    let before = connections();
    run(&server.url(), &["ls"]).shows(0, &[]);
    run(&server.url(), &["show", "r"]).shows(1, &[]);
    // One for each of both, and that of this question.
    assert_eq!(connections() - before, 3);
    assert_eq!((calls(&server, "subscribe"), calls(&server, "ssubscribe")), (0, 0));
}
