//! The numbers of permits on a server: when its clock moves, beside older versions, and what it costs to find one.

use std::collections::BTreeMap;

use crate::redis::store::*;

const NUMBERS: &str = "leasehold:{r}:n";

fn one_of(of: u32, token: u128, ttl: Duration) -> Acquisition {
    Acquisition { mode: Mode::permits(1, of).unwrap(), ttl, ..exclusive(&hold("r", token)) }
}

async fn slot(store: &RedisStore, asked: &Acquisition) -> Option<u32> {
    match store.acquire(asked).await.unwrap() {
        Acquired::Granted(grant) => grant.slot,
        kept_out => panic!("{asked:?} was not granted: {kept_out:?}"),
    }
}

/// The numbers of those of these that hold.
async fn held(store: &RedisStore, server: &RedisServer, asked: &[Acquisition]) -> Vec<u32> {
    let known: BTreeMap<String, u32> =
        redis::from_redis_value(server.command(&["ZRANGE", NUMBERS, "0", "-1", "WITHSCORES"])).unwrap();
    let mut numbers = Vec::new();
    for asked in asked {
        if store.is_held(&asked.hold).await.unwrap() {
            numbers.push(known[&asked.hold.token.to_hex()]);
        }
    }
    numbers.sort_unstable();
    numbers
}

/// A hold that is over is not cleared away at once, and holds again when the clock is set back.
#[tokio::test]
async fn no_number_has_two_holders_when_the_clock_goes_forward_and_back() {
    const DEAD: u32 = 250;
    let server = RedisServer::with_clock();
    let store = store(&server);
    let mut asked: Vec<_> = (0..DEAD).map(|token| one_of(400, token.into(), 20 * TTL)).collect();
    asked.push(one_of(400, 1_000, 2_000 * TTL));
    for (number, asked) in (0..).zip(&asked) {
        assert_eq!(slot(&store, asked).await, Some(number));
    }
    server.advance(100 * TTL);
    asked.push(one_of(400, 2_000, 2_000 * TTL));
    slot(&store, &asked[asked.len() - 1]).await;
    server.set_back(100 * TTL);
    let alive = held(&store, &server, &asked).await.len();
    assert!((100..DEAD as usize).contains(&alive), "some of the dead hold again, and some not: {alive}");
    for token in 3_000..3_100 {
        let next = one_of(400, token, 2_000 * TTL);
        slot(&store, &next).await;
        asked.push(next);
    }
    let numbers = held(&store, &server, &asked).await;
    assert!(numbers.len() > 200 && numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
    assert!(numbers.iter().all(|number| *number < 400), "{numbers:?}");
}

#[tokio::test]
async fn what_an_older_version_has_cleared_away_or_granted_has_no_number() {
    let server = RedisServer::start();
    let store = store(&server);
    let [first, second, third, fourth] = [1, 2, 3, 4].map(|token| one_of(3, token, 2_000 * TTL));
    let tokens = [&first, &second, &third, &fourth].map(|asked| asked.hold.token.to_hex());
    for asked in [&first, &second] {
        slot(&store, asked).await;
    }
    // As an older version grants the third, and clears the first away.
    let record: String =
        redis::from_redis_value(server.command(&["HGET", "leasehold:{r}:d", &tokens[1]])).unwrap();
    let end: String =
        redis::from_redis_value(server.command(&["ZSCORE", "leasehold:{r}:h", &tokens[1]])).unwrap();
    server.command(&["ZADD", "leasehold:{r}:h", &end, &tokens[2]]);
    server.command(&["HSET", "leasehold:{r}:d", &tokens[2], &record]);
    server.command(&["ZREM", "leasehold:{r}:h", &tokens[0]]);
    server.command(&["HDEL", "leasehold:{r}:d", &tokens[0]]);
    assert_eq!(slot(&store, &third).await, None, "it was granted without one");
    assert_eq!(store.release(&third.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    assert_eq!(slot(&store, &second).await, Some(1));
    assert_eq!(slot(&store, &fourth).await, Some(0), "of the one that is gone");
    // It removes all but the numbers with the last hold.
    server.command(&["DEL", "leasehold:{r}", "leasehold:{r}:h", "leasehold:{r}:d", "leasehold:{r}:o"]);
    assert_eq!(slot(&store, &one_of(3, 5, TTL)).await, Some(0));
}

#[tokio::test]
async fn the_lowest_number_of_thousands_is_found_with_few_commands() {
    const HOLDERS: u32 = 3_000;
    let server = RedisServer::start();
    let store = store(&server);
    let asked: Vec<_> = (0..HOLDERS).map(|token| one_of(4_000, token.into(), 2_000 * TTL)).collect();
    for asked in &asked {
        slot(&store, asked).await;
    }
    for number in [2_999, 1_234, 0] {
        let _ = store.release(&asked[number].hold, Duration::ZERO).await.unwrap();
    }
    for (token, number) in (10_000..).zip([0, 1_234, 2_999, 3_000]) {
        server.command(&["CONFIG", "RESETSTAT"]);
        assert_eq!(slot(&store, &one_of(4_000, token, 2_000 * TTL)).await, Some(number));
        let looks = calls(&server, &["zrange"])[0];
        assert!((1..=12).contains(&looks), "{looks} looks for {number}");
    }
}
