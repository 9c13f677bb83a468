//! A quorum of textbook locks: what Redlock libraries write, and read.

use std::time::Duration;

use futures_util::StreamExt;
use leasehold::{
    Layout, QuorumOptions, RedisOptions, Token,
    store::{Acquired, Acquisition, Inbox, Notification, Store},
};
use redis::Value;

use crate::quorum::{
    nodes::{exclusive, refused},
    restarts::{PATIENT, with_options},
};
use leasehold_testing::servers::RedisServer;
use support::patient::patient;

#[tokio::test]
async fn redlock_and_a_quorum_of_plain_nodes_exclude_each_other() {
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let plain = RedisOptions { layout: Layout::Plain, prefix: String::new(), ..patient() };
    let options = QuorumOptions { node_timeout: PATIENT, fresh_start: true, ..QuorumOptions::default() };
    let quorum = with_options(&servers, &plain, options);
    // As node-redlock and redsync take a lock.
    let take = |server: &RedisServer| server.command(&["SET", "r", "theirs", "NX", "PX", "60000"]);

    // A twentieth of it is the time in which the servers have to answer.
    let exclusive = || Acquisition { ttl: Duration::from_secs(200), ..exclusive() };
    let asked = exclusive();
    match quorum.acquire(&asked).await {
        Ok(Acquired::Granted(grant)) => assert_eq!(grant.fence, None),
        other => panic!("{other:?}"),
    }
    for server in &servers {
        // A majority has answered; the third may need a moment.
        while server.command(&["EXISTS", "r"]) == Value::Int(0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(server.command(&["GET", "r"]), Value::BulkString(asked.hold.token.to_hex().into()));
        assert_eq!(take(server), Value::Nil);
    }
    let _released = quorum.release(&asked.hold, Duration::ZERO).await.unwrap();
    for server in &servers[..2] {
        while take(server) == Value::Nil {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let kept_out = exclusive();
    refused(&quorum, &kept_out).await;
    servers[0].command(&["DEL", "r"]);
    while servers[2].command(&["EXISTS", "r"]) == Value::Int(1) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    match quorum.acquire(&exclusive()).await {
        Ok(Acquired::Granted(_)) => {}
        other => panic!("{other:?}"),
    }
    // What they hold on one server is theirs still.
    assert_eq!(servers[1].command(&["GET", "r"]), Value::BulkString("theirs".into()));
}

#[tokio::test]
async fn nobody_listens_to_nodes_without_queues() {
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let plain = RedisOptions { layout: Layout::Plain, ..RedisOptions::default() };
    let quorum = with_options(&servers, &plain, QuorumOptions::default());
    let heard: Vec<Notification> = quorum.listen(&Inbox(Token::from_bits(1))).collect().await;
    assert!(heard.is_empty());
}
