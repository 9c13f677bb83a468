//! A grant or a renewal counts only when replicas have it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use leasehold::{
    Acquire, Certainty, Durability, Layout, LeaseStatus, LockManager, LossReason, RedisOptions, RedisStore,
    ResourceName, StoreError, Token,
    store::{Acquired, Acquisition, RegisterVerdict, RegisterWrite, Released, Renewed, Store},
};
use redis::Value;

use crate::redis::ways::{TTL, exclusive};
use leasehold_testing::{
    servers::{RedisServer, Replicated},
    waiting::eventually,
};
use support::{
    acl,
    patient::{self, patient},
};

fn on(url: &str, replicas_ack: u32, layout: Layout) -> RedisStore {
    // On a busy machine half of that is little enough for a replica that is there.
    let response_timeout = Duration::from_secs(6);
    let options = RedisOptions { replicas_ack, layout, response_timeout, ..patient() };
    RedisStore::with_options(url, options).unwrap()
}

/// A store that does not wait for long, where no replica is there.
fn hurried(servers: &Replicated, replicas_ack: u32, layout: Layout) -> RedisStore {
    let response_timeout = Duration::from_secs(6);
    let options = RedisOptions { replicas_ack, layout, response_timeout, ..patient() };
    RedisStore::with_options(&servers.master.url(), options).unwrap()
}

fn store(servers: &Replicated, replicas_ack: u32) -> RedisStore {
    on(&servers.master.url(), replicas_ack, Layout::Full)
}

/// How many of the replicas have a key now.
fn known_to(servers: &Replicated, key: &str) -> usize {
    servers.replicas.iter().filter(|replica| replica.command(&["EXISTS", key]) == Value::Int(1)).count()
}

fn is_free(master: &RedisServer, asked: &Acquisition) -> bool {
    master.command(&["EXISTS", &format!("leasehold:{{{}}}", asked.hold.resource)]) == Value::Int(0)
}

#[track_caller]
fn assert_short(error: &StoreError, expected: (u32, u32, bool)) {
    let StoreError::Unacknowledged { wanted, reached, undone, .. } = *error else { panic!("{error}") };
    assert_eq!((wanted, reached, undone), expected, "{error}");
    let certainty = if undone { Certainty::NotExecuted } else { Certainty::Unknown };
    assert!(error.is_transient() && error.certainty() == certainty, "{error:?}");
    assert!(error.to_string().starts_with(&format!("only {reached} of {wanted} replicas")), "{error}");
}

#[tokio::test]
async fn what_is_granted_or_renewed_is_known_to_the_replicas() {
    let servers = Replicated::start(2);
    let store = store(&servers, 2);
    for number in 0..50 {
        let asked = exclusive(format!("r{number}"), number);
        assert!(matches!(store.acquire(&asked).await, Ok(Acquired::Granted(_))));
        assert_eq!(known_to(&servers, &format!("leasehold:{{r{number}}}")), 2, "{number}");
        assert_eq!(store.renew(&asked.hold, 3 * TTL).await.unwrap(), Renewed::Extended);
        for replica in &servers.replicas {
            let Value::Int(left) = replica.command(&["PTTL", &format!("leasehold:{{r{number}}}")]) else {
                panic!()
            };
            assert!(left > 60_000, "{left}");
        }
    }
    assert_eq!(store.durability(), Durability::Replicated { replicas: 2 });
    assert_eq!(RedisStore::open(&servers.master.url()).unwrap().durability(), Durability::OneCopy);
}

#[tokio::test]
async fn what_falls_short_is_released_and_says_how_many_answered() {
    for layout in [Layout::Full, Layout::Plain] {
        let mut servers = Replicated::start(2);
        let store = on(&servers.master.url(), 2, layout);
        let asked = exclusive("r", 1);
        assert!(matches!(store.acquire(&asked).await, Ok(Acquired::Granted(_))));
        assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);

        servers.replicas[0].pause();
        assert_short(&store.acquire(&asked).await.unwrap_err(), (2, 1, true));
        assert!(!store.is_held(&asked.hold).await.unwrap());
        servers.replicas[0].resume();
        assert!(matches!(store.acquire(&asked).await, Ok(Acquired::Granted(_))), "{layout:?}");
        assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);

        servers.replicas.iter_mut().for_each(RedisServer::kill);
        let hurried = hurried(&servers, 2, layout);
        assert_short(&hurried.acquire(&asked).await.unwrap_err(), (2, 0, true));
        assert!(!store.is_held(&asked.hold).await.unwrap());
    }
}

#[tokio::test]
async fn a_renewal_that_falls_short_does_not_count() {
    let servers = Replicated::start(2);
    let store = store(&servers, 2);
    let (held, strange) = (exclusive("r", 1), exclusive("r", 2));
    assert!(matches!(store.acquire(&held).await, Ok(Acquired::Granted(_))));
    servers.replicas[1].pause();
    assert_short(&store.renew(&held.hold, TTL).await.unwrap_err(), (2, 1, false));
    assert_eq!(store.renew(&strange.hold, TTL).await.unwrap(), Renewed::NotHeld);
    assert!(matches!(store.acquire(&strange).await, Ok(Acquired::Refused(_))));
    servers.replicas[1].resume();
    assert_eq!(store.renew(&held.hold, TTL).await.unwrap(), Renewed::Extended);
}

#[tokio::test]
async fn a_write_to_a_register_is_confirmed_also_if_it_is_repeated_on_another_connection() {
    let servers = Replicated::start(1);
    let store = || hurried(&servers, 1, Layout::Full);
    let [first, second] = [store(), store()];
    let name = ResourceName::new("r").unwrap();
    let write = |revision, expected: Option<u128>| RegisterWrite {
        expected: expected.map(Token::from_bits),
        revision: Token::from_bits(revision),
        value: "state".to_owned(),
        not_before: Duration::ZERO,
    };
    let (written, over) = (write(1, None), write(2, Some(1)));
    // Both have a connection that has written nothing since the replica is away.
    for store in [&first, &second] {
        assert!(store.register(&name, None).await.is_ok());
        assert_eq!(confirmed(store, &name, &write(3, Some(9))).await, RegisterVerdict::Changed);
    }
    servers.replicas[0].pause();
    for store in [&first, &second, &store()] {
        assert_short(&store.register(&name, Some(&written)).await.unwrap_err(), (1, 0, false));
    }
    assert_short(&first.register(&name, Some(&over)).await.unwrap_err(), (1, 0, false));
    // Somebody has written over it, and this connection has written nothing yet.
    let third = store();
    assert_short(&third.register(&name, Some(&written)).await.unwrap_err(), (1, 0, false));
    servers.replicas[0].resume();
    assert_eq!(confirmed(&second, &name, &over).await, RegisterVerdict::Written);
    assert_eq!(known_to(&servers, "leasehold:{r}:r"), 1);
}

/// Writes again and again until the replica, which may get no turn for a moment, is there in time.
async fn confirmed(store: &RedisStore, name: &ResourceName, write: &RegisterWrite) -> RegisterVerdict {
    let start = Instant::now();
    loop {
        match store.register(name, Some(write)).await {
            Err(StoreError::Unacknowledged { .. }) if start.elapsed() < TTL => {}
            answer => return answer.unwrap().verdict,
        }
    }
}

#[tokio::test]
async fn a_pass_or_a_set_that_falls_short_is_released() {
    let servers = Replicated::start(1);
    let store = store(&servers, 1);
    let (from, to) = (exclusive("r", 1), exclusive("r", 2));
    assert!(matches!(store.acquire(&from).await, Ok(Acquired::Granted(_))));
    servers.replicas[0].pause();
    let store = hurried(&servers, 1, Layout::Full);
    let passed = store.hand_off(&from.hold, &to, true).await.unwrap();
    assert_eq!(passed.released, Released::Freed);
    assert_short(&passed.acquired.unwrap_err(), (1, 0, true));
    let set = [3, 4].map(|token| Arc::new(exclusive(format!("s{token}"), token)));
    assert_short(&store.acquire_all(&set).await.unwrap_err(), (1, 0, true));
    for asked in [&from, &to, &set[0], &set[1]] {
        assert!(is_free(&servers.master, asked), "{asked:?}");
    }
}

#[tokio::test]
async fn only_those_of_a_batch_that_were_granted_are_released() {
    let servers = Replicated::start(1);
    let store = store(&servers, 1);
    let holder = exclusive("held", 1);
    assert!(matches!(store.acquire(&holder).await, Ok(Acquired::Granted(_))));
    servers.replicas[0].pause();
    let store = hurried(&servers, 1, Layout::Full);
    let batch = [exclusive("a", 2), exclusive("held", 3), exclusive("b", 4)].map(Arc::new);
    let answers = store.acquire_each(&batch).await;
    assert_short(answers[0].as_ref().unwrap_err(), (1, 0, true));
    assert!(matches!(&answers[1], Ok(Acquired::Refused(_))), "{answers:?}");
    assert_short(answers[2].as_ref().unwrap_err(), (1, 0, true));
    assert!(is_free(&servers.master, &batch[0]) && !is_free(&servers.master, &holder));
}

#[tokio::test]
async fn whoever_waits_for_a_replica_holds_up_nobody() {
    let servers = Replicated::start(1);
    let response_timeout = Duration::from_secs(20);
    let options = RedisOptions { replicas_ack: 1, response_timeout, ..patient() };
    let store = Arc::new(RedisStore::with_options(&servers.master.url(), options).unwrap());
    let held = exclusive("held", 1);
    assert!(matches!(store.acquire(&held).await, Ok(Acquired::Granted(_))));
    servers.replicas[0].pause();
    // These would be answered after ten seconds each.
    let waiting: Vec<_> = (0..5).map(|number| exclusive(format!("r{number}"), number)).collect();
    let slow: Vec<_> = waiting
        .iter()
        .map(|asked| {
            let (store, asked) = (Arc::clone(&store), asked.clone());
            tokio::spawn(async move { store.acquire(&asked).await })
        })
        .collect();
    let start = Instant::now();
    for asked in &waiting {
        while is_free(&servers.master, asked) {
            assert!(start.elapsed() < Duration::from_secs(8), "one waits for the other");
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(store.release(&held.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    servers.replicas[0].resume();
    for slow in slow {
        assert!(matches!(slow.await.unwrap(), Ok(Acquired::Granted(_))));
    }
}

#[tokio::test]
async fn connections_that_many_calls_at_once_have_opened_are_closed_again() {
    let servers = Replicated::start(1);
    // The replica has half of the time for its confirmation, and stands still until all wait for it.
    let options = RedisOptions { replicas_ack: 1, ..patient() };
    let store = RedisStore::with_options(&servers.master.url(), options).unwrap();
    let asked: Vec<_> = (0..40).map(|number| exclusive(format!("r{number}"), number)).collect();
    // While the replica stands still nobody's call is over, so each has a connection of its own.
    servers.replicas[0].pause();
    let connections = || {
        let clients: String = redis::from_redis_value(servers.master.command(&["CLIENT", "LIST"])).unwrap();
        clients.lines().filter(|client| client.contains("flags=N") || client.contains("flags=b")).count()
    };
    let all_wait = async {
        eventually("all wait", async || connections() >= 40).await;
        servers.replicas[0].resume();
    };
    let (answers, ()) = tokio::join!(join_all(asked.iter().map(|asked| store.acquire(asked))), all_wait);
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Acquired::Granted(_)))), "{answers:?}");
    eventually("most are closed", async || connections() <= 12).await;
}

#[tokio::test]
async fn a_server_that_forgot_the_scripts_is_told_them_again() {
    let servers = Replicated::start(1);
    let store = store(&servers, 1);
    assert!(matches!(store.acquire(&exclusive("r", 1)).await, Ok(Acquired::Granted(_))));
    servers.master.command(&["SCRIPT", "FLUSH"]);
    assert!(matches!(store.acquire(&exclusive("s", 2)).await, Ok(Acquired::Granted(_))));
}

#[tokio::test]
async fn without_the_right_to_wait_nothing_is_granted_and_the_cause_is_told() {
    let servers = Replicated::start(1);
    let store = on(&acl::url_of(&servers.master, "locker"), 1, Layout::Full);
    let asked = exclusive("r", 1);
    let error = store.acquire(&asked).await.unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert!(error.to_string().contains("'wait'"), "{error}");
    assert!(is_free(&servers.master, &asked));
}

#[actix::test]
async fn a_lease_tells_what_stands_behind_it_and_is_lost_in_time_without_it() {
    let servers = Replicated::start(1);
    // Replicas have half a second for a renewal: they are what fails, and not the time for its answer.
    let options =
        RedisOptions { replicas_ack: 1, response_timeout: Duration::from_secs(1), ..RedisOptions::default() };
    let store = RedisStore::with_options(&servers.master.url(), options).unwrap();
    let locks = LockManager::builder(Arc::new(store)).start().unwrap();
    let ttl = Duration::from_secs(4);
    // A busy replica may need several tries.
    let ask = Acquire::new("r").ttl(ttl).wait(Duration::from_secs(30));
    let lease = locks.send(ask).await.unwrap().unwrap();
    assert_eq!(lease.durability(), Durability::Replicated { replicas: 1 });
    servers.replicas[0].pause();
    // That it is told before the TTL is over shows in virtual time.
    let lost = tokio::time::timeout(ttl + Duration::from_secs(10), lease.lost()).await;
    assert_eq!(lost.expect("told, though the server answers"), LossReason::Expired);
    assert!(matches!(lease.status(), LeaseStatus::Lost(_)));
    servers.replicas[0].resume();
    let next = locks.send(Acquire::new("s").wait(Duration::from_secs(30))).await.unwrap().unwrap();
    assert!(next.is_valid());
}

#[tokio::test]
async fn a_confirmed_lock_survives_the_loss_of_the_master() {
    let mut servers = Replicated::start(2);
    let asked = exclusive("r", 1);
    assert!(matches!(store(&servers, 2).acquire(&asked).await, Ok(Acquired::Granted(_))));
    servers.master.kill();
    for replica in &servers.replicas {
        replica.command(&["REPLICAOF", "NO", "ONE"]);
        let promoted = patient::open(&replica.url());
        assert!(promoted.is_held(&asked.hold).await.unwrap());
        assert!(matches!(promoted.acquire(&exclusive("r", 2)).await, Ok(Acquired::Refused(_))));
    }
}
