//! `capacity`: what it sets, shows and clears, and what it says where that cannot be.

use std::time::Duration;

use leasehold::Acquire;
use leasehold_testing::servers::RedisServer;
use serde_json::{Value, json};

use crate::support::{Ran, acquire, command, run, run_beside, until, with_locks};

#[test]
fn a_capacity_is_set_while_permits_are_held_and_shown_and_cleared() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let beside = async |arguments: &[&str]| run_beside(&server.url(), arguments).await;
        beside(&["capacity", "gpus"]).await.shows(0, &["gpus: no capacity is set"]);
        let ask = || Acquire::new("gpus").permits(1, 2).wait(Duration::from_secs(60));
        let _held = [acquire(&locks, ask()).await, acquire(&locks, ask()).await];
        let waiting = actix_rt::spawn(locks.send(ask()));
        let show = async || beside(&["show", "gpus", "--json"]).await.json().remove(0);
        until("somebody waits", async || show().await["waiting"] == 1).await;
        beside(&["capacity", "gpus", "3"]).await.shows(0, &["gpus: the capacity is set to 3"]);
        let third = waiting.await.unwrap().unwrap().unwrap();
        assert_eq!(third.slot(), Some(2));
        assert_eq!((&show().await["capacity"], &show().await["total"]), (&json!(3), &json!(3)));
        beside(&["show", "gpus"]).await.shows(0, &["gpus: 3 holders, 0 waiting, capacity 3"]);
        beside(&["capacity", "gpus"]).await.shows(0, &["the capacity is set to 3"]);
        let told = beside(&["capacity", "gpus", "--json"]).await.json();
        assert_eq!(told, [json!({ "kind": "capacity", "resource": "gpus", "capacity": 3 })]);
        let cleared = beside(&["capacity", "gpus", "--clear", "--json"]).await;
        assert_eq!((cleared.code, &cleared.json()[0]["capacity"]), (Some(0), &Value::Null));
        assert_eq!(show().await["capacity"], Value::Null);
    });
}

#[test]
fn a_resource_that_is_free_keeps_the_capacity_that_is_set() {
    let server = RedisServer::start();
    run(&server.url(), &["capacity", "gpus", "6"]).shows(0, &[]);
    run(&server.url(), &["show", "gpus"]).shows(1, &["gpus is free, capacity 6"]);
    let ls = run(&server.url(), &["ls"]);
    assert_eq!(ls.out, "", "it is not held");
}

#[test]
fn what_cannot_be_set_is_refused_and_nothing_changes() {
    let server = RedisServer::start();
    for (arguments, part) in [
        (&["capacity", "gpus", "0"][..], "'0'"),
        (&["capacity", "gpus", "many"], "'many'"),
        (&["capacity", "gpus", "3", "--clear"], "--clear"),
    ] {
        let refused = run(&server.url(), arguments);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(part), "{refused:?}");
    }
    let mut plain = command(&["capacity", "gpus", "3"]);
    plain.env("LEASEHOLD_STORE_URL", server.url()).env("LEASEHOLD_STORE_LAYOUT", "plain");
    Ran::of(plain.output().unwrap()).tells(2, &["this store has no permits", "layout"]);
    assert!(server.keys().is_empty(), "{:?}", server.keys());
}
