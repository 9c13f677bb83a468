//! The transitions of an acquisition that waits.

mod release;

use super::*;
use crate::core::{
    Backoff,
    engine::tests::{self as engine, GRANT_WINDOW, TICKET_TTL, TTL, WAIT, ms},
    jitter,
    made_up::at_millis as at,
};

const ALONE: Situation = Situation { now: at(0), subscribed: true, relied_on: false };
const LEADER: Situation = Situation { relied_on: true, ..ALONE };
const DISCONNECTED: Situation = Situation { subscribed: false, ..ALONE };

const LEAD: (u64, Event) = (0, Event::Lead);
const GRANTED: Answer = Answer::Granted { overtook: false, caller_gone: false };
const QUEUE_FULL: Answer = Answer::QueueFull { waiters: 7 };

fn terms() -> Terms {
    engine::terms(0)
}

fn refused(remaining: u64, ahead: Option<u64>) -> Answer {
    Answer::Refused { remaining: ms(remaining), ahead, by: Front::Somebody }
}

fn failed(unknown: bool, transient: bool) -> Answer {
    Answer::Failed { unknown, transient }
}

fn answered(sent: u64, answer: Answer) -> Event {
    Event::Answered { sent: at(sent), answer }
}

fn wake_after(millis: u64) -> Steps {
    Steps::wake_after(ms(millis))
}

fn asks() -> Steps {
    Steps { ask: true, ..Steps::default() }
}

fn ends(end: End) -> Steps {
    Steps { end: Some(end), leave: true, remove: true, ..Steps::default() }
}

/// The steps that release what opens at this moment.
fn release(opening: u64, hand_off: bool) -> Steps {
    Steps { release: Some(ReleaseStep { opening: at(opening), hand_off }), ..Steps::default() }
}

/// The steps of a request that leaves something behind in the store.
fn releases(end: Option<End>, now: u64) -> Steps {
    Steps { end, leave: true, ..release(now, false) }
}

fn on(acquisition: &mut Acquisition, now: u64, event: Event) -> Steps {
    acquisition.on(event, Situation { now: at(now), ..ALONE }, || 0.5)
}

/// Returns the acquisition after these events, each at its time, and the steps of the last one.
fn after(terms: Terms, events: &[(u64, Event)], situation: Situation) -> (Acquisition, Steps) {
    let mut waiting = Acquisition::new(terms);
    let on =
        |&(now, event): &(u64, Event)| waiting.on(event, Situation { now: at(now), ..situation }, || 0.5);
    let steps = events.iter().map(on);
    let steps = steps.last().expect("an event");
    (waiting, steps)
}

/// Makes sure that the last of these events leads to these steps, and returns the acquisition after it.
#[track_caller]
fn expect(terms: Terms, events: &[(u64, Event)], situation: Situation, expected: Steps) -> Acquisition {
    let (acquisition, steps) = after(terms, events, situation);
    assert_eq!(steps, expected, "after {events:?}");
    acquisition
}

/// Returns the events of an acquisition that has a queue ticket, and these.
fn queued(more: &[(u64, Event)]) -> Vec<(u64, Event)> {
    let queued = [LEAD, (10, answered(0, refused(500, Some(1))))];
    queued.iter().chain(more).copied().collect()
}

#[test]
fn a_leader_asks() {
    let waiting = expect(terms(), &[LEAD], ALONE, asks());
    assert!(waiting.is_asking() && !waiting.is_following());
    assert_eq!((waiting.attempts, waiting.told), (1, Told::Nothing));
}

#[test]
fn a_follower_asks_only_with_the_release_that_hands_off_to_it() {
    let behind = (0, Event::Follow(3));
    let (waiting, steps) = after(terms(), &[behind], ALONE);
    assert_eq!((steps, waiting.ahead()), (Steps::default(), Some(3)));
    assert!(waiting.is_following() && !waiting.has_ticket());
    expect(terms(), &[behind, (20, Event::Due)], ALONE, wake_after(WAIT - 20));
    let waiting = expect(terms(), &[behind, (30, Event::HandOff)], ALONE, Steps::default());
    assert!(waiting.is_asking());
    assert_eq!(waiting.attempts, 1);
}

#[test]
fn without_notifications_pauses_are_those_of_the_backoff_or_end_soon_after_the_holder() {
    // Equal jitter and a draw of a half: three quarters of 100 ms.
    expect(terms(), &[LEAD, (10, answered(0, refused(5_000, None)))], ALONE, wake_after(75));
    expect(terms(), &[LEAD, (10, answered(0, refused(5_000, Some(1))))], DISCONNECTED, wake_after(75));
    expect(terms(), &[LEAD, (10, answered(0, failed(false, true)))], ALONE, wake_after(75));
    let soon = Steps::wake_after(ms(20) + ms(75).mul_f64(0.5 / 8.0));
    expect(terms(), &[LEAD, (10, answered(0, refused(20, None)))], ALONE, soon);
}

#[test]
fn with_a_queue_ticket_attempts_refresh_it_or_find_a_holder_that_died() {
    // A third of the ticket's TTL at most.
    let keeps = Steps::wake_after(jitter(ms(TICKET_TTL / 3), 0.5));
    expect(terms(), &[LEAD, (10, answered(0, refused(60_000, Some(1))))], ALONE, keeps);
    // Just after the end of the holder: one waiter and a half, 20 ms each.
    expect(terms(), &queued(&[]), ALONE, wake_after(500 + 30));
    // All who are ahead may be dead.
    let many = Steps::wake_after(ms(500) + ms(GRANT_WINDOW).mul_f64(0.5 / 4.0));
    expect(terms(), &[LEAD, (10, answered(0, refused(500, Some(1_000))))], ALONE, many);
}

#[test]
fn no_pause_is_shorter_than_five_ms_or_outlasts_the_wait() {
    let short = Terms { pauses: Backoff::new(ms(1), ms(1)).unwrap().into(), ..terms() };
    expect(short, &[LEAD, (10, answered(0, refused(0, None)))], ALONE, wake_after(5));
    expect(terms(), &[LEAD, (WAIT - 3, answered(0, refused(500, None)))], ALONE, wake_after(3));
}

#[test]
fn tries_the_last_of_counted_attempts_full_queues_and_errors_that_time_does_not_cure_end_the_request() {
    let a_try = Terms { wait: Duration::ZERO, ..terms() };
    let counted = Terms { pauses: Backoff::DEFAULT.attempts(1).unwrap().into(), ..terms() };
    for (terms, now, answer, end) in [
        (a_try, 10, refused(500, None), End::Refused),
        (counted, 10, refused(500, None), End::Refused),
        (terms(), WAIT, refused(500, None), End::TimedOut),
        (terms(), 10, QUEUE_FULL, End::QueueFull { waiters: 7 }),
        (terms(), 10, failed(false, false), End::Failed),
    ] {
        expect(terms, &[LEAD, (now, answered(0, answer))], ALONE, ends(end));
    }
}

#[test]
fn an_attempt_that_is_due_is_sent_and_the_end_of_the_wait_counts_while_it_is_in_flight() {
    let asks = Steps { wake_after: Some(ms(WAIT - 540)), ..asks() };
    expect(terms(), &queued(&[(540, Event::Due)]), ALONE, asks);
    expect(terms(), &[LEAD, (20, Event::Due)], ALONE, wake_after(WAIT - 20));
    let ends = Steps { end: Some(End::TimedOut), leave: true, ..Steps::default() };
    expect(terms(), &[LEAD, (WAIT, Event::Due)], ALONE, ends);
}

#[test]
fn an_attempt_that_is_taken_back_leaves_nothing_behind_unless_an_earlier_one_does() {
    let over = [(WAIT, Event::Due), (WAIT, Event::Unsent)];
    let nothing = Steps { leave: true, remove: true, ..Steps::default() };
    expect(terms(), &[&[LEAD], &over[..]].concat(), ALONE, nothing);
    let leaves = Steps { leave: true, ..releases(None, WAIT) };
    expect(terms(), &queued(&[&[(540, Event::Due)], &over[..]].concat()), ALONE, leaves);
    let unknown = [LEAD, (500, answered(0, failed(true, true))), (1_000, Event::Due)];
    expect(terms(), &[&unknown, &over[..]].concat(), ALONE, leaves);
}

#[test]
fn news_while_an_attempt_is_in_flight_is_followed_by_another_attempt() {
    for news in [Event::HandedOver, Event::Subscribed, Event::GoOn, Event::Next] {
        let (waiting, _) = after(terms(), &[LEAD, (5, news)], ALONE);
        assert_eq!(waiting.attempts, 1, "{news:?}");
        let answer = answered(0, refused(500, Some(1)));
        let asks = Steps { is_urgent: news == Event::HandedOver, ..asks() };
        expect(terms(), &[LEAD, (5, news), (6, Event::GoOn), (10, answer)], ALONE, asks);
    }
}

#[test]
fn news_during_a_pause_is_acted_on_at_once() {
    for news in [Event::HandedOver, Event::Subscribed, Event::GoOn] {
        let is_urgent = news == Event::HandedOver;
        let asks = Steps { wake_after: Some(ms(WAIT - 20)), is_urgent, ..asks() };
        expect(terms(), &queued(&[(20, news)]), ALONE, asks);
    }
    expect(terms(), &queued(&[(20, Event::Next)]), ALONE, wake_after(GRANT_WINDOW));
    let next = expect(terms(), &[LEAD, (5, Event::Next)], ALONE, Steps::default());
    assert_eq!(on(&mut next.clone(), 10, answered(0, refused(500, Some(1)))), asks());
}

#[test]
fn a_request_joins_a_cohort_if_it_waits_for_all_of_a_resource_without_counting_attempts() {
    let counted = Terms { pauses: Backoff::DEFAULT.attempts(3).unwrap().into(), ..terms() };
    let (shared, a_try) = (Terms { alone: false, ..terms() }, Terms { wait: Duration::ZERO, ..terms() });
    let joins = [terms(), shared, a_try, counted].map(|terms| Acquisition::new(terms).joins_cohort());
    assert_eq!(joins, [true, false, false, false]);
}

#[test]
fn a_waiter_has_a_caller_until_that_goes_and_perhaps_a_ticket_but_no_lease() {
    let (waiting, _) = after(terms(), &queued(&[]), LEADER);
    assert!(waiting.has_caller() && waiting.has_ticket() && !waiting.is_held());
    let (abandoned, _) = after(terms(), &queued(&[(20, Event::CallerGone)]), LEADER);
    assert!(!abandoned.has_caller() && abandoned.has_ticket() && !abandoned.is_held());
}

#[test]
fn a_waiter_that_is_told_to_go_on_attempts_again_after_a_grant_window() {
    let mut events = queued(&[(20, Event::GoOn), (30, answered(20, refused(60_000, Some(1))))]);
    expect(terms(), &events, ALONE, wake_after(GRANT_WINDOW));
    // Once: after the next answer it pauses as usual.
    events.extend([(1_030, Event::Due), (1_040, answered(1_030, refused(500, Some(1))))]);
    expect(terms(), &events, ALONE, wake_after(500 + 30));
}

#[test]
fn a_pause_that_counted_on_notifications_is_counted_anew_when_there_are_none() {
    expect(terms(), &queued(&[(20, Event::Disconnected)]), DISCONNECTED, wake_after(75));
    expect(terms(), &[LEAD, (5, Event::Disconnected)], DISCONNECTED, Steps::default());
    // Without a ticket it did not count on them.
    expect(terms(), &[(0, Event::Follow(3)), (5, Event::Disconnected)], DISCONNECTED, Steps::default());
    let untold = [LEAD, (10, answered(0, refused(500, None))), (20, Event::Disconnected)];
    expect(terms(), &untold, DISCONNECTED, Steps::default());
}

#[test]
fn an_answer_to_nothing_that_was_asked_changes_nothing() {
    let events = queued(&[(20, answered(15, failed(true, false)))]);
    expect(terms(), &events, ALONE, Steps::default());
}
