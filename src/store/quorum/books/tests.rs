//! Tests of the pending releases in the books of a quorum, and of when they are due.

use super::*;
use crate::store::{
    Certainty, QueueTicket,
    quorum::{
        releases::{ReleaseState, Repetition},
        tokens::Granted,
    },
    types::exclusive,
};

const TTL: Duration = Duration::from_secs(10);
const NOW: Moment = Moment::since_origin(Duration::ZERO);

fn asked() -> Arc<Acquisition> {
    let inbox = Inbox(Token::from_bits(2));
    let ticket = QueueTicket { inbox, grant_window: TTL, ttl: TTL, max_waiters: 9, place: None };
    Arc::new(Acquisition { ticket: Some(ticket), ..exclusive("r", 1) })
}

fn pending(asked: &Acquisition, attempt: u64) -> PendingRelease {
    PendingRelease::new(asked.hold.clone(), NOW, NOW + TTL, attempt)
}

impl Books {
    fn begins(&mut self, asked: &Arc<Acquisition>) -> u64 {
        self.tokens.begin(&mut [Arc::clone(asked)], None, NOW).0
    }

    /// Returns true if it is too late for this attempt on the first node.
    fn is_late(&mut self, asked: &Arc<Acquisition>, attempt: u64) -> bool {
        self.want_again(0, std::slice::from_ref(asked), attempt, NOW) == [true]
    }

    fn releases_next(&mut self, node: usize) -> Option<PendingRelease> {
        self.releases[node].take(1, NOW).pop()
    }
}

#[test]
fn what_an_earlier_attempt_left_is_released_again_if_the_node_was_not_reached() {
    let (mut books, asked) = (Books::new(1), asked());
    let token = asked.hold.token;
    let first = books.begins(&asked);
    assert!(!books.is_late(&asked, first) && !books.release_again(0, token, first), "nothing was left");
    assert!(books.release_later(0, pending(&asked, first)));
    let second = books.begins(&asked);
    assert!(!books.is_late(&asked, second));
    assert!(books.releases_next(0).is_none(), "it is wanted again");
    assert!(books.release_again(0, token, second));
    assert!(books.releases_next(0).is_some());
}

#[test]
fn a_release_that_failed_stays_in_flight_until_one_is_answered() {
    let (mut books, asked) = (Books::new(1), asked());
    let fail = |books: &mut Books| {
        let attempt = books.begins(&asked);
        let late = books.is_late(&asked, attempt);
        books.tokens.finish(attempt, &asked.hold, None);
        let _begins = books.release_later(0, pending(&asked, attempt));
        (late, books.releases_next(0).unwrap())
    };
    let (late, first) = fail(&mut books);
    assert!(!late);
    books.failed(0, first, &StoreError::reply_lost("release"));
    assert!(fail(&mut books).0, "it might take the second attempt's vote away");
    books.releases[0].settled(asked.hold.token);
    assert!(!fail(&mut books).0);
}

#[test]
fn an_attempt_whose_token_is_over_holds_no_release_back() {
    let (mut books, asked) = (Books::new(1), asked());
    let attempt = books.begins(&asked);
    assert!(!books.is_late(&asked, attempt));
    let later = books.begins(&asked);
    assert!(books.is_late(&asked, attempt), "a later attempt asks for itself");
    let over = books.forget(std::iter::once(&asked.hold));
    let _begins = books.release_later(0, pending(&asked, over));
    assert!(books.is_late(&asked, later));
    assert!(books.releases_next(0).is_some(), "it is released all the same");
}

#[test]
fn a_release_is_unanswered_until_it_is_answered_or_has_failed() {
    let (mut books, asked) = (Books::new(2), asked());
    let token = asked.hold.token;
    let is_unanswered =
        |books: &Books, node: usize| books.releases[node].unanswered([token].into_iter()).is_some();
    for error in [None, Some(StoreError::reply_lost("release")), Some(StoreError::unavailable("away"))] {
        let attempt = books.begins(&asked);
        books.tokens.finish(attempt, &asked.hold, None);
        let _begins = books.release_later(0, pending(&asked, attempt));
        let taken = books.releases_next(0).unwrap();
        assert!(is_unanswered(&books, 0) && !is_unanswered(&books, 1));
        assert_eq!(books.releases[0].state(token, NOW), ReleaseState::Queued);
        match &error {
            Some(error) => books.failed(0, taken, error),
            None => assert!(!books.releases[0].settled(token), "nobody is to be repaired"),
        }
        assert!(!is_unanswered(&books, 0));
        let may_come = error.as_ref().is_some_and(|error| error.certainty() == Certainty::Unknown);
        assert_eq!(books.releases[0].is_in_flight(token, NOW), may_come, "{error:?}");
        let _pending = books.releases_next(0);
        books.releases[0].settled(token);
    }
}

#[test]
fn a_release_of_an_earlier_attempt_is_set_aside_while_the_token_waits() {
    let (mut books, asked) = (Books::new(2), asked());
    let token = asked.hold.token;
    let (first, second) = (books.begins(&asked), books.begins(&asked));
    assert!(!books.tokens.finish(first, &asked.hold, Some(NOW + TTL)), "it has attempted again");
    assert!(books.tokens.finish(second, &asked.hold, Some(NOW + TTL)));
    let answered = TurnEvent::Answered { split: &[], is_held: false };
    assert_eq!(books.follow(token, Some(first), answered), Remaining::Nobody);
    assert_eq!(books.follow(token, Some(second), answered), Remaining::Nothing);
    assert!(books.tokens.waits_since(token, second) && !books.tokens.waits_since(token, first));
    assert!(!books.release_later(1, pending(&asked, first)));
    assert!(books.releases_next(1).is_none());
    assert_eq!(books.end_release([token].into_iter()), [(1, token)]);
    let latest = books.forget(std::iter::once(&asked.hold));
    assert!(!books.tokens.is_wanted(token));
    assert!(books.release_again(1, token, latest));
    assert!(books.releases_next(1).is_some());
}

#[test]
fn a_waiter_has_the_first_place_that_it_proposed() {
    let (mut books, asked) = (Books::new(5), asked());
    let places = [None, Some(7), Some(9), None].map(|place| {
        let mut asked = [Arc::clone(&asked)];
        books.tokens.begin(&mut asked, place, NOW);
        asked[0].ticket.and_then(|ticket| ticket.place)
    });
    assert_eq!(places, [None, Some(7), Some(7), Some(7)]);
}

#[test]
fn a_waiter_is_told_at_its_inbox_until_it_is_granted() {
    let (mut books, asked) = (Books::new(3), asked());
    let token = asked.hold.token;
    let mut told = books.subscribe(Inbox(Token::from_bits(2)));
    let attempt = books.begins(&asked);
    assert_eq!(books.follow(token, None, TurnEvent::Called), Remaining::Nothing);
    assert!(matches!(told.try_recv(), Ok(Notification::GoOn(_))));
    for node in [0, 2] {
        assert_eq!(books.follow(token, None, TurnEvent::Named(node)), Remaining::Nothing);
    }
    assert!(books.tokens.grant(Granted { attempt, asked: Arc::clone(&asked), fence: None }));
    assert_eq!(books.tokens.leave_queues(token, attempt), [0, 2]);
    assert_eq!(books.follow(token, None, TurnEvent::Named(1)), Remaining::Nobody);
    assert!(told.try_recv().is_err());
}

#[test]
fn a_release_in_place_of_another_one_repeats_what_that_would_repeat() {
    let (mut books, asked) = (Books::new(1), asked());
    let attempt = books.begins(&asked);
    let again = Some(Repetition::first(NOW + TTL));
    books.releases[0].set_aside(PendingRelease { again, ..pending(&asked, attempt) });
    let over = books.forget(std::iter::once(&asked.hold));
    assert!(books.release_again(0, asked.hold.token, over));
    assert!(!books.release_later(0, PendingRelease { end: NOW + 6 * TTL, ..pending(&asked, over) }));
    let next = books.releases_next(0).unwrap();
    assert_eq!((next.end, next.again.map(|again| again.until)), (NOW + 6 * TTL, Some(NOW + TTL)));
    assert!(books.releases_next(0).is_none());
}

#[test]
fn what_a_late_node_has_is_not_released_before_the_answer_to_the_release_of_the_lease() {
    let (mut books, asked) = (Books::new(1), asked());
    let (first, token) = (books.begins(&asked), asked.hold.token);
    for _ in 0..2 {
        books.begin_release([&asked.hold].into_iter());
    }
    assert!(!books.release_later(0, pending(&asked, first)));
    assert!(books.releases_next(0).is_none());
    let mut ends = || books.end_release([token].into_iter());
    assert_eq!((ends(), ends()), (vec![(0, token)], vec![(0, token)]));
    assert!(books.release_again(0, token, first));
    assert!(books.releases_next(0).is_some());
    assert!(books.releasing.is_empty());
}

#[test]
fn neither_a_pending_release_nor_one_that_fails_is_sent_while_a_verb_releases_the_lease() {
    let (mut books, asked) = (Books::new(2), asked());
    let (first, token) = (books.begins(&asked), asked.hold.token);
    books.tokens.finish(first, &asked.hold, None);
    assert!(books.release_later(0, pending(&asked, first)) && books.release_later(1, pending(&asked, first)));
    let sent = books.releases_next(1).unwrap();
    books.begin_release([&asked.hold].into_iter());
    books.failed(1, sent, &StoreError::unavailable("away"));
    assert!(books.releases_next(0).is_none() && books.releases_next(1).is_none());
    assert_eq!(books.end_release([token].into_iter()), [(0, token), (1, token)]);
}

#[test]
fn a_release_that_fails_keeps_what_was_queued_meanwhile() {
    let (mut books, asked) = (Books::new(1), asked());
    let first = books.begins(&asked);
    books.tokens.finish(first, &asked.hold, None);
    assert!(books.release_later(0, pending(&asked, first)));
    let sent = books.releases_next(0).unwrap();
    let again = Some(Repetition::first(NOW + TTL));
    let opening = NOW + TTL / 2;
    let _begins = books.release_later(0, PendingRelease { again, opening, ..pending(&asked, first) });
    books.failed(0, sent, &StoreError::reply_lost("release"));
    let next = books.releases_next(0).unwrap();
    assert_eq!(
        (next.again.is_some(), next.opening),
        (true, opening),
        "its acquisition may still be executed"
    );
}
