//! A call serves only so many of the requests that take the server long. The rest follow inside the same verb.

use std::sync::Arc;

use leasehold::{
    rules::AcquiredFrom,
    store::{QueueTicket, QuorumNode, Store},
};

use crate::redis::store::*;

const REQUESTS: usize = 300;
/// More than one call serves of those for which somebody is in the way.
const MORE_THAN_ONE_CALL: usize = 20;

fn several(ask: impl Fn(usize) -> Acquisition) -> Vec<Arc<Acquisition>> {
    (0..REQUESTS).map(|number| Arc::new(ask(number))).collect()
}

/// One that is asked for as the others, with a token of its own.
fn request(name: &str, number: usize) -> Acquisition {
    exclusive(&hold(name, number as u128 + 1_000))
}

fn waiting(asked: Acquisition) -> Acquisition {
    let ticket = QueueTicket { inbox: INBOX, ttl: TTL, grant_window: TTL, max_waiters: 10_000, place: None };
    Acquisition { ticket: Some(ticket), ..asked }
}

fn reading(asked: Acquisition) -> Acquisition {
    Acquisition { mode: Mode::Shared, ..asked }
}

/// One of three resources, in turns.
fn in_turns(number: usize) -> &'static str {
    ["a", "b", "c"][number % 3]
}

fn fence(answer: Result<Acquired, StoreError>) -> u64 {
    match answer {
        Ok(Acquired::Granted(grant)) => grant.fence.unwrap().get(),
        other => panic!("{other:?}"),
    }
}

/// How many calls of scripts this takes.
async fn calls_of<T>(server: &RedisServer, verb: impl Future<Output = T>) -> (T, usize) {
    server.command(&["CONFIG", "RESETSTAT"]);
    let answer = verb.await;
    (answer, calls(server, &["evalsha"])[0] as usize)
}

fn assert_many(calls: usize) {
    assert!(calls > REQUESTS / MORE_THAN_ONE_CALL, "{calls} calls are too few, so one served too many");
    assert!(calls < REQUESTS / 8, "{calls} calls are too many");
}

#[tokio::test]
async fn many_that_wait_for_resources_of_their_own_are_served_in_several_calls() {
    let server = RedisServer::start();
    let store = store(&server);
    let name = |number| format!("many/{number}");
    let holders: Vec<_> =
        (0..REQUESTS).map(|number| Arc::new(exclusive(&hold(&name(number), number as u128)))).collect();
    let (granted, calls) = calls_of(&server, store.acquire_each(&holders)).await;
    granted.into_iter().for_each(|answer| assert!(fence(answer) > 0));
    assert_eq!(calls, 2, "what is free takes the server no time");
    let asked = several(|number| waiting(request(&name(number), number)));
    let (answers, calls) = calls_of(&server, store.acquire_each(&asked)).await;
    assert_eq!(answers.len(), REQUESTS);
    for (answer, holder) in answers.into_iter().zip(&holders) {
        let Ok(Acquired::Queued { ahead: 0, refusal }) = answer else { panic!("{answer:?}") };
        assert_eq!(refusal.by.token, holder.hold.token.prefix(), "the answer to another one");
    }
    assert_many(calls);
    let releases: Vec<_> = holders.iter().map(|asked| (&asked.hold, Duration::ZERO)).collect();
    let (released, calls) = calls_of(&server, store.release_each(&releases)).await;
    released.into_iter().for_each(|answer| assert_eq!(answer.unwrap(), Released::Freed));
    assert_many(calls);
}

#[tokio::test]
async fn those_that_queue_in_several_calls_stand_in_the_order_in_which_they_asked() {
    let server = RedisServer::start();
    let store = store(&server);
    for (name, token) in [("a", 1), ("b", 2), ("c", 3)] {
        granted(&store, &exclusive(&hold(name, token))).await;
    }
    let asked = several(|number| waiting(request(in_turns(number), number)));
    let (answers, calls) = calls_of(&server, store.acquire_each(&asked)).await;
    assert_many(calls);
    for (number, answer) in answers.into_iter().enumerate() {
        let Ok(Acquired::Queued { ahead, .. }) = answer else { panic!("{answer:?}") };
        assert_eq!(ahead as usize, number / 3, "{number}");
    }
}

#[tokio::test]
async fn fences_that_are_given_out_in_several_calls_grow_in_the_order_in_which_they_were_asked_for() {
    let server = RedisServer::start();
    let store = store(&server);
    let asked = several(|number| reading(request(in_turns(number), number)));
    let (answers, calls) = calls_of(&server, store.acquire_each(&asked)).await;
    assert_many(calls);
    let fences: Vec<_> = answers.into_iter().map(fence).collect();
    for of_one in 0..3 {
        let of_one: Vec<_> = fences.iter().skip(of_one).step_by(3).collect();
        assert!(of_one.is_sorted_by(|one, next| one < next), "{of_one:?}");
    }
    // The last of several renewals and releases of a hold is the one that counts.
    let hold = &asked[0].hold;
    let mut renewals: Vec<_> = asked.iter().map(|asked| Renewal::new(&asked.hold, TTL)).collect();
    renewals.extend([Renewal::new(hold, 4 * TTL), Renewal::new(hold, 2 * TTL)]);
    let (renewed, calls) = calls_of(&server, store.renew_each(&renewals)).await;
    assert!(renewed.into_iter().all(|answer| answer.unwrap() == Renewed::Extended));
    assert_many(calls);
    let readers = store.inspect(&hold.resource, REQUESTS).await.unwrap().holders;
    let longest = readers.iter().map(|reader| reader.remaining).max().unwrap();
    assert!(longest > TTL && longest <= 2 * TTL, "{longest:?}");
    let mut releases: Vec<_> = asked.iter().map(|asked| (&asked.hold, Duration::ZERO)).collect();
    releases.push((hold, Duration::ZERO));
    let (mut released, calls) = calls_of(&server, store.release_each(&releases)).await;
    assert_many(calls);
    assert_eq!(released.pop().unwrap().unwrap(), Released::NotHeld { count: 0 });
    assert!(released.into_iter().all(|answer| answer.unwrap() == Released::Freed));
    assert_eq!(server.keys().len(), 1, "only the fence: {:?}", server.keys());
}

#[tokio::test]
async fn fences_that_are_named_in_advance_are_kept_by_the_calls_that_follow() {
    let server = RedisServer::start();
    let store = store(&server);
    let last = granted(&store, &exclusive(&hold("r", 1))).await;
    let first = Fence::new(last.get() + 500_000);
    let asked = several(|number| reading(request(in_turns(number), number)));
    let (AcquiredFrom { answers, clock, .. }, calls) =
        calls_of(&server, store.acquire_each_from(&asked, first)).await;
    assert_many(calls);
    assert!(clock.is_some_and(|clock| clock > last));
    for (answer, least) in answers.into_iter().zip(first.get()..) {
        assert!(fence(answer) >= least);
    }
}

#[tokio::test]
async fn places_that_are_gone_are_cleared_away_in_bounded_steps() {
    const DEAD: usize = 1_000;
    let server = RedisServer::with_clock();
    let store = store(&server);
    let holder = exclusive(&hold("r", 1));
    granted(&store, &holder).await;
    let ttl = TTL / 3;
    let brief = |asked| {
        let ticket = QueueTicket { inbox: INBOX, ttl, grant_window: TTL, max_waiters: 10_000, place: None };
        Arc::new(Acquisition { ticket: Some(ticket), ..asked })
    };
    let dead: Vec<_> = (0..DEAD).map(|number| brief(request("r", number))).collect();
    store.acquire_each(&dead).await.into_iter().for_each(|answer| assert!(answer.is_ok()));
    // One whose place lasts keeps the queue.
    let alive = waiting(exclusive(&hold("r", 2)));
    assert!(matches!(store.acquire(&alive).await, Ok(Acquired::Queued { .. })));
    server.advance(ttl + Duration::from_secs(1));
    let left = || -> usize { redis::from_redis_value(server.command(&["HLEN", "leasehold:{r}:w"])).unwrap() };
    let before = left();
    assert!(before > DEAD / 2, "{before}");
    assert_eq!(store.release(&holder.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    let cleared = before - left();
    assert!((1..=400).contains(&cleared), "{cleared} in one call");
    granted(&store, &alive).await;
}
