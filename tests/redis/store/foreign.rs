//! Records that only look like ours: one that cannot be read is an error of its own resource, and of no other.

use std::sync::Arc;

use futures_util::StreamExt;
use leasehold::{
    Acquire, AcquireError, Certainty, Layout, LockManager, RedisOptions,
    store::{AcquiredAll, Notification, QueueTicket, RegisterWrite, Store},
};

use crate::redis::store::{seen::waiting, *};

/// On a busy machine.
const AT_ONCE: Duration = Duration::from_secs(20);
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// Bytes that are no text, as Lua writes them.
const NO_TEXT: &str = "\\255\\254";

/// Writes a resource whose record cannot be read, by a script that knows its main key as `main`.
fn write(server: &RedisServer, name: &str, script: &str) {
    let script = format!("local main, token = KEYS[1], '{TOKEN}'; {script}");
    server.command(&["EVAL", &script, "1", &format!("leasehold:{{{name}}}")]);
}

/// Resources that somebody holds, and whose record cannot be read, by what is wrong with it.
fn unreadable(server: &RedisServer) -> Vec<String> {
    let several =
        "redis.call('SET', main, '*s', 'PX', 60000); redis.call('ZADD', main .. ':h', 99999999999999, token)";
    let cases = [
        (
            "bytes",
            format!("redis.call('SET', main, token .. '-7 x 1 0  {{\"a\":\"{NO_TEXT}\"}}', 'PX', 60000)"),
        ),
        (
            "fence",
            "redis.call('SET', main, token .. '-' .. string.rep('9', 30) .. ' x 1 0  {}', 'PX', 60000)"
                .to_owned(),
        ),
        ("owner", "redis.call('SET', main, token .. '-7 x 1 0 %zz {}', 'PX', 60000)".to_owned()),
        ("missing", several.to_owned()),
        ("damaged", format!("{several}; redis.call('HSET', main .. ':d', token, 'hello')")),
        ("mode", format!("{several}; redis.call('HSET', main .. ':d', token, '7 s 1')")),
    ];
    for (name, script) in &cases {
        write(server, name, script);
    }
    cases.map(|(name, _)| name.to_owned()).into()
}

fn assert_names(error: &StoreError, name: &str) {
    assert_eq!(error.kind(), "corrupt", "{name}: {error}");
    assert!(error.to_string().contains(&format!("{name}: ")), "{name}: {error}");
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_corrupt_and_named_and_nothing_was_executed() {
    let server = RedisServer::start();
    let store = store(&server);
    for name in unreadable(&server) {
        let hold = hold(&name, 1);
        assert_names(&store.inspect(&hold.resource, 10).await.unwrap_err(), &name);
        let error = store.acquire(&exclusive(&hold)).await.unwrap_err();
        assert_names(&error, &name);
        assert_eq!(error.certainty(), Certainty::NotExecuted, "{name}: {error}");
        let both = [Arc::new(exclusive(&self::hold("free", 2))), Arc::new(exclusive(&hold))];
        match store.acquire_all(&both).await.unwrap() {
            AcquiredAll::Failed { which: 1, error } => assert_names(&error, &name),
            other => panic!("{name}: {other:?}"),
        }
        assert!(!store.is_held(&both[0].hold).await.unwrap(), "{name}");
    }
}

#[tokio::test]
async fn a_waiter_whose_record_cannot_be_read_is_corrupt_and_named() {
    let server = RedisServer::start();
    let store = store(&server);
    for waiter in
        ["string.rep('9', 30) .. ' 0 in 1000 60000 0 x 1 0  {}'", "'8 0 in 1000 60000 0 x 1 0  \\255'"]
    {
        server.command(&["FLUSHALL"]);
        granted(&store, &exclusive(&hold("r", 7))).await;
        let script = format!(
            "redis.call('ZADD', main .. ':q', 8, token); redis.call('ZADD', main .. ':p', 99999999999999, token); \
             redis.call('HSET', main .. ':w', token, {waiter})"
        );
        write(&server, "r", &script);
        assert_names(&store.inspect(&hold("r", 1).resource, 10).await.unwrap_err(), "r");
    }
}

#[actix::test]
async fn a_wait_behind_a_record_that_cannot_be_read_ends_at_once_and_leaves_no_ticket() {
    let server = RedisServer::start();
    let store = Arc::new(store(&server));
    let names = unreadable(&server);
    let ticket = QueueTicket { inbox: INBOX, ttl: TTL, grant_window: TTL, max_waiters: 9, place: None };
    let waiter = Acquisition { ticket: Some(ticket), ..exclusive(&hold(&names[0], 1)) };
    let error = store.acquire(&waiter).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.certainty()),
        ("corrupt", Certainty::Unknown),
        "it has a ticket: {error}"
    );
    let left = store.release(&waiter.hold, Duration::ZERO).await.unwrap();
    assert_eq!(left, Released::NotHeld { count: 0 });
    let locks = LockManager::builder(store).start().unwrap();
    for name in &names {
        let started = Instant::now();
        let answer = locks.send(Acquire::new(name).wait(Duration::from_secs(3_600))).await.unwrap();
        let Err(AcquireError::Store(error)) = answer else { panic!("{name}: {answer:?}") };
        assert_names(&error, name);
        assert!(started.elapsed() < AT_ONCE, "{name}: {:?}", started.elapsed());
    }
    let queues = || server.keys().into_iter().filter(|(key, _)| key.ends_with(":q")).count();
    let started = Instant::now();
    while queues() > 0 {
        assert!(started.elapsed() < AT_ONCE, "{:?}", server.keys());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_register_that_cannot_be_read_is_corrupt_and_named_and_stays_as_it_is() {
    let server = RedisServer::start();
    let store = store(&server);
    let name = hold("daily", 1).resource;
    for (revision, value) in [("token", "'\\255'"), ("'\\255'", "'{}'"), ("'hello'", "'{}'")] {
        let script = format!("redis.call('HSET', main .. ':r', 'revision', {revision}, 'value', {value})");
        write(&server, "daily", &script);
        let write = RegisterWrite {
            expected: None,
            revision: Token::from_bits(9),
            value: String::new(),
            not_before: Duration::ZERO,
        };
        let dump = || server.command(&["HGETALL", "leasehold:{daily}:r"]);
        let before = dump();
        for write in [None, Some(&write)] {
            let error = store.register(&name, write).await.unwrap_err();
            assert_names(&error, "daily");
            assert_eq!(error.certainty(), Certainty::NotExecuted, "{error}");
        }
        assert_eq!(dump(), before);
    }
}

#[tokio::test]
async fn a_lock_whose_key_is_of_another_type_is_corrupt_and_certainly_left_as_it_is_in_both_layouts() {
    for (layout, key) in [(Layout::Full, "leasehold:{r}"), (Layout::Plain, "leasehold:r")] {
        let server = RedisServer::start();
        let options = RedisOptions { layout, ..patient::patient() };
        let store = RedisStore::with_options(&server.url(), options).unwrap();
        server.command(&["HSET", key, "field", "value"]);
        let (hold, asked, other) = (hold("r", 1), exclusive(&hold("r", 1)), exclusive(&hold("r", 2)));
        let both = [Arc::new(exclusive(&self::hold("free", 3))), Arc::new(asked.clone())];
        let errors = [
            store.acquire(&asked).await.unwrap_err(),
            store.release(&hold, Duration::ZERO).await.unwrap_err(),
            store.renew(&hold, TTL).await.unwrap_err(),
            store.hand_off(&hold, &other, false).await.unwrap_err(),
            store.is_held(&hold).await.unwrap_err(),
            store.inspect(&hold.resource, 1).await.unwrap_err(),
            store.force_release(&hold.resource).await.unwrap_err(),
            match store.acquire_all(&both).await.unwrap() {
                AcquiredAll::Failed { which: 1, error } => error,
                other => panic!("{other:?}"),
            },
        ];
        for (number, error) in errors.iter().enumerate() {
            let told = (error.kind(), error.certainty());
            assert_eq!(told, ("corrupt", Certainty::NotExecuted), "{layout:?}: {number}: {error}");
        }
        assert_eq!(server.command(&["HGET", key, "field"]), Value::BulkString("value".into()));
    }
}

/// The ends of the keys beside the main key.
const BESIDE: [&str; 7] = [":h", ":d", ":o", ":n", ":q", ":w", ":p"];

#[tokio::test]
async fn what_fails_over_a_key_of_another_type_and_was_certainly_not_executed_has_written_nothing() {
    let server = RedisServer::start();
    let store = store(&server);
    let owner = Some(Owner::new("me").unwrap());
    let of = |token| {
        let plain = exclusive(&Hold { owner: owner.clone(), ..hold("r", token) });
        let shared = Acquisition { mode: Mode::Shared, ..plain.clone() };
        [exclusive(&hold("r", token)), shared, permits(&plain.hold), Acquisition { reentrant: true, ..plain }]
    };
    let waiter = waiting(3);
    let waiting = of(2).map(|asked| Acquisition { ticket: waiter.ticket, ..asked });
    let mut notifications = store.listen(&INBOX);
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    let asked: Vec<_> = of(1).into_iter().chain(of(2)).chain(waiting).collect();
    let contents = || {
        let keys = server.keys().into_iter().map(|(key, _)| key).filter(|key| key.contains('{'));
        keys.map(|key| (server.command(&["DUMP", &key]), key)).collect::<Vec<_>>()
    };
    let mut failed = BTreeMap::new();
    for (beside, held) in BESIDE.iter().flat_map(|beside| of(1).map(|held| (beside, held))) {
        for asked in asked.iter().map(Some).chain([None]) {
            server.command(&["FLUSHALL"]);
            granted(&store, &held).await;
            assert!(matches!(store.acquire(&waiter).await.unwrap(), Acquired::Queued { .. }));
            server.command(&["SET", &format!("leasehold:{{r}}{beside}"), "another program's"]);
            let before = contents();
            let error = match asked {
                Some(asked) => store.acquire(asked).await.err(),
                None => store.release(&held.hold, Duration::ZERO).await.err(),
            };
            let Some(error) = error.filter(|error| error.kind() == "corrupt") else { continue };
            *failed.entry((*beside, asked.is_some())).or_insert(0) += 1;
            let wrote = contents() != before;
            assert!(
                !wrote || error.certainty() == Certainty::Unknown,
                "{beside}: {error}: {asked:?}, {held:?}"
            );
        }
    }
    assert_eq!(failed.len(), 2 * BESIDE.len(), "{failed:?}");
}
