//! Free locks that are taken by plain commands: when they are, and what is promised then.

use std::sync::Arc;

use futures_util::StreamExt;
use leasehold::store::Notification;

use crate::redis::store::{proxy::Proxy, seen::waiting, *};

/// Returns how many locks were asked for by plain commands, and how many scripts the server has executed since it was asked last.
struct Counts<'a>(&'a RedisServer, Vec<u64>);

impl<'a> Counts<'a> {
    fn of(server: &'a RedisServer) -> Self {
        Self(server, calls(server, &["incrby", "evalsha"]))
    }

    fn since(&mut self) -> (u64, u64) {
        let before = std::mem::replace(&mut self.1, calls(self.0, &["incrby", "evalsha"]));
        (self.1[0] - before[0], self.1[1] - before[1])
    }
}

/// Returns a store that takes free locks by plain commands from now on.
async fn warm(server: &RedisServer) -> RedisStore {
    let store = store(server);
    granted(&store, &exclusive(&hold("warm", 1_000))).await;
    store
}

#[tokio::test]
async fn the_first_lock_on_a_connection_is_taken_by_a_script_and_the_next_by_plain_commands() {
    let server = RedisServer::start();
    let store = store(&server);
    let mut counts = Counts::of(&server);
    let mut last = granted(&store, &exclusive(&hold("first", 1))).await;
    assert_eq!(counts.since(), (0, 1));
    for token in 2..5 {
        let fence = granted(&store, &exclusive(&hold(&format!("next {token}"), token))).await;
        assert!(fence > last, "{fence} after {last}");
        assert_eq!(counts.since(), (1, 0));
        last = fence;
    }
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    let fence = in_the_end(async || store.acquire(&exclusive(&hold("anew", 6))).await).await;
    assert!(matches!(fence, Acquired::Granted(grant) if grant.fence > Some(last)), "{fence:?}");
    let (plain, scripts) = counts.since();
    assert!(plain == 0 && scripts > 0, "{plain} {scripts}");
    assert_all_end(&server);
}

#[tokio::test]
async fn what_is_no_plain_exclusive_lock_is_taken_by_a_script() {
    let server = RedisServer::start();
    let store = warm(&server).await;
    let mut counts = Counts::of(&server);
    for asked in one_of_each().into_iter().skip(1) {
        granted(&store, &asked).await;
        assert_eq!(counts.since(), (0, 1), "{asked:?}");
    }
}

#[tokio::test]
async fn many_locks_are_asked_for_in_parts_that_a_server_reads_at_once() {
    let server = RedisServer::start();
    let store = warm(&server).await;
    let asked: Vec<_> =
        (1..=200).map(|token| Arc::new(exclusive(&hold(&format!("r{token}"), token)))).collect();
    let mut counts = Counts::of(&server);
    let fence = |answer| match answer {
        Ok(Acquired::Granted(grant)) => grant.fence,
        other => panic!("{other:?}"),
    };
    let fences: Vec<_> = store.acquire_each(&asked).await.into_iter().map(fence).collect();
    assert!(fences.is_sorted_by(|earlier, later| earlier < later), "{fences:?}");
    assert_eq!(counts.since(), (4, 0));
}

#[tokio::test]
async fn a_lock_that_was_found_held_is_asked_for_by_scripts() {
    let server = RedisServer::start();
    let (store, other) = (warm(&server).await, warm(&server).await);
    granted(&other, &exclusive(&hold("r", 1))).await;
    let mut counts = Counts::of(&server);
    for expected in [(1, 1), (0, 1)] {
        let answer = store.acquire(&exclusive(&hold("r", 2))).await.unwrap();
        assert!(matches!(answer, Acquired::Refused(_)), "{answer:?}");
        assert_eq!(counts.since(), expected);
    }
    assert_eq!(other.release(&hold("r", 1), Duration::ZERO).await.unwrap(), Released::Freed);
    granted(&store, &exclusive(&hold("r", 2))).await;
    assert_eq!(counts.since(), (0, 2));
}

#[tokio::test]
async fn fences_grow_though_their_counter_is_lost_or_set_back() {
    let server = RedisServer::start();
    let store = warm(&server).await;
    let mut last = granted(&store, &exclusive(&hold("r", 1))).await;
    let harm: [&[&str]; 3] = [
        &["DEL", "leasehold:fence"],
        &["SET", "leasehold:fence", "17"],
        &["SET", "leasehold:fence", "9000000000000000000"],
    ];
    for (harm, token) in harm.into_iter().zip(2..) {
        server.command(harm);
        if harm[2..] == ["9000000000000000000"] {
            let error = store.acquire(&exclusive(&hold("too large", token))).await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
            assert_eq!(error.certainty(), Certainty::Unknown);
            assert_eq!(
                store.release(&hold("too large", token), Duration::ZERO).await.unwrap(),
                Released::Freed
            );
            server.command(&["DEL", "leasehold:fence"]);
        }
        let fence = granted(&store, &exclusive(&hold(&format!("after {token}"), token))).await;
        assert!(fence > last, "{fence} after {last}: {harm:?}");
        last = fence;
        granted(&store, &exclusive(&hold(&format!("warm {token}"), token))).await;
    }
    assert_all_end(&server);
}

#[tokio::test]
async fn a_repeat_on_a_new_connection_says_nothing_of_the_counter() {
    let server = RedisServer::start();
    let (mine, other) = (store(&server), store(&server));
    let held = exclusive(&hold("held", 1));
    let first = granted(&mine, &held).await;
    let theirs = exclusive(&hold("r", 2));
    let last = granted(&other, &theirs).await;
    assert_eq!(other.release(&theirs.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    // As a replica that lagged, and is the master now.
    server.command(&["SET", "leasehold:fence", &first.to_string()]);
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    let again = in_the_end(async || mine.acquire(&held).await).await;
    assert!(matches!(again, Acquired::Granted(grant) if grant.fence == Some(first)), "{again:?}");
    let fence = granted(&mine, &exclusive(&hold("r", 3))).await;
    assert!(fence > last, "{fence} after {last}");
}

#[tokio::test]
async fn a_connection_that_was_opened_after_the_last_script_says_nothing_of_the_counter() {
    let server = RedisServer::start();
    let (mine, other) = (store(&server), store(&server));
    let first = granted(&mine, &exclusive(&hold("held", 1))).await;
    let last = granted(&other, &exclusive(&hold("theirs", 2))).await;
    // As a replica that lagged, and is the master now.
    server.command(&["SET", "leasehold:fence", &first.to_string()]);
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    assert!(in_the_end(async || mine.is_held(&hold("held", 1)).await).await);
    let fence = granted(&mine, &exclusive(&hold("r", 3))).await;
    assert!(fence > last, "{fence} after {last}");
}

#[tokio::test]
async fn a_repeat_is_granted_with_a_larger_fence_and_inspections_tell_it() {
    let server = RedisServer::start();
    let store = warm(&server).await;
    let asked = exclusive(&hold("r", 1));
    let seen = async || store.inspect(&asked.hold.resource, 1).await.unwrap().holders.remove(0);
    let first = granted(&store, &asked).await;
    let holder = seen().await;
    assert_eq!(holder.fence, None, "its holder alone knows it");
    assert!(holder.held_for.is_some_and(|held| held < TTL), "{holder:?}");
    let again = granted(&store, &asked).await;
    assert!(again > first, "{again} after {first}");
    assert_eq!(seen().await.fence, Some(again));
    assert_eq!(granted(&store, &asked).await, again);
    let other = exclusive(&hold("other", 2));
    let told = granted(&store, &other).await;
    let renewals = [(&asked, again), (&other, told)]
        .map(|(asked, fence)| Renewal { fence: Some(fence), ..Renewal::new(&asked.hold, 2 * TTL) });
    for renewed in store.renew_each(&renewals).await {
        assert_eq!(renewed.unwrap(), Renewed::Extended);
    }
    assert_eq!(seen().await.fence, Some(again));
    let inspection = store.inspect(&other.hold.resource, 1).await.unwrap();
    let [holder] = &inspection.holders[..] else { panic!("{inspection:?}") };
    assert_eq!(holder.fence, Some(told), "a renewal writes it down");
    assert!(holder.held_for.is_some_and(|held| held < TTL), "{holder:?}");
    assert_eq!(granted(&store, &other).await, told);
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn a_waiter_whose_holder_died_comes_before_plain_commands() {
    let server = RedisServer::with_clock();
    let (store, other) = (warm(&server).await, warm(&server).await);
    let mut notifications = other.listen(&INBOX);
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    granted(&other, &exclusive(&hold("r", 1))).await;
    let answer = other.acquire(&waiting(2)).await.unwrap();
    assert!(matches!(answer, Acquired::Queued { .. }), "{answer:?}");
    server.advance(TTL + Duration::from_secs(1));
    let mut counts = Counts::of(&server);
    let answer = store.acquire(&exclusive(&hold("r", 3))).await.unwrap();
    assert_eq!(counts.since(), (1, 1), "it was taken by plain commands first");
    assert!(matches!(answer, Acquired::Refused(_)), "{answer:?}");
    granted(&other, &waiting(2)).await;
}

#[tokio::test]
async fn a_lost_answer_to_plain_commands_does_not_lose_the_lock() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = patient::open(&proxy.url());
    let before = granted(&store, &exclusive(&hold("warm", 1))).await;
    let mut counts = Counts::of(&server);
    proxy.lose_next_reply();
    let asked = exclusive(&hold("r", 2));
    let fence = granted(&store, &asked).await;
    assert!(fence > before, "{fence} after {before}");
    assert_eq!(counts.since(), (1, 1));
    assert_eq!(store.inspect(&asked.hold.resource, 1).await.unwrap().holders[0].fence, Some(fence));
}

#[tokio::test]
async fn a_user_who_lacks_a_plain_command_takes_all_locks_by_scripts() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "user", "on", ">s3cret", "~*", "&*", "+@all", "-incrby"]);
    let store = patient::open(&server.url_for("user", "s3cret"));
    let mut last = None;
    for token in 1..5 {
        let fence = granted(&store, &exclusive(&hold(&format!("r{token}"), token))).await;
        assert!(Some(fence) > last, "{fence} after {last:?}");
        last = Some(fence);
    }
    let mut counts = Counts::of(&server);
    let asked = exclusive(&hold("last", 100));
    granted(&store, &asked).await;
    assert_eq!(counts.since(), (0, 1));
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    assert_all_end(&server);
}

/// Acquires `r` by plain commands and lets something else happen before the one of this name. Returns the answer.
async fn acquired_around(server: &RedisServer, command: &str, between: impl AsyncFnOnce()) -> Acquired {
    let proxy = Proxy::start(server).await;
    let store = patient::open(&proxy.url());
    granted(&store, &exclusive(&hold(&format!("before {command}"), 1))).await;
    let commands = ["incrby", "set", "exists", "mget"];
    let before = calls(server, &commands);
    let position = commands.iter().position(|name| *name == command).unwrap();
    let held_back = proxy.hold_back(format!("\r\n{}\r\n", command.to_uppercase()));
    let asked = exclusive(&hold("r", 2));
    let between = async {
        held_back.reached().await;
        while calls(server, &commands)[position - 1] == before[position - 1] {
            tokio::task::yield_now().await;
        }
        assert_eq!(calls(server, &commands)[position..], before[position..], "{command}");
        between().await;
        held_back.let_go();
    };
    let (answer, ()) = tokio::join!(store.acquire(&asked), between);
    answer.unwrap()
}

#[tokio::test]
async fn a_fence_that_is_older_than_the_grant_of_another_is_not_given_out() {
    let server = RedisServer::start();
    let (other, mut theirs) = (store(&server), None);
    let answer = acquired_around(&server, "set", async || {
        let asked = exclusive(&hold("r", 3));
        theirs = Some(granted(&other, &asked).await);
        assert_eq!(other.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    })
    .await;
    assert!(matches!(answer, Acquired::Granted(grant) if grant.fence > theirs), "{answer:?}, {theirs:?}");
}

#[tokio::test]
async fn a_lock_that_was_ended_by_force_before_its_holder_heard_of_it_is_not_granted() {
    let server = RedisServer::start();
    let other = store(&server);
    for command in ["exists", "mget"] {
        let answer = acquired_around(&server, command, async || {
            other.force_release(&hold("r", 3).resource).await.unwrap();
            granted(&other, &exclusive(&hold("r", 3))).await;
        })
        .await;
        assert!(matches!(answer, Acquired::Refused(_)), "{command}: {answer:?}");
        other.force_release(&hold("r", 3).resource).await.unwrap();
    }
}

#[tokio::test]
async fn a_lock_that_was_ended_by_force_before_its_holder_heard_of_it_is_taken_anew() {
    let server = RedisServer::start();
    let (other, asked) = (store(&server), hold("r", 2));
    for command in ["exists", "mget"] {
        let answer = acquired_around(&server, command, async || {
            other.force_release(&asked.resource).await.unwrap();
        })
        .await;
        assert!(matches!(answer, Acquired::Granted(_)), "{command}: {answer:?}");
        assert!(other.is_held(&asked).await.unwrap(), "{command}");
        other.force_release(&asked.resource).await.unwrap();
    }
}

#[tokio::test]
async fn a_lock_that_its_release_keeps_closed_tells_when_it_opens() {
    let server = RedisServer::start();
    let store = store(&server);
    granted(&store, &exclusive(&hold("warm", 1))).await;
    let asked = exclusive(&hold("r", 2));
    granted(&store, &asked).await;
    let _ = store.release(&asked.hold, TTL).await.unwrap();
    assert!(matches!(store.acquire(&waiting(3)).await.unwrap(), Acquired::Queued { .. }));
    let told = store.acquire(&exclusive(&hold("r", 4))).await.unwrap();
    assert!(matches!(&told, Acquired::Refused(refusal) if refusal.remaining > TTL / 2), "{told:?}");
}

#[tokio::test]
async fn a_hold_that_is_renewed_twice_in_one_call_keeps_the_last_ttl() {
    let server = RedisServer::start();
    let store = store(&server);
    let asked = exclusive(&hold("r", 1));
    granted(&store, &asked).await;
    let renewals = [TTL / 10, TTL].map(|ttl| Renewal::new(&asked.hold, ttl));
    for renewed in store.renew_each(&renewals).await {
        assert_eq!(renewed.unwrap(), Renewed::Extended);
    }
    let told = store.acquire(&exclusive(&hold("r", 2))).await.unwrap();
    assert!(matches!(&told, Acquired::Refused(refusal) if refusal.remaining > TTL / 2), "{told:?}");
}
