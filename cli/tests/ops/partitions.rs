//! `partitions`: fleets, their members and owners, and a member that is drained.

use std::collections::BTreeMap;

use actix::Actor;
use leasehold::{
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
fn a_fleet_that_is_not_there_is_told() {
    let server = RedisServer::start();
    run(&server.url(), &["partitions", "show", "ordres"])
        .tells(1, &["nobody is a member of ordres", "partitions ls"]);
    assert_eq!(run(&server.url(), &["partitions", "ls"]).err, "0 fleets; looked at up to 1000 keys\n");
    assert_eq!(server.keys(), []);
}
