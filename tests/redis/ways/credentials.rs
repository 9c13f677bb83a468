//! Credentials that change while a store is open, step by step; `deployments/rotation.rs` changes them under load.

use std::{
    fs,
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use leasehold::{
    Credentials, CredentialsProvider, RedisOptions, RedisStore, StoreError, Token,
    store::{Inbox, Notification, Renewed, Store},
};
use leasehold_testing::{servers::RedisServer, waiting::eventually};
use redis::{Client, Value};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    time::timeout,
};
use tracing::Level;

use crate::redis::ways::{TTL, exclusive};
use support::{log::Log, patient::patient};

const PASSWORD: &str = "s3cret";

fn know(server: &RedisServer, user: &str) {
    let rule = ["ACL", "SETUSER", user, "on", &format!(">{PASSWORD}"), "~*", "&*", "+@all"];
    server.command(&rule);
}

/// A provider of users, of whom each has the same password, that counts how often it is asked.
#[derive(Clone, Default)]
struct Users {
    now: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
}

impl Users {
    /// Returns the provider. Who is not the last is valid for this time.
    fn provider(&self, names: &'static [&'static str], valid_for: Option<Duration>) -> CredentialsProvider {
        let this = self.clone();
        CredentialsProvider::new(move || {
            this.asked.fetch_add(1, Ordering::Relaxed);
            let now = this.now.load(Ordering::Relaxed);
            let credentials = Credentials::new(PASSWORD).user(names[now]);
            let ends = valid_for.filter(|_| now + 1 < names.len());
            let credentials = ends.into_iter().fold(credentials, Credentials::valid_for);
            async move { Ok::<_, String>(credentials) }
        })
    }

    fn next(&self) {
        self.now.fetch_add(1, Ordering::Relaxed);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn on(url: &str, provider: CredentialsProvider) -> RedisStore {
    let options = RedisOptions { credentials: Some(provider), ..patient() };
    RedisStore::with_options(url, options).unwrap()
}

/// The connections of a user, each as its number.
fn connections(server: &RedisServer, user: &str) -> Vec<String> {
    let list: String = redis::from_redis_value(server.command(&["CLIENT", "LIST"])).unwrap();
    let user = format!("user={user} ");
    let of_user = list.lines().filter(|line| format!("{line} ").contains(&user));
    of_user.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// Stands between a store and its server, and can log out all connections, as clouds do when a token is over.
struct Relay {
    url: String,
    log_out: watch::Sender<()>,
}

impl Relay {
    async fn start(server: &RedisServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let (log_out, logged_out) = watch::channel(());
        let port = server.port();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                tokio::spawn(relay(client, server, logged_out.clone()));
            }
        });
        Self { url, log_out }
    }
}

/// Relays what comes. Nothing is on its way when the connection is logged out.
async fn relay(mut client: TcpStream, mut server: TcpStream, mut logged_out: watch::Receiver<()>) {
    let (mut asked, mut answered, mut reset) = ([0; 4_096], [0; 4_096], [0; 8]);
    logged_out.mark_unchanged();
    loop {
        let relayed = tokio::select! {
            read = client.read(&mut asked) => match read.unwrap_or(0) {
                0 => return,
                length => server.write_all(&asked[..length]).await,
            },
            read = server.read(&mut answered) => match read.unwrap_or(0) {
                0 => return,
                length => client.write_all(&answered[..length]).await,
            },
            _ = logged_out.changed() => {
                server.write_all(b"RESET\r\n").await.unwrap();
                server.read_exact(&mut reset).await.unwrap();
                assert_eq!(&reset, b"+RESET\r\n");
                Ok(())
            }
        };
        if relayed.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_request_on_a_connection_that_was_logged_out_is_sent_again() {
    let server = RedisServer::start();
    know(&server, "locker");
    let relay = Relay::start(&server).await;
    let store = on(&relay.url, Users::default().provider(&["locker"], None));
    let kept = exclusive("kept", 1);
    store.acquire(&kept).await.unwrap();
    store.renew(&kept.hold, TTL).await.unwrap();
    server.command(&["ACL", "SETUSER", "default", "resetpass"]);
    for turn in 2..5 {
        relay.log_out.send_replace(());
        // The first of these goes by plain commands.
        let asked = exclusive(format!("r/{turn}"), turn);
        store.acquire(&asked).await.unwrap();
        assert_eq!(store.renew(&kept.hold, TTL).await.unwrap(), Renewed::Extended);
        let _ = store.release(&asked.hold, Duration::ZERO).await.unwrap();
    }
}

#[tokio::test]
async fn a_user_whose_rights_are_taken_away_is_followed_by_the_next_one() {
    let server = RedisServer::start();
    let users = Users::default();
    let store = on(&server.url(), users.provider(&["first", "second"], None));
    ["first", "second"].iter().for_each(|user| know(&server, user));
    for token in [1, 2] {
        store.acquire(&exclusive(format!("r/{token}"), token)).await.unwrap();
    }
    users.next();
    server.command(&["ACL", "SETUSER", "first", "-@all"]);
    for token in [3, 4] {
        store.acquire(&exclusive(format!("r/{token}"), token)).await.unwrap();
    }
    assert_eq!(connections(&server, "second").len(), 1);
}

#[tokio::test]
async fn a_user_whose_rights_are_taken_away_is_followed_where_a_connection_opens_long_before_it_ends() {
    let server = RedisServer::start();
    let users = Users::default();
    let store = on(&server.url(), users.provider(&["first", "second"], Some(Duration::from_secs(3_600))));
    ["first", "second"].iter().for_each(|user| know(&server, user));
    store.acquire(&exclusive("r/1", 1)).await.unwrap();
    users.next();
    server.command(&["ACL", "SETUSER", "first", "-@all"]);
    server.command(&["CLIENT", "KILL", "USER", "first"]);
    // The first call may be sent on the connection that is gone.
    eventually("the next one is asked for", async || store.acquire(&exclusive("r/2", 2)).await.is_ok()).await;
    assert_eq!((users.asked(), connections(&server, "second").len()), (2, 1));
}

#[tokio::test]
async fn a_right_that_is_missing_is_denied_after_one_question() {
    let server = RedisServer::start();
    let users = Users::default();
    know(&server, "locker");
    server.command(&["ACL", "SETUSER", "locker", "-evalsha"]);
    let store = on(&server.url(), users.provider(&["locker"], None));
    for asked in [2, 3] {
        let error = store.acquire(&exclusive("r", 1)).await.unwrap_err();
        assert!(matches!(error, StoreError::Denied { .. }), "{error}");
        assert_eq!(users.asked(), asked);
    }
}

#[tokio::test]
async fn a_password_that_was_never_right_is_denied() {
    let server = RedisServer::start();
    let store = on(&server.url(), Users::default().provider(&["nobody"], None));
    let error = store.acquire(&exclusive("r", 1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
}

#[tokio::test]
async fn a_login_that_the_server_does_not_know_yet_leaves_the_one_before_in_use() {
    let server = RedisServer::start();
    know(&server, "first");
    let users = Users::default();
    let provider = users.provider(&["first", "second"], None);
    let store = on(&server.url(), provider.clone());
    store.acquire(&exclusive("r/1", 1)).await.unwrap();
    users.next();
    provider.refresh();
    eventually("the question", async || users.asked() == 2).await;
    server.command(&["CLIENT", "KILL", "USER", "first"]);
    store.acquire(&exclusive("r/2", 2)).await.unwrap();
    let open = connections(&server, "first");
    know(&server, "second");
    eventually("the login of the next one", async || connections(&server, "second") == open).await;
    assert_eq!(open.len(), 1);
}

#[tokio::test]
async fn a_server_that_has_no_command_for_another_login_is_told_without_the_password() {
    let server = RedisServer::with_args(&["--rename-command", "AUTH", ""]);
    know(&server, "first");
    let (log, _logging) = Log::begin(Level::WARN);
    let users = Users::default();
    let provider = users.provider(&["first", "second"], None);
    let store = on(&format!("{}?protocol=resp3", server.url()), provider.clone());
    store.acquire(&exclusive("r/1", 1)).await.unwrap();
    users.next();
    provider.refresh();
    eventually("it is told", async || !log.lines_with("new credentials are refused").is_empty()).await;
    assert!(log.text().contains("AUTH") && !log.text().contains(PASSWORD), "{}", log.text());
}

#[tokio::test]
async fn credentials_that_end_are_replaced_on_the_open_connection() {
    let server = RedisServer::start();
    ["first", "second"].iter().for_each(|user| know(&server, user));
    let users = Users::default();
    let valid_for = Some(Duration::from_secs(5));
    let store = on(&server.url(), users.provider(&["first", "second"], valid_for));
    store.acquire(&exclusive("r", 1)).await.unwrap();
    let open = connections(&server, "first");
    users.next();
    eventually("the login of the next one", async || connections(&server, "second") == open).await;
    assert_eq!((open.len(), users.asked()), (1, 2));
}

#[tokio::test]
async fn a_subscription_is_opened_again_beside_the_old_one() {
    let server = RedisServer::start();
    ["first", "second"].iter().for_each(|user| know(&server, user));
    let users = Users::default();
    let provider = users.provider(&["first", "second"], None);
    let store = on(&server.url(), provider.clone());
    let inbox = Inbox(Token::from_bits(1));
    let mut notifications = store.listen(&inbox);
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    users.next();
    provider.refresh();
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    eventually("the end of the old one", async || connections(&server, "first").is_empty()).await;
    assert_eq!(connections(&server, "second").len(), 1);
    let (channel, token) = (format!("leasehold:inbox:{}", inbox.0.to_hex()), Token::from_bits(7));
    assert_eq!(server.command(&["PUBLISH", &channel, &token.to_hex()]), Value::Int(1));
    assert!(matches!(notifications.next().await, Some(Notification::HandedOver(told)) if told == token));
}

#[tokio::test]
async fn a_file_that_disappears_is_told_once_and_the_last_password_stays() {
    let (log, _guard) = Log::begin(Level::TRACE);
    let server = RedisServer::start();
    know(&server, "locker");
    let folder = tempfile::tempdir().unwrap();
    let [path, user] = ["password", "user"].map(|name| folder.path().join(name));
    fs::write(&path, PASSWORD).unwrap();
    fs::write(&user, "locker\n").unwrap();
    let store = on(&server.url(), CredentialsProvider::from_files(&path, Some(user)));
    store.acquire(&exclusive("r/1", 1)).await.unwrap();
    fs::remove_file(&path).unwrap();
    eventually("the warning", async || log.text().contains("no credentials for the store")).await;
    for token in [2, 3] {
        server.command(&["CLIENT", "KILL", "USER", "locker"]);
        store.acquire(&exclusive(format!("r/{token}"), token)).await.unwrap();
    }
    let told = log.lines_with("no credentials for the store");
    assert!(told.len() == 1 && told[0].contains("store.password_file"), "{told:?}");
    fs::write(&path, PASSWORD).unwrap();
    eventually("the end of the failure", async || log.text().contains("are provided again")).await;
    assert!(!log.text().contains(PASSWORD), "{}", log.text());
}

#[tokio::test]
async fn the_failure_of_a_provider_is_told_and_nothing_was_executed() {
    let server = RedisServer::start();
    let provider = CredentialsProvider::new(|| async { Err("the cloud is away") });
    let error = on(&server.url(), provider).acquire(&exclusive("r", 1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("the cloud is away"), "{error}");
}

#[tokio::test]
async fn an_answer_that_takes_longer_than_the_time_to_connect_serves_the_next_call() {
    let server = RedisServer::start();
    know(&server, "locker");
    let (users, answers) = (Users::default(), Arc::new(Notify::new()));
    let (asked, answering) = (users.clone(), Arc::clone(&answers));
    let provider = CredentialsProvider::new(move || {
        asked.asked.fetch_add(1, Ordering::Relaxed);
        let answering = Arc::clone(&answering);
        async move {
            answering.notified().await;
            Ok::<_, String>(Credentials::new(PASSWORD).user("locker").valid_for(TTL))
        }
    });
    let connect_timeout = Duration::from_millis(50);
    let options = RedisOptions { credentials: Some(provider.clone()), connect_timeout, ..patient() };
    let hurried = RedisStore::with_options(&server.url(), options).unwrap();
    let error = hurried.acquire(&exclusive("r", 1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    answers.notify_one();
    on(&server.url(), provider).acquire(&exclusive("r", 1)).await.unwrap();
    assert_eq!(users.asked(), 1);
}

#[tokio::test]
async fn a_call_that_is_refused_does_not_wait_for_a_provider_that_hangs() {
    let server = RedisServer::start();
    know(&server, "locker");
    let asked = AtomicUsize::new(0);
    let provider = CredentialsProvider::new(move || {
        let hangs = asked.fetch_add(1, Ordering::Relaxed) > 0;
        async move {
            if hangs {
                pending::<()>().await;
            }
            Ok::<_, String>(Credentials::new(PASSWORD).user("locker").valid_for(Duration::MAX))
        }
    });
    let options =
        RedisOptions { credentials: Some(provider), response_timeout: Duration::from_secs(2), ..patient() };
    let store = RedisStore::with_options(&server.url(), options).unwrap();
    eventually("an answer", async || store.acquire(&exclusive("r/1", 1)).await.is_ok()).await;
    server.command(&["ACL", "SETUSER", "locker", "-@all"]);
    let refused = timeout(Duration::from_secs(20), store.acquire(&exclusive("r/2", 2))).await;
    let error = refused.expect("not after the 30 s of the provider").unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
}

#[test]
fn what_cannot_be_meant_is_refused_without_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    let refused = |url: &str| {
        let provider = CredentialsProvider::from_files(&path, None);
        let options = RedisOptions { credentials: Some(provider), ..patient() };
        let refused = RedisStore::with_options(url, options).map(drop).unwrap_err();
        assert_eq!(refused.field, "store.password_file");
        assert!(!format!("{refused:?}").contains(PASSWORD), "{refused}");
        refused.value
    };
    assert!(refused("redis://h").contains("password: "), "the path");
    for (text, fault) in
        [("", "it is empty"), ("\r\n", "it is empty"), ("s3cret\nmore", "more than one line")]
    {
        fs::write(&path, text).unwrap();
        assert!(refused("redis://h").contains(fault), "{text:?}");
    }
    fs::write(&path, PASSWORD).unwrap();
    for url in ["redis://:s3cret@h", "redis+cluster://u:s3cret@h", "redis+sentinel://:s3cret@h/s"] {
        assert!(refused(url).contains("given, beside a user or password"), "{url}");
    }
    let clients = |urls: &[&str]| urls.iter().map(|url| Client::open(*url).unwrap()).collect::<Vec<_>>();
    let [none, socket] = [clients(&[]), clients(&["unix:///run/r.sock"])];
    for nodes in [&none, &socket] {
        assert_eq!(RedisStore::with_cluster_clients(nodes, patient()).map(drop).unwrap_err().field, "nodes");
    }
    let error = RedisStore::with_sentinel_clients(&none, "s", &socket[0], patient()).map(drop).unwrap_err();
    assert_eq!(error.field, "sentinels");
}
