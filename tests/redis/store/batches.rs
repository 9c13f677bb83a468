//! Several verbs in one call, where it is a matter of the server: what it refuses, forgets or loses of a batch.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::StreamExt;
use leasehold::store::{Notification, QueueTicket, Store};

use crate::redis::store::{proxy::Proxy, *};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const MIDDLE: usize = 2;

/// One request for each of these, exclusively; the first has the token 1.
fn batch<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Arc<Acquisition>> {
    names.into_iter().zip(1..).map(|(name, token)| Arc::new(exclusive(&hold(name, token)))).collect()
}

/// So many resources of their own: more than one call takes.
fn many() -> Vec<Arc<Acquisition>> {
    let names: Vec<_> = (0..1_000).map(|number| format!("many/{number}")).collect();
    batch(names.iter().map(String::as_str))
}

fn holds(asked: &[Arc<Acquisition>], each: Duration) -> Vec<(&Hold, Duration)> {
    asked.iter().map(|asked| (&asked.hold, each)).collect()
}

async fn fences(store: &RedisStore, asked: &[Arc<Acquisition>]) -> Vec<Fence> {
    let fence = |answer| match answer {
        Ok(Acquired::Granted(grant)) => grant.fence.unwrap(),
        other => panic!("{other:?}"),
    };
    store.acquire_each(asked).await.into_iter().map(fence).collect()
}

async fn renewed(store: &RedisStore, renewals: &[(&Hold, Duration)]) -> Vec<Renewed> {
    let renewals: Vec<_> = renewals.iter().map(|(hold, ttl)| Renewal::new(hold, *ttl)).collect();
    store.renew_each(&renewals).await.into_iter().map(Result::unwrap).collect()
}

async fn released(store: &RedisStore, releases: &[(&Hold, Duration)]) -> Vec<Released> {
    store.release_each(releases).await.into_iter().map(Result::unwrap).collect()
}

/// The one in the middle is corrupt, and all others are what they should be.
fn assert_only_the_middle_is_corrupt<T: PartialEq + std::fmt::Debug>(
    answers: Vec<Result<T, StoreError>>,
    good: impl Fn(&T) -> bool,
) {
    assert_eq!(answers.len(), NAMES.len());
    for (at, answer) in answers.into_iter().enumerate() {
        match answer {
            Err(StoreError::Corrupt { .. }) => assert_eq!(at, MIDDLE),
            Ok(answer) => assert!(at != MIDDLE && good(&answer), "{at}: {answer:?}"),
            other => panic!("{at}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_foreign_in_a_batch_harms_no_neighbour() {
    let foreign: [&[&str]; 4] = [
        &["RPUSH", "leasehold:{c}", "hello"],
        &["SET", "leasehold:{c}", "hello"],
        &["HSET", "leasehold:{c}", "field", "value"],
        &["SET", "leasehold:{c}:p", "hello"],
    ];
    let server = RedisServer::start();
    let store = store(&server);
    for words in foreign {
        server.command(&["FLUSHALL"]);
        server.command(words);
        let dump = || server.command(&["DUMP", words[1]]);
        let before = dump();
        let asked = batch(NAMES);
        let granted = |answer: &_| matches!(answer, Acquired::Granted(_));
        assert_only_the_middle_is_corrupt(store.acquire_each(&asked).await, granted);
        if words[1] == "leasehold:{c}" {
            let extended = |&answer: &_| answer == Renewed::Extended;
            let renewals: Vec<_> = asked.iter().map(|asked| Renewal::new(&asked.hold, TTL)).collect();
            assert_only_the_middle_is_corrupt(store.renew_each(&renewals).await, extended);
            let freed = |&answer: &_| answer == Released::Freed;
            assert_only_the_middle_is_corrupt(
                store.release_each(&holds(&asked, Duration::ZERO)).await,
                freed,
            );
        }
        assert_eq!(dump(), before, "{words:?}");
    }
}

#[tokio::test]
async fn a_full_server_refuses_the_new_ones_of_a_batch_and_serves_the_others() {
    let server = RedisServer::start();
    let store = store(&server);
    let held: Vec<_> = one_of_each().into_iter().map(Arc::new).collect();
    let first = fences(&store, &held).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    for answer in store.acquire_each(&batch(NAMES)).await {
        assert!(matches!(answer, Err(StoreError::OutOfMemory { .. })), "{answer:?}");
    }
    // The last of these is new: whatever becomes of it, the others hold already.
    let repeated = store.acquire_each(&[&held[..], &batch(["a"])].concat()).await;
    let again = repeated.into_iter().take(held.len()).map(|answer| match answer {
        Ok(Acquired::Granted(grant)) => grant.fence.unwrap(),
        other => panic!("{other:?}"),
    });
    assert_eq!(again.collect::<Vec<_>>(), first);
    assert_eq!(renewed(&store, &holds(&held, TTL)).await, [Renewed::Extended; 6]);
    let mut releases = holds(&held, Duration::ZERO);
    releases[1].1 = TTL;
    let (freed, left) = (Released::Freed, Released::StillHeld { count: 1 });
    assert_eq!(released(&store, &releases).await, [freed, freed, freed, freed, left, freed]);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_all_end(&server);
}

#[tokio::test]
async fn a_batch_finds_its_script_again_and_keeps_its_order() {
    let server = RedisServer::start();
    let store = store(&server);
    let mut asked = many();
    let late = Arc::new(exclusive(&hold("many/0", 2_000)));
    asked.push(Arc::clone(&late));
    store.is_held(&late.hold).await.unwrap();
    let flush = || server.command(&["SCRIPT", "FLUSH"]);
    flush();
    let mut answers = store.acquire_each(&asked).await;
    let last = answers.pop().unwrap().unwrap();
    assert!(
        matches!(&last, Acquired::Refused(by) if by.by.token == asked[0].hold.token.prefix()),
        "{last:?}"
    );
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Acquired::Granted(_)))));
    asked.pop();
    flush();
    assert_eq!(renewed(&store, &holds(&asked, TTL)).await, [Renewed::Extended; 1_000]);
    flush();
    assert_eq!(released(&store, &holds(&asked, Duration::ZERO)).await, [Released::Freed; 1_000]);
    assert_eq!(server.keys().len(), 1, "only the fence");
}

#[tokio::test]
async fn a_thousand_at_once_are_few_calls_with_a_fence_for_each() {
    let server = RedisServer::start();
    let store = store(&server);
    let before = granted(&store, &exclusive(&hold("r", 1))).await;
    let asked = many();
    server.command(&["CONFIG", "RESETSTAT"]);
    let fences = fences(&store, &asked).await;
    // A call writes the fence once, whatever it grants.
    assert_eq!(calls(&server, &["evalsha", "exists", "set", "time"]), [4, 4, 1_004, 4]);
    assert_eq!(fences.iter().collect::<BTreeSet<_>>().len(), 1_000, "none is given out twice");
    assert!(fences.iter().all(|fence| *fence > before));
    assert_all_end(&server);
    let largest = *fences.iter().max().unwrap();
    assert!(granted(&store, &exclusive(&hold("s", 1))).await > largest);

    server.command(&["CONFIG", "RESETSTAT"]);
    assert_eq!(renewed(&store, &holds(&asked, TTL)).await, [Renewed::Extended; 1_000]);
    assert_eq!(calls(&server, &["evalsha", "mget", "pexpire", "get"]), [4, 4, 1_000, 0]);
    assert_eq!(released(&store, &holds(&asked, Duration::ZERO)).await, [Released::Freed; 1_000]);
    assert_eq!(calls(&server, &["evalsha", "mget", "del", "get"]), [8, 8, 4, 0]);
}

/// Each record tells the TTL, and is written anew for another one.
#[tokio::test]
async fn renewals_with_another_ttl_are_few_calls_too() {
    let server = RedisServer::start();
    let store = store(&server);
    let asked = many();
    let _ = fences(&store, &asked).await;
    server.command(&["CONFIG", "RESETSTAT"]);
    assert_eq!(renewed(&store, &holds(&asked, 2 * TTL)).await, [Renewed::Extended; 1_000]);
    assert_eq!(calls(&server, &["evalsha", "mget", "pexpire", "set"]), [4, 4, 1_000, 1_000]);
}

#[tokio::test]
async fn what_is_named_twice_is_served_in_order() {
    let server = RedisServer::start();
    let store = store(&server);
    let (plain, nothing) = (exclusive(&hold("p", 1)), Released::NotHeld { count: 0 });
    granted(&store, &plain).await;
    let releases = [(&plain.hold, Duration::ZERO), (&plain.hold, Duration::ZERO), (&plain.hold, TTL)];
    assert_eq!(released(&store, &releases).await, [Released::Freed, nothing, nothing]);
    // A free one, one with a lock delay, and one that is read: each has a way of its own through the script.
    let [mut delayed, mut read] = [exclusive(&hold("b", 2)), exclusive(&hold("c", 3))];
    delayed.lock_delay = TTL;
    read.mode = Mode::Shared;
    for asked in [exclusive(&hold("a", 1)), delayed, read].map(Arc::new) {
        let other = Arc::new(exclusive(&hold(asked.hold.resource.to_string().as_str(), 9)));
        let answers = store.acquire_each(&[&asked, &other, &asked].map(Arc::clone)).await;
        let [Ok(Acquired::Granted(first)), Ok(Acquired::Refused(_)), Ok(Acquired::Granted(again))] =
            &answers[..]
        else {
            panic!("{answers:?}")
        };
        assert!(again.holds == first.holds && again.fence >= first.fence, "{again:?} after {first:?}");
        let (this, not_this) = (&asked.hold, &other.hold);
        let renewals = [(this, 9 * TTL), (not_this, TTL), (this, 2 * TTL), (this, 3 * TTL)];
        let (extended, not_held) = (Renewed::Extended, Renewed::NotHeld);
        assert_eq!(renewed(&store, &renewals).await, [extended, not_held, extended, extended]);
        let left = store.inspect(&this.resource, 1).await.unwrap().holders[0].remaining;
        assert!(left <= 3 * TTL && left > 2 * TTL, "the last counts: {left:?}");
        let releases = [(not_this, TTL), (this, TTL), (this, Duration::ZERO), (not_this, Duration::ZERO)];
        assert_eq!(released(&store, &releases).await, [nothing, Released::Freed, nothing, nothing]);
        let kept_out = store.acquire(&other).await.unwrap();
        assert!(matches!(kept_out, Acquired::Refused(_)), "it stays closed: {kept_out:?}");
    }
}

#[tokio::test]
async fn a_batch_that_frees_what_it_waits_for_hands_it_over_in_order() {
    let server = RedisServer::start();
    let store = store(&server);
    // To whom nobody listens nothing is handed over.
    let mut notifications = store.listen(&INBOX);
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    let ticket = QueueTicket { inbox: INBOX, ttl: TTL, grant_window: TTL, max_waiters: 10, place: None };
    let waiter = |token| Arc::new(Acquisition { ticket: Some(ticket), ..exclusive(&hold("r", token)) });
    let asked = [1, 2, 3].map(waiter);
    let answers = store.acquire_each(&asked).await;
    assert!(matches!(answers[..], [Ok(Acquired::Granted(_)), Ok(Acquired::Queued { .. }), Ok(_)]));
    let (freed, nothing) = (Released::Freed, Released::NotHeld { count: 0 });
    let [first, second, third] = [1, 2, 3].map(|token| hold("r", token));
    let (stranger, zero) = (hold("s", 9), Duration::ZERO);
    // The mark that the waiters left makes a release look at the queue.
    assert_eq!(released(&store, &[(&first, zero), (&stranger, zero)]).await, [freed, nothing]);
    assert!(store.is_held(&second).await.unwrap());
    let releases = [(&second, zero), (&second, zero), (&third, zero), (&first, zero)];
    assert_eq!(released(&store, &releases).await, [freed, nothing, freed, nothing]);
    assert_eq!(server.keys().len(), 1, "only the fence: {:?}", server.keys());
}

#[tokio::test]
async fn a_lost_reply_to_a_batch_is_as_one_to_each() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = patient::open(&proxy.url());
    let asked = batch(NAMES);
    let first = fences(&store, &asked).await;
    proxy.lose_next_reply();
    assert_eq!(fences(&store, &asked).await, first, "the same leases");
    proxy.lose_next_reply();
    assert_eq!(renewed(&store, &holds(&asked, TTL)).await, [Renewed::Extended; 5]);
    proxy.lose_next_reply();
    for answer in store.release_each(&holds(&asked, Duration::ZERO)).await {
        assert_eq!(answer.unwrap_err().certainty(), Certainty::Unknown);
    }
    assert_eq!(server.keys().len(), 1, "only the fence: {:?}", server.keys());
}

#[tokio::test]
async fn without_the_right_to_ask_for_many_at_once_a_batch_is_served_all_the_same() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "slow", "on", ">s3cret", "~*", "&*", "+@all", "-mget"]);
    let store = patient::open(&server.url_for("slow", "s3cret"));
    let asked = batch(NAMES);
    fences(&store, &asked).await;
    let mut all = holds(&asked, TTL);
    let stranger = hold("stranger", 9);
    all.push((&stranger, TTL));
    let (extended, not_held) = (Renewed::Extended, Renewed::NotHeld);
    assert_eq!(renewed(&store, &all).await, [extended, extended, extended, extended, extended, not_held]);
    all.iter_mut().for_each(|(_, cooldown)| *cooldown = Duration::ZERO);
    let (freed, nothing) = (Released::Freed, Released::NotHeld { count: 0 });
    assert_eq!(released(&store, &all).await, [freed, freed, freed, freed, freed, nothing]);
    assert_eq!(server.keys().len(), 1, "only the fence: {:?}", server.keys());
}

#[tokio::test]
async fn fences_that_could_not_grow_any_more_are_not_given_out() {
    let server = RedisServer::start();
    let store = store(&server);
    // So large that the next numbers could not be told apart where the scripts count.
    server.command(&["SET", "leasehold:fence", "9007199254740989"]);
    for answer in store.acquire_each(&batch(NAMES)).await {
        assert!(matches!(answer, Err(StoreError::Corrupt { .. })), "{answer:?}");
    }
    server.command(&["SET", "leasehold:fence", "8999999999999990"]);
    let fences = fences(&store, &batch(NAMES)).await;
    assert!(fences.windows(2).all(|two| two[0] < two[1]), "{fences:?}");
}
