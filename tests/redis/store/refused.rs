//! What the server refuses, and as which error it is told.

use std::io::Write;

use futures_util::StreamExt;
use leasehold::store::{Notification, QueueTicket, Store, Walk};

use crate::redis::store::*;
use leasehold_testing::waiting::PATIENCE;

#[tokio::test]
async fn a_replica_is_unavailable_until_it_is_promoted() {
    let server = RedisServer::start();
    let store = store(&server);
    let asked = exclusive(&hold("r", 1));
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let error = store.acquire(&asked).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    server.command(&["REPLICAOF", "NO", "ONE"]);
    granted(&store, &asked).await;
}

#[tokio::test]
async fn too_few_replicas_are_unavailable() {
    let server = RedisServer::with_args(&["--min-replicas-to-write", "1"]);
    let error = store(&server).acquire(&exclusive(&hold("r", 1))).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_full_server_refuses_new_holders_and_serves_those_it_has() {
    let server = RedisServer::start();
    let store = store(&server);
    for asked in one_of_each() {
        granted(&store, &asked).await;
    }
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    for asked in [exclusive(&hold("new", 7)), permits(&hold("new", 8)), permits(&hold("permits", 9))] {
        let error = store.acquire(&asked).await.unwrap_err();
        assert!(matches!(error, StoreError::OutOfMemory { .. }), "{asked:?}: {error}");
    }
    for (asked, cooldown) in one_of_each().into_iter().zip([Duration::ZERO, TTL].into_iter().cycle()) {
        let hold = asked.hold;
        assert_eq!(store.renew(&hold, TTL).await.unwrap(), Renewed::Extended, "{hold:?}");
        assert!(
            !matches!(store.release(&hold, cooldown).await.unwrap(), Released::NotHeld { .. }),
            "{hold:?}"
        );
    }
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_all_end(&server);
}

#[tokio::test]
async fn who_may_not_is_denied_and_no_password_is_told() {
    let server = RedisServer::with_args(&["--requirepass", "s3cret"]);
    let asked = exclusive(&hold("r", 1));
    for url in [server.url(), server.url_for("default", "wr0ng"), server.url_for("nobody", "wr0ng")] {
        let store = patient::open(&url);
        let error = store.acquire(&asked).await.unwrap_err();
        assert!(matches!(error, StoreError::Denied { .. }), "{error}");
        let told = format!("{error} {error:?} {store:?}");
        assert!(!told.contains("wr0ng") && !told.contains("s3cret"), "{told}");
    }
    granted(&patient::open(&server.url_for("default", "s3cret")), &asked).await;
}

#[tokio::test]
async fn a_user_without_the_rights_is_denied() {
    let server = RedisServer::start();
    let rights = [
        ("no-calls", "+script|load"),
        ("no-scripts-at-all", "+get"),
        ("no-writes-in-scripts", "+evalsha +script|load +get +time"),
    ];
    for (user, commands) in rights {
        let mut words = vec!["ACL", "SETUSER", user, "on", ">s3cret", "~*", "-@all"];
        words.extend(commands.split(' '));
        server.command(&words);
        let store = patient::open(&server.url_for(user, "s3cret"));
        let error = store.acquire(&exclusive(&hold("r", 1))).await.unwrap_err();
        assert!(matches!(error, StoreError::Denied { .. }), "{user}: {error}");
        assert!(!format!("{error} {error:?}").contains("s3cret"));
    }
}

#[tokio::test]
async fn a_user_with_just_the_rights_it_needs_is_served() {
    let server = RedisServer::start();
    let commands = "+evalsha +script|load +incrby +scan +get +getrange +mget +set +setrange +del +unlink +exists +time +pttl \
                    +pexpire +pexpireat +hset +hget +hdel +hlen +hincrby +zadd +zrem +zcard +zcount +zscore +zrank +zrange +zrevrange \
                    +zrangebyscore +publish +subscribe +ping";
    let mut words =
        vec!["ACL", "SETUSER", "locker", "on", ">s3cret", "~leasehold:*", "&leasehold:inbox:*", "-@all"];
    words.extend(commands.split_whitespace());
    server.command(&words);
    let store = patient::open(&server.url_for("locker", "s3cret"));
    for asked in one_of_each() {
        granted(&store, &asked).await;
        store.renew(&asked.hold, TTL).await.unwrap();
        store.inspect(&asked.hold.resource, 10).await.unwrap();
    }
    assert_eq!(store.list(&Walk::new(b"", 10)).await.unwrap().resources.len(), 5);
    let mut notifications = store.listen(&INBOX);
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    let resources = ["plain", "delayed", "shared", "permits", "twice"];
    let waiter = |name| {
        let ticket = QueueTicket { inbox: INBOX, ttl: TTL, grant_window: TTL, max_waiters: 10, place: None };
        Acquisition { ticket: Some(ticket), ..exclusive(&hold(name, 7)) }
    };
    for asked in resources.map(waiter) {
        assert!(matches!(store.acquire(&asked).await.unwrap(), Acquired::Queued { .. }));
    }
    for asked in one_of_each() {
        let _ = store.release(&asked.hold, Duration::ZERO).await.unwrap();
    }
    for asked in resources.map(waiter) {
        assert!(matches!(notifications.next().await, Some(Notification::HandedOver(_))));
        granted(&store, &asked).await;
        let _ = store.release(&asked.hold, Duration::ZERO).await.unwrap();
    }
    assert_eq!(store.list(&Walk::new(b"", 10)).await.unwrap().resources, []);
    // What a script is refused and can do without shows only here.
    assert_eq!(server.command(&["ACL", "LOG"]), Value::Array(Vec::new()));
}

#[tokio::test]
async fn a_server_without_room_for_another_client_is_unavailable() {
    let server = RedisServer::start();
    let kept = redis::Client::open(server.url()).unwrap();
    let mut kept = kept.get_connection().unwrap();
    redis::cmd("CONFIG").arg("SET").arg("maxclients").arg(1).exec(&mut kept).unwrap();
    for url in [server.url(), server.url_for("default", "s3cret")] {
        let error = in_its_words(&url, "max number of clients reached").await;
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    }
}

/// Returns the error of an acquisition, once it has these words of the server: they are read for a tenth of a second.
async fn in_its_words(url: &str, words: &str) -> StoreError {
    let started = Instant::now();
    loop {
        let error = patient::open(url).acquire(&exclusive(&hold("r", 1))).await.unwrap_err();
        if error.to_string().contains(words) {
            return error;
        }
        assert!(started.elapsed() < PATIENCE, "{error}");
    }
}

/// The address of this machine that is not a loopback one; `None` if it has no network.
fn outer_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent.
    socket.connect("198.51.100.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_loopback())
}

#[tokio::test]
async fn a_server_in_protected_mode_is_denied_in_its_own_words() {
    let server = RedisServer::with_args(&["--bind", "0.0.0.0", "--protected-mode", "yes"]);
    let Some(ip) = outer_address() else { return };
    for user in ["", "default:s3cret@"] {
        let url = format!("redis://{user}{ip}:{}", server.port());
        let error = in_its_words(&url, "protected mode").await;
        assert!(matches!(error, StoreError::Denied { .. }), "{error}");
        assert!(error.to_string().len() < 300, "{error}");
    }
}

/// Accepts connections, says this on each, and closes it.
fn saying(words: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // Who has gone already hears nothing.
            let _ = stream.unwrap().write_all(words.as_bytes());
        }
    });
    address.to_string()
}

#[tokio::test]
async fn what_a_server_says_before_it_is_asked_is_read() {
    let denied = saying("-DENIED Redis is running in protected mode. If you want to connect, 1) do this\r\n");
    let full = saying("-ERR max number of clients reached\r\n");
    let silent = saying("");
    for user in ["", "default:s3cret@"] {
        let told = async |address: &str, words: &str| {
            let error = in_its_words(&format!("redis://{user}{address}"), words).await;
            assert!(error.certainty() == Certainty::NotExecuted, "{error}");
            (error.kind(), error.to_string())
        };
        let (kind, text) = told(&denied, "DENIED").await;
        assert!(kind == "denied" && text.ends_with("running in protected mode."), "{kind}: {text}");
        let (kind, text) = told(&full, "max number").await;
        assert!(kind == "unavailable" && text.ends_with("max number of clients reached"), "{kind}: {text}");
        assert_eq!(told(&silent, "").await.0, "unavailable");
        let notifications = patient::open(&format!("redis://{user}{denied}")).listen(&INBOX);
        let is_denied =
            async |told| matches!(told, Notification::Disconnected(error) if error.kind() == "denied");
        assert!(tokio::time::timeout(PATIENCE, notifications.any(is_denied)).await.unwrap());
    }
}

#[tokio::test]
async fn a_busy_server_is_unavailable_until_its_script_is_killed() {
    let server = RedisServer::start();
    server.command(&["CONFIG", "SET", "busy-reply-threshold", "1"]);
    let store = store(&server);
    granted(&store, &exclusive(&hold("warm", 1))).await;
    let client = redis::Client::open(server.url()).unwrap();
    let endless = std::thread::spawn(move || {
        redis::cmd("EVAL").arg("while true do end").arg(0).query::<()>(&mut client.get_connection().unwrap())
    });
    let mut token = 1;
    let (asked, error) = loop {
        token += 1;
        let asked = exclusive(&hold(&format!("r{token}"), token));
        match store.acquire(&asked).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => break (asked, error),
        }
    };
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    server.command(&["SCRIPT", "KILL"]);
    endless.join().unwrap().unwrap_err();
    granted(&store, &asked).await;
}

#[tokio::test]
async fn what_is_not_ours_is_corrupt_and_stays_as_it_is() {
    let server = RedisServer::start();
    let store = store(&server);
    let foreign: [&[&str]; 6] = [
        &["SET", "leasehold:{r}", "hello"],
        &["SET", "leasehold:{r}", "*hello"],
        &["SET", "leasehold:{r}", "0123456789abcdef0123456789abcdef", "PX", "60000"],
        &["RPUSH", "leasehold:{r}", "hello"],
        &["SADD", "leasehold:{r}:h", "hello"],
        &["RPUSH", "leasehold:fence", "hello"],
    ];
    for words in foreign {
        server.command(&["FLUSHALL"]);
        server.command(words);
        let dump = || server.command(&["DUMP", words[1]]);
        let before = dump();
        let error = store.acquire(&permits(&hold("r", 1))).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{words:?}: {error}");
        if words[1] == "leasehold:{r}" {
            let resource = hold("r", 1).resource;
            assert_eq!(store.force_release(&resource).await.unwrap_err().kind(), "corrupt", "{words:?}");
            assert_eq!(store.inspect(&resource, 1).await.unwrap_err().kind(), "corrupt", "{words:?}");
            assert_eq!(
                store.release(&hold("r", 1), Duration::ZERO).await.unwrap_err().kind(),
                "corrupt",
                "{words:?}"
            );
        }
        assert_eq!(dump(), before, "{words:?}");
    }
}
