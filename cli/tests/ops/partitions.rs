//! `partitions`: fleets, their members and owners, and a member that is drained.

use std::{collections::BTreeMap, time::Duration};

use actix::Actor;
use leasehold::{
    ReadLock,
    election::SingletonContext,
    partitions::{Member, Partitions},
};
use leasehold_testing::servers::RedisServer;
use serde_json::{Value, json};

use crate::support::{run, run_beside, until, with_locks};

struct Owner;

impl Actor for Owner {
    type Context = SingletonContext<Self>;
}

#[test]
fn a_fleet_is_shown_with_its_owners_and_a_member_is_drained() {
    let server = RedisServer::start();
    let url = server.url();
    with_locks(&url, async |locks| {
        let members = [Member::new("host-1").at("http://10.0.0.7"), Member::new("host-2")];
        let [first, second] =
            members.map(|member| Partitions::start(&locks, "orders", 8, member, |_| Owner).unwrap());
        until("both have a half", async || first.owned().len() == 4 && second.owned().len() == 4).await;
        let lines = run_beside(&url, &["partitions", "ls", "--json"]).await.of_kind("fleet");
        let expected =
            json!({"kind": "fleet", "fleet": "orders", "partitions": 8, "members": 2, "unowned": 0});
        assert_eq!(lines, [expected]);
        let table = run_beside(&url, &["partitions", "ls"]).await;
        table.shows(0, &["FLEET", "orders"]);
        assert!(table.err.starts_with("1 fleet; looked at up to "), "{table:?}");
        let shown = run_beside(&url, &["partitions", "show", "orders", "--json"]).await;
        let owners: BTreeMap<u64, Value> = shown
            .of_kind("partition")
            .into_iter()
            .map(|line| (line["partition"].as_u64().unwrap(), line["owner"].clone()))
            .collect();
        assert!(owners.iter().all(|(number, owner)| {
            let is_first = first.owned().contains(&(*number as u32));
            *owner == if is_first { "host-1" } else { "host-2" }
        }));
        let told = shown.of_kind("member");
        assert_eq!((&told[0]["endpoint"], &told[0]["partitions"]), (&json!("http://10.0.0.7"), &json!(4)));
        assert_eq!((&told[1]["endpoint"], told.len()), (&Value::Null, 2));
        run_beside(&url, &["partitions", "show", "orders"])
            .await
            .shows(0, &["MEMBER", "http://10.0.0.7", "OWNER"]);
        let drained = run_beside(&url, &["partitions", "drain", "orders", "host-1"]).await;
        drained.shows(0, &["host-1 has given up all partitions of orders"]);
        assert!(first.owned().is_empty());
        until("the other has all", async || second.owned().len() == 8).await;
        let unknown = run_beside(&url, &["partitions", "drain", "orders", "host-1"]).await;
        unknown.shows(1, &["orders has no member host-1"]);
    });
}

#[test]
fn a_value_that_is_no_lock_hides_neither_other_fleets_nor_other_partitions() {
    let server = RedisServer::start();
    let url = server.url();
    with_locks(&url, async |locks| {
        let orders = Partitions::start(&locks, "orders", 2, "host-1", |_| Owner).unwrap();
        until("it has both", async || orders.owned().len() == 2).await;
        server.command(&["RPUSH", "leasehold:{x/members}", "foreign"]);
        server.command(&["RPUSH", "foreign", "foreign"]);
        server.command(&["RENAME", "foreign", "leasehold:{orders/0}"]);
        let listed = run_beside(&url, &["partitions", "ls", "--json"]).await;
        let fleet = json!({"kind": "fleet", "fleet": "orders", "partitions": 2, "members": 1, "unowned": 1});
        assert_eq!(listed.of_kind("fleet"), [fleet]);
        assert_eq!(listed.of_kind("unreadable")[0]["resource"], "x/members");
        let shown = run_beside(&url, &["partitions", "show", "orders", "--json"]).await;
        let owners = shown.of_kind("partition");
        assert_eq!((&owners[0]["owner"], &owners[1]["owner"]), (&Value::Null, &json!("host-1")));
    });
}

#[test]
fn a_member_that_takes_part_again_while_it_is_drained_is_not_told_as_drained() {
    let server = RedisServer::start();
    let url = server.url();
    with_locks(&url, async |locks| {
        let orders = Partitions::start(&locks, "orders", 2, "host-1", |_| Owner).unwrap();
        until("it has both", async || orders.owned().len() == 2).await;
        // A member that comes for nothing: what is to be drained is kept for a TTL.
        let ghost = ReadLock::new("orders/members").metadata("member", "ghost").metadata("partitions", "2");
        let _ghost = locks.send(ghost).await.unwrap().unwrap();
        until("it is seen", async || orders.members().len() == 2).await;
        let again = actix_rt::spawn(async move {
            loop {
                orders.join();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        let drained = run_beside(&url, &["partitions", "drain", "orders", "host-1"]).await;
        drained.shows(3, &["host-1 may own partitions of orders"]);
        again.abort();
    });
}

#[test]
fn a_fleet_that_is_not_there_is_told() {
    let server = RedisServer::start();
    run(&server.url(), &["partitions", "show", "ordres"])
        .tells(1, &["nobody is a member of ordres", "partitions ls"]);
    assert_eq!(run(&server.url(), &["partitions", "ls"]).err, "0 fleets; looked at up to 1000 keys\n");
    assert_eq!(server.keys(), []);
}
