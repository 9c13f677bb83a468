//! The steps that follow from events of several acquisitions.

mod expected;
mod histories;
mod queues;

use std::time::Duration;

use super::*;
use crate::core::{Backoff, Token, made_up::at_millis as at};

pub(super) const WAIT: u64 = 10_000;
pub(super) const TTL: u64 = 30_000;
pub(super) const TICKET_TTL: u64 = 3_000;
pub(super) const GRANT_WINDOW: u64 = 1_000;
const ASK: Step = Step::Ask { is_urgent: false };

pub(super) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn engine(local_handover_limit: u32, max_waiters_here: u32) -> Engine {
    let mut engine = Engine::new(Rules { local_handover_limit, max_waiters_here });
    engine.subscribed = true;
    engine
}

pub(super) fn terms(asked: u64) -> Terms {
    Terms {
        asked: at(asked),
        wait: ms(WAIT),
        pauses: Backoff::DEFAULT.into(),
        ttl: ms(TTL),
        ticket_ttl: ms(TICKET_TTL),
        grant_window: ms(GRANT_WINDOW),
        alone: true,
    }
}

fn wanted(resource: u64) -> Wanted {
    let resource = ResourceName::new(resource.to_string()).unwrap();
    Wanted { resource, token: Token::from_bits(7).prefix(), mode: Mode::Exclusive, give_up_early: false }
}

/// Returns the steps that have been decided.
fn taken(engine: &mut Engine) -> Vec<(RecordKey, Step)> {
    std::iter::from_fn(|| engine.next_step()).collect()
}

/// Feeds an event, and returns the steps that follow.
fn on(engine: &mut Engine, record: RecordKey, now: u64, event: Event) -> Vec<(RecordKey, Step)> {
    engine.on(record, event, at(now), &mut || 0.5);
    taken(engine)
}

/// Admits a request for resource 0.
fn request(engine: &mut Engine, now: u64) -> (RecordKey, Vec<(RecordKey, Step)>) {
    let record = engine.admit(terms(now), wanted(0));
    (record, on(engine, record, now, Event::Requested))
}

fn granted(sent: u64, overtook: bool) -> Event {
    Event::Answered { sent: at(sent), answer: Answer::Granted { overtook, caller_gone: false } }
}

fn refused(sent: u64, ahead: Option<u64>) -> Event {
    Event::Answered {
        sent: at(sent),
        answer: Answer::Refused { remaining: ms(500), ahead, by: Front::Somebody },
    }
}

fn release(now: u64) -> Event {
    Event::Release { opening: at(now), end: at(now + TTL), in_time: true }
}

fn queued(ahead: u64, behind: Option<RecordKey>) -> Step {
    Step::Queued { ahead, expected: None, behind }
}

/// An engine with a lease that was granted at 10 ms.
fn with_lease() -> (Engine, RecordKey) {
    let mut engine = engine(4, 100);
    let (holder, _) = request(&mut engine, 0);
    on(&mut engine, holder, 10, granted(0, false));
    (engine, holder)
}

#[test]
fn a_lock_that_nobody_else_wants_takes_an_attempt_and_a_release() {
    let mut engine = engine(4, 100);
    let (record, steps) = request(&mut engine, 0);
    assert_eq!(steps, [(record, ASK)]);
    let hold = Step::Hold { sent: at(0), attempts: 1, waited: ms(10) };
    assert_eq!(on(&mut engine, record, 10, granted(0, false)), [(record, hold)]);
    assert_eq!(on(&mut engine, record, 20, release(20)), [(record, Step::Release { opening: at(20) })]);
    assert_eq!(on(&mut engine, record, 30, Event::Released { certain: true }), [(record, Step::Remove)]);
    assert!(engine.is_empty());
}

#[test]
fn those_who_wait_are_told_as_queues_and_a_lease_from_elsewhere_keeps_them_waiting() {
    let (mut engine, holder) = with_lease();
    let (waiter, _) = request(&mut engine, 20);
    let LongQueue { waiting, granted, .. } = engine.longest_queues()[0];
    assert_eq!((waiting, granted, engine.longest_queues().len()), (1, 1, 1));
    assert!(engine.members(holder).eq([waiter]) && engine.queued().is_empty());
    let adopted = engine.adopt(wanted(0), true, None, at(30));
    engine.keep_cohort_waiting(adopted);
    let steps = on(&mut engine, holder, 40, Event::Lost { opening: at(40) });
    assert!(!steps.contains(&(waiter, ASK)), "it waits for the other lease");
    engine.forget(adopted);
    engine.dissolve_cohorts();
    assert!(engine.longest_queues().is_empty());
}

#[test]
fn a_release_hands_the_resource_off_to_the_waiters_in_the_order_of_their_arrival() {
    let (mut engine, holder) = with_lease();
    let (first, steps) = request(&mut engine, 20);
    assert_eq!(steps, [(first, queued(0, Some(holder)))], "it asks no store");
    let (second, steps) = request(&mut engine, 30);
    assert_eq!(steps, [(second, queued(1, Some(holder)))]);
    let hand_off = |to| Step::HandOff { to, overtake: true };
    assert_eq!(on(&mut engine, holder, 40, release(40)), [(holder, hand_off(first))]);
    on(&mut engine, holder, 50, Event::Released { certain: true });
    let steps = on(&mut engine, first, 50, granted(40, true));
    assert_eq!(steps[0], (first, Step::Hold { sent: at(40), attempts: 1, waited: ms(30) }));
    assert_eq!(on(&mut engine, first, 60, release(60)), [(first, hand_off(second))]);
}

#[test]
fn hand_offs_ahead_of_other_processes_have_a_limit_in_a_row() {
    let mut engine = engine(2, 100);
    let (mut holder, _) = request(&mut engine, 0);
    for (now, overtook, overtake) in [(10, true, true), (20, true, false), (30, false, true)] {
        on(&mut engine, holder, now, granted(now, overtook));
        let (next, _) = request(&mut engine, now + 1);
        let steps = on(&mut engine, holder, now + 2, release(now + 2));
        assert_eq!(steps, [(holder, Step::HandOff { to: next, overtake })]);
        holder = next;
    }
}

#[test]
fn a_lost_lease_makes_the_first_waiter_ask() {
    let (mut engine, holder) = with_lease();
    let (first, _) = request(&mut engine, 20);
    let steps = on(&mut engine, holder, 40, Event::Lost { opening: at(40) });
    assert_eq!(steps, [(holder, Step::Remove), (first, ASK)]);
}

#[test]
fn a_resource_that_is_taken_by_force_makes_the_first_waiter_ask_before_its_holder_knows() {
    let (mut engine, holder) = with_lease();
    let (first, _) = request(&mut engine, 20);
    engine.opened(&wanted(0).resource, at(30), &mut || 0.5);
    assert_eq!(taken(&mut engine), [(first, ASK)]);
    engine.opened(&wanted(1).resource, at(30), &mut || 0.5);
    assert!(taken(&mut engine).is_empty(), "nobody waits for that");
    assert_eq!(on(&mut engine, holder, 40, Event::Lost { opening: at(40) }), [(holder, Step::Remove)]);
}

#[test]
fn a_leader_that_gives_up_keeps_its_ticket_for_the_others_and_the_next_one_is_told_its_place() {
    let mut engine = engine(4, 100);
    let (leader, _) = request(&mut engine, 0);
    let (follower, steps) = request(&mut engine, 5);
    assert_eq!(steps, [(follower, queued(1, Some(leader)))]);
    let steps = on(&mut engine, leader, 10, refused(0, Some(3)));
    assert_eq!(steps[0], (leader, queued(3, None)));
    let steps = on(&mut engine, leader, 20, Event::CallerGone);
    assert!(matches!(steps[1], (_, Step::End(Ended { end: End::Cancelled, .. }))), "{steps:?}");
    assert_eq!(steps[0], (leader, Step::WakeAfter(ms(0))), "the ticket goes on");
    let steps = on(&mut engine, follower, 30, Event::CallerGone);
    assert!(steps.contains(&(leader, Step::Release { opening: at(30) })), "nobody relies on it: {steps:?}");
    assert_eq!(on(&mut engine, leader, 40, Event::Released { certain: true }), [(leader, Step::Remove)]);
    assert!(engine.is_empty());
}

#[test]
fn a_follower_that_ends_says_whom_it_waited_behind() {
    let (mut engine, holder) = with_lease();
    let (follower, _) = request(&mut engine, 20);
    let steps = on(&mut engine, follower, 20 + WAIT, Event::Due);
    let [(_, Step::End(ended)), (_, Step::Remove)] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!((ended.behind, ended.end, ended.ahead), (Some(holder), End::TimedOut, Some(0)));
}

#[test]
fn more_waiters_than_may_be_are_refused() {
    let mut engine = engine(4, 2);
    let (waiting, _) = (request(&mut engine, 0), request(&mut engine, 0));
    let (third, steps) = request(&mut engine, 0);
    let [(_, Step::End(ended)), (_, Step::Remove)] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(ended.end, End::QueueFull { waiters: 2 });
    assert!(engine.get(third).is_none() && engine.get(waiting.0).is_some());
}

#[test]
fn an_attempt_that_was_not_sent_is_taken_back_and_leaves_nothing() {
    let mut engine = engine(4, 100);
    let (record, _) = request(&mut engine, 0);
    let steps = on(&mut engine, record, WAIT, Event::Due);
    assert_eq!(steps[0], (record, Step::Withdraw));
    assert!(matches!(steps[1], (_, Step::End(Ended { end: End::TimedOut, told: Told::Nothing, .. }))));
    assert_eq!(on(&mut engine, record, WAIT, Event::Unsent), [(record, Step::Remove)]);
    assert!(engine.is_empty());
}

#[test]
fn an_attempt_that_the_store_waits_for_is_urgent() {
    let mut engine = engine(4, 100);
    let (record, _) = request(&mut engine, 0);
    on(&mut engine, record, 10, refused(0, Some(0)));
    let steps = on(&mut engine, record, 20, Event::HandedOver);
    assert_eq!(steps.last(), Some(&(record, Step::Ask { is_urgent: true })));
    let steps = on(&mut engine, record, 30, Event::HandedOver);
    assert_eq!(steps.last(), Some(&(record, Step::Hurry)), "it may not have been sent yet");
}

#[test]
fn what_was_decided_before_a_panic_is_not_lost() {
    let mut engine = engine(0, 100);
    let (record, steps) = request(&mut engine, 0);
    assert_eq!(steps, [(record, ASK)], "without cohorts each asks for itself");
    let other = engine.admit(terms(0), wanted(0));
    engine.on(other, Event::Requested, at(0), &mut || 0.5);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        engine.on(record, refused(0, None), at(10), &mut || panic!("the draw of the application"));
    }));
    assert!(panicked.is_err());
    assert_eq!(taken(&mut engine), [(other, ASK)]);
}

/// Returns the number of steps when so many wait for one resource, each of which comes again once it was served.
fn steps_of(waiters: u64) -> usize {
    let mut engine = engine(u32::MAX, 10_000);
    let (mut holder, _) = request(&mut engine, 0);
    on(&mut engine, holder, 1, granted(0, false));
    let mut steps: usize = (0..waiters).map(|_| request(&mut engine, 2).1.len()).sum();
    for turn in 0..2 * waiters {
        let now = 10 + 10 * turn;
        let handed = on(&mut engine, holder, now, release(now));
        let Some((_, Step::HandOff { to, .. })) = handed.first() else { panic!("{handed:?}") };
        if turn < waiters {
            // While the resource is on its way, nobody can tell it how long it waits.
            steps += request(&mut engine, now + 1).1.len();
        }
        on(&mut engine, holder, now + 2, Event::Released { certain: true });
        steps += on(&mut engine, *to, now + 2, granted(now, true)).len();
        holder = *to;
    }
    steps
}

#[test]
fn a_waiter_that_comes_during_a_hand_off_costs_the_same_however_many_wait() {
    let (few, many) = (steps_of(100), steps_of(400));
    assert!(many < few * 5, "four times as many waiters: {few} steps, {many} steps");
}
