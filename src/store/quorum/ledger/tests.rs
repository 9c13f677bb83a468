//! Tests of the pending releases in the ledger of a quorum, and of when they are due.

use super::*;
use crate::store::Metadata;

const TTL: Duration = Duration::from_secs(10);

fn asked() -> Arc<Acquisition> {
    let hold = Hold { resource: ResourceName::new("r").unwrap(), token: Token::from_bits(1), owner: None };
    Arc::new(Acquisition {
        hold,
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: TTL,
        lock_delay: Duration::ZERO,
        metadata: Arc::new(Metadata::new()),
        ticket: None,
    })
}

#[test]
fn what_an_earlier_attempt_left_is_released_again_if_the_node_was_not_reached() {
    let (ledger, now, asked) = (Ledger::new(1), Moment::since_origin(Duration::ZERO), [asked()]);
    let token = asked[0].hold.token;
    let begin = || {
        let (attempt, _) = ledger.begin(&asked, now);
        let _late = ledger.want_again(0, &asked, now);
        attempt
    };
    let first = begin();
    assert!(!ledger.release_again(0, token, first), "nothing was left");
    let hold = asked[0].hold.clone();
    assert!(ledger.release_later(
        0,
        PendingRelease {
            hold,
            opening: now,
            end: now + TTL,
            attempt: first,
            again: None,
            queued_again: None
        }
    ));
    let second = begin();
    assert!(ledger.take(0, 1, now).is_empty(), "it is wanted again");
    assert!(ledger.release_again(0, token, second));
    assert_eq!(ledger.take(0, 1, now).len(), 1);
}

#[test]
fn a_release_that_failed_stays_in_flight_until_one_is_answered() {
    let (ledger, now, asked) = (Ledger::new(1), Moment::since_origin(Duration::ZERO), [asked()]);
    let fail = || {
        let (attempt, _) = ledger.begin(&asked, now);
        let late = ledger.want_again(0, &asked, now);
        ledger.finish(attempt, &asked[0], None);
        let hold = asked[0].hold.clone();
        let _begin = ledger.release_later(
            0,
            PendingRelease { hold, opening: now, end: now + TTL, attempt, again: None, queued_again: None },
        );
        (late, ledger.take(0, 1, now).pop().unwrap())
    };
    let (late, first) = fail();
    assert_eq!(late, [false]);
    ledger.failed(0, first);
    let (late, second) = fail();
    assert_eq!(late, [true], "it might take the second attempt's vote away");
    ledger.settled(0, &second);
    let (late, _) = fail();
    assert_eq!(late, [false]);
}

#[test]
fn an_attempt_whose_token_is_over_holds_no_release_back() {
    let (ledger, now, asked) = (Ledger::new(1), Moment::since_origin(Duration::ZERO), [asked()]);
    let (attempt, _) = ledger.begin(&asked, now);
    assert_eq!(ledger.still_want(0, &asked, attempt, now), [false]);
    let (later, _) = ledger.begin(&asked, now);
    assert_eq!(ledger.still_want(0, &asked, attempt, now), [true], "a later attempt asks for itself");
    let over = ledger.remove([&asked[0].hold]);
    let hold = asked[0].hold.clone();
    let _begin = ledger.release_later(
        0,
        PendingRelease { hold, opening: now, end: now + TTL, attempt: over, again: None, queued_again: None },
    );
    assert_eq!(ledger.still_want(0, &asked, later, now), [true]);
    assert_eq!(ledger.take(0, 1, now).len(), 1, "it is released all the same");
}

#[tokio::test(start_paused = true)]
async fn a_release_is_waited_for_until_it_is_answered_or_has_failed() {
    let (ledger, now, asked) = (Ledger::new(2), Moment::since_origin(Duration::ZERO), [asked()]);
    let token = asked[0].hold.token;
    for fails in [false, true] {
        let (attempt, _) = ledger.begin(&asked, now);
        ledger.finish(attempt, &asked[0], None);
        let hold = asked[0].hold.clone();
        let _begin = ledger.release_later(
            0,
            PendingRelease { hold, opening: now, end: now + TTL, attempt, again: None, queued_again: None },
        );
        let pending = ledger.take(0, 1, now).pop().unwrap();
        ledger.await_releases(1, &asked).await;
        let mut waits = std::pin::pin!(ledger.await_releases(0, &asked));
        assert!(tokio::time::timeout(TTL, waits.as_mut()).await.is_err());
        match fails {
            true => ledger.failed(0, pending),
            false => ledger.settled(0, &pending),
        }
        waits.await;
        assert_eq!(ledger.is_being_released(0, token, now), fails);
    }
}

#[test]
fn a_release_of_an_earlier_attempt_is_set_aside_while_the_token_waits() {
    let (ledger, now, asked) = (Ledger::new(2), Moment::since_origin(Duration::ZERO), [asked()]);
    let (hold, token) = (asked[0].hold.clone(), asked[0].hold.token);
    let (first, _) = ledger.begin(&asked, now);
    let (second, _) = ledger.begin(&asked, now);
    assert!(!ledger.finish(first, &asked[0], Some(now + TTL)), "it has attempted again");
    assert!(ledger.finish(second, &asked[0], Some(now + TTL)));
    assert!(ledger.waits(token, Some(second)) && !ledger.waits(token, Some(first)));
    let pending = PendingRelease {
        hold,
        opening: now,
        end: now + TTL,
        attempt: first,
        again: None,
        queued_again: None,
    };
    assert!(!ledger.release_later(1, pending));
    assert!(ledger.take(1, 1, now).is_empty());
    assert_eq!(ledger.aside(&[token]), [(1, token)]);
    let latest = ledger.remove([&asked[0].hold]);
    assert!(!ledger.is_wanted(token));
    assert!(ledger.release_again(1, token, latest));
    assert_eq!(ledger.take(1, 1, now).len(), 1);
}
