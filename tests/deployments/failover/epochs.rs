//! Sentinels that know less than others: whom a store believes.

use futures_util::StreamExt;
use leasehold::store::Inbox;
use leasehold::store::Notification;
use leasehold::{Token, store::Store};

use crate::deployments::failover::{
    fake_sentinel::{FakeSentinel, url_of},
    *,
};
use leasehold_testing::servers::{RedisServer, Sentinels};

/// A master that was replaced and goes on answering, the one that replaced it, and three sentinels: one that knows of it.
struct Replaced {
    old: RedisServer,
    new: RedisServer,
    knows: FakeSentinel,
    others: [FakeSentinel; 2],
    url: String,
}

const BEFORE: u64 = 4;
const AFTER: u64 = 5;

impl Replaced {
    async fn start() -> Self {
        let (old, new) = (RedisServer::start(), RedisServer::start());
        let knows = FakeSentinel::new(new.port(), AFTER);
        let others = [(); 2].map(|()| FakeSentinel::new(old.port(), BEFORE));
        let mut addresses = vec![knows.listen().await];
        for other in &others {
            addresses.push(other.listen().await);
        }
        Self { url: url_of(&addresses), old, new, knows, others }
    }
}

/// Closes every connection to a server, those that wait for notifications too.
fn cut(server: &RedisServer) {
    for kind in ["normal", "pubsub"] {
        server.command(&["CLIENT", "KILL", "TYPE", kind]);
    }
}

#[tokio::test]
async fn a_store_does_not_go_back_to_the_master_of_an_older_epoch() {
    let servers = Replaced::start().await;
    for replicas_ack in [0, 1] {
        let store = with(&servers.url, RedisOptions { replicas_ack, ..patient() });
        let inbox = Inbox(Token::from_bits(7 + u128::from(replicas_ack)));
        let mut heard = store.listen(&inbox);
        assert!(matches!(heard.next().await, Some(Notification::Subscribed)));
        let first = asked(&format!("r{replicas_ack}"), Mode::Exclusive);
        // Without a replica there is nobody to confirm, which the new master says and the old one would say too.
        let _ = store.acquire(&first).await;
        servers.knows.silence(true);
        cut(&servers.new);
        let disconnected = heard.next().await;
        assert!(matches!(disconnected, Some(Notification::Disconnected(_))), "{disconnected:?}");
        let mut answer = store.acquire(&first).await;
        // The first one may have been lost with the connection.
        if !is_unavailable(&answer) {
            answer = store.acquire(&first).await;
        }
        assert!(is_unavailable(&answer), "{answer:?}");
        let error = answer.unwrap_err().to_string();
        assert!(error.contains("epoch 4") && error.contains("epoch 5"), "{error}");
        servers.knows.silence(false);
        assert!(matches!(heard.next().await, Some(Notification::Subscribed)));
        if replicas_ack == 0 {
            granted(&store, &asked("again", Mode::Exclusive)).await;
        }
    }
    assert_eq!(Sentinels::scripts_called(&servers.old), 0, "the old master was spoken to");
}

#[tokio::test]
async fn a_store_that_knows_no_master_yet_believes_no_minority() {
    let servers = Replaced::start().await;
    servers.others.iter().for_each(|other| other.silence(true));
    let store = with(&servers.url, patient());
    let error = store.acquire(&asked("r", Mode::Exclusive)).await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("1 of 3 sentinels"), "{error}");
    servers.others[0].silence(false);
    granted(&store, &asked("r", Mode::Exclusive)).await;
    // What it knows now, one is enough for.
    servers.others[0].silence(true);
    cut(&servers.new);
    granted(&store, &asked("s", Mode::Exclusive)).await;
    assert_eq!(Sentinels::scripts_called(&servers.old), 0, "the old master was spoken to");
}

#[tokio::test]
async fn sentinels_that_were_set_up_anew_are_believed_when_all_of_them_agree() {
    let servers = Replaced::start().await;
    let store = with(&servers.url, patient());
    granted(&store, &asked("before", Mode::Exclusive)).await;
    servers.others.iter().for_each(|other| other.say(servers.old.port(), 0));
    cut(&servers.new);
    // One of them still knows better.
    granted(&store, &asked("between", Mode::Exclusive)).await;
    servers.knows.say(servers.old.port(), 0);
    cut(&servers.new);
    granted(&store, &asked("after", Mode::Exclusive)).await;
    assert!(Sentinels::scripts_called(&servers.old) > 0);
}
