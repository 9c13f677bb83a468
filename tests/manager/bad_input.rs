//! Wrong requests, each with the exact error it gets, before anything is sent. (Wrong configuration: `config.rs`.)

use std::time::Duration;

use leasehold::{
    Acquire, AcquireError, Backoff, Inspect, InspectError, IsHeld, List, ReadLock, RedisStore, Release,
    Request, Revoke, Stats, Token, WriteLock,
};
use support::virtual_time::{World, in_virtual_time, millis, secs};

const TOKEN: Token = Token::from_bits(1);

/// Sends a request and answers the text of its error.
macro_rules! refused {
    ($locks:expr, $request:expr) => {
        match $locks.send($request).await.unwrap() {
            Err(AcquireError::Invalid(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
}

fn asked() -> Acquire {
    Acquire::new("r")
}

fn of_500_bytes<Kind>(request: Request<Kind>) -> Request<Kind> {
    request.metadata("a", "x".repeat(500))
}

#[test]
fn a_wrong_request_gets_an_exact_error_and_nothing_is_sent() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.fail_next(1_000);
        let over_long = vec![b'x'; 513];
        #[rustfmt::skip]
        let table = [
            (refused!(locks, Acquire::new("")), "invalid resource: an empty name (allowed: 1 to 512 bytes)"),
            (refused!(locks, ReadLock::new("")), "invalid resource: an empty name (allowed: 1 to 512 bytes)"),
            (refused!(locks, WriteLock::new(&over_long)), "invalid resource: a name of 513 bytes (allowed: 1 to 512 bytes)"),
            (refused!(locks, asked().owner("")), "invalid owner: an empty name (allowed: 1 to 512 bytes)"),
            (refused!(locks, asked().owner("ö".repeat(257))), "invalid owner: a name of 514 bytes (allowed: 1 to 512 bytes)"),
            (refused!(locks, asked().permits(0, 3)), "invalid permits: 0 of 3 (allowed: 1 or more, and at most the capacity)"),
            (refused!(locks, asked().permits(1, 0)), "invalid permits: 1 of 0 (allowed: 1 or more, and at most the capacity)"),
            (refused!(locks, asked().permits(4, 3)), "invalid permits: 4 of 3 (allowed: 1 or more, and at most the capacity)"),
            (refused!(locks, asked().ttl(Duration::ZERO)), "invalid ttl: 0s (allowed: 50ms to 1d)"),
            (refused!(locks, asked().ttl(millis(49))), "invalid ttl: 49ms (allowed: 50ms to 1d)"),
            (refused!(locks, asked().ttl(secs(86_401))), "invalid ttl: 1d 1s (allowed: 50ms to 1d)"),
            (refused!(locks, asked().ttl(Duration::MAX)), "invalid ttl: 213503982334601d 7h 15s 999ms 999us 999ns (allowed: 50ms to 1d)"),
            (refused!(locks, asked().wait(Duration::MAX)), "invalid wait: 213503982334601d 7h 15s 999ms 999us 999ns (allowed: 0s to 1d)"),
            (refused!(locks, asked().wait(secs(86_401))), "invalid wait: 1d 1s (allowed: 0s to 1d)"),
            (refused!(locks, asked().attempts(0)), "invalid backoff.attempts: 0 (allowed: 1 or more)"),
            (refused!(locks, asked().renew_every(Duration::ZERO)), "invalid renew_every: 0s (allowed: more than zero, and less than half of ttl (30s))"),
            (refused!(locks, asked().ttl(secs(10)).renew_every(secs(5))), "invalid renew_every: 5s (allowed: more than zero, and less than half of ttl (10s))"),
            (refused!(locks, asked().renew_every(secs(1)).no_renew()), "invalid renew_every: given together with no_renew (allowed: one of the two)"),
            (refused!(locks, asked().max_renewals(0)), "invalid max_renewals: 0 (allowed: 1 or more; use no_renew for none)"),
            (refused!(locks, asked().no_renew().max_renewals(4)), "invalid max_renewals: given together with no_renew (allowed: one of the two)"),
            (refused!(locks, asked().heartbeat(Duration::ZERO)), "invalid heartbeat: 0s (allowed: more than zero)"),
            (refused!(locks, asked().no_renew().heartbeat(secs(1))), "invalid heartbeat: given together with no_renew (allowed: one of the two)"),
            (refused!(locks, asked().max_hold(Duration::ZERO)), "invalid max_hold: 0s (allowed: more than zero, and at least min_hold (0s))"),
            (refused!(locks, asked().min_hold(secs(9)).max_hold(secs(8))), "invalid max_hold: 8s (allowed: more than zero, and at least min_hold (9s))"),
            (refused!(locks, asked().min_hold(secs(86_401))), "invalid min_hold: 1d 1s (allowed: 0s to 1d)"),
            (refused!(locks, asked().lock_delay(secs(86_401))), "invalid lock_delay: 1d 1s (allowed: 0s to 1d)"),
            (refused!(locks, of_500_bytes(asked().metadata("b", "y".repeat(523)))), "invalid metadata: 1025 bytes (allowed: at most 1024 bytes, keys and values together)"),
        ];
        for (error, expected) in table {
            assert_eq!(error, expected);
        }
        assert_eq!(locks.send(Stats).await.unwrap().attempts, 0, "nothing was sent");
    });
}

#[test]
fn a_wrong_question_gets_an_exact_error_and_nothing_is_sent() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        // Were it sent, it would fail otherwise.
        world.store.fail_next(1_000);
        let invalid = |answer: Result<(), InspectError>| match answer {
            Err(InspectError::Invalid(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        let empty = "invalid resource: an empty name (allowed: 1 to 512 bytes)";
        let none = "invalid limit: 0 (allowed: 1 to 10000)";
        let many = "invalid limit: 10001 (allowed: 1 to 10000)";
        assert_eq!(invalid(locks.send(Inspect::new("")).await.unwrap().map(drop)), empty);
        assert_eq!(invalid(locks.send(Inspect::new("r").limit(0)).await.unwrap().map(drop)), none);
        assert_eq!(invalid(locks.send(IsHeld::new("", TOKEN)).await.unwrap().map(drop)), empty);
        assert_eq!(invalid(locks.send(List::new("").limit(0)).await.unwrap().map(drop)), none);
        assert_eq!(invalid(locks.send(List::new("").limit(10_001)).await.unwrap().map(drop)), many);
        assert_eq!(locks.send(Revoke::at_once("")).await.unwrap().unwrap_err().to_string(), empty);
        assert_eq!(locks.send(Release::new("", TOKEN)).await.unwrap().unwrap_err().to_string(), empty);
    });
}

#[test]
fn a_wrong_backoff_gets_an_exact_error() {
    let backoff = || Backoff::new(millis(100), secs(1));
    #[rustfmt::skip]
    let table = [
        (Backoff::new(Duration::ZERO, secs(1)), "invalid backoff.initial: 0s (allowed: more than zero, and at most backoff.max (1s))"),
        (Backoff::new(secs(2), secs(1)), "invalid backoff.initial: 2s (allowed: more than zero, and at most backoff.max (1s))"),
        (Backoff::new(secs(1), secs(3_601)), "invalid backoff.max: 1h 1s (allowed: at most 1h)"),
        (backoff().and_then(|b| b.multiplier(0.5)), "invalid backoff.multiplier: 0.5 (allowed: 1 to 10)"),
        (backoff().and_then(|b| b.multiplier(f64::NAN)), "invalid backoff.multiplier: NaN (allowed: 1 to 10)"),
        (backoff().and_then(|b| b.attempts(0)), "invalid backoff.attempts: 0 (allowed: 1 or more)"),
    ];
    for (wrong, expected) in table {
        assert_eq!(wrong.unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_wrong_address_gets_an_exact_error_that_shows_no_password() {
    let allowed = "redis://[user:password@]host[:port][/db], the same with rediss:// for TLS, \
                   redis+unix:///path[?db=…&user=…&pass=…], \
                   redis+sentinel://host[:port],…/service[/db], or redis+cluster://host[:port],…";
    #[rustfmt::skip]
    let table = [
        ("", "an empty text"),
        ("localhost:6379", "a text without a scheme such as redis://"),
        ("http://user:secret@host", "unknown scheme http://"),
        ("redis://", "redis://… without a host"),
        ("redis://:secret@host:port", "redis://… with a port that is no number from 1 to 65535"),
        ("redis://user:secret@", "redis://… without a host"),
        ("redis://host/notanumber", "redis://… with database \"notanumber\", which is no number"),
        ("rediss://host:99999", "rediss://… with port 99999, which is more than 65535"),
        ("redis+unix://", "redis+unix://… without a path"),
        ("redis://:secret@host:99999/1", "redis://… with port 99999, which is more than 65535"),
        ("redis://:secret@host/abc", "redis://… with database \"abc\", which is no number"),
    ];
    for (url, shown) in table {
        let error = RedisStore::open(url).unwrap_err();
        assert_eq!(error.to_string(), format!("invalid store.url: {shown} (allowed: {allowed})"), "{url:?}");
    }
}
