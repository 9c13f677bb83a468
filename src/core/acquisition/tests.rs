//! Every transition of an acquisition.

use super::*;
use crate::core::Backoff;

const ALONE: Situation = Situation { subscribed: true, relied_on: false, caller_gone: false };
const LEADER: Situation = Situation { subscribed: true, relied_on: true, caller_gone: false };
const DISCONNECTED: Situation = Situation { subscribed: false, relied_on: false, caller_gone: false };
pub(super) const WAIT: u64 = 10_000;
pub(super) const TTL: u64 = 30_000;
pub(super) const TICKET_TTL: u64 = 3_000;
const GRANT_WINDOW: u64 = 1_000;

const LEAD: (u64, Event) = (0, Event::Lead);

pub(super) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn at(millis: u64) -> Moment {
    Moment::since_origin(ms(millis))
}

pub(super) fn terms() -> Terms {
    Terms {
        asked: at(0),
        wait: ms(WAIT),
        backoff: Backoff::DEFAULT,
        ttl: ms(TTL),
        ticket_ttl: ms(TICKET_TTL),
        grant_window: ms(GRANT_WINDOW),
    }
}

pub(super) fn refused(remaining: u64, ahead: Option<u64>) -> Answer {
    Answer::Refused { remaining: ms(remaining), ahead }
}

pub(super) fn failed(unknown: bool, transient: bool) -> Answer {
    Answer::Failed { unknown, transient }
}

/// The answer to an attempt that was sent at `sent`.
pub(super) fn answered(sent: u64, answer: Answer) -> Event {
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

/// The steps of a request that leaves something behind in the store.
fn releases(end: Option<End>, now: u64) -> Steps {
    let release = Some(Release { opening: at(now), hand_off: false });
    Steps { end, leave: true, release, ..Steps::default() }
}

/// Feeds an acquisition one more event.
fn on(acquisition: &mut Acquisition, now: u64, event: Event) -> Steps {
    acquisition.on(event, at(now), || 0.5, ALONE)
}

/// Returns the acquisition after these events, each at its time, and the steps of the last one.
fn after(terms: Terms, events: &[(u64, Event)], situation: Situation) -> (Acquisition, Steps) {
    let mut waiting = Acquisition::new(terms);
    let steps = events.iter().map(|(now, event)| waiting.on(*event, at(*now), || 0.5, situation));
    let steps = steps.last().expect("an event");
    (waiting, steps)
}

#[track_caller]
fn expect(terms: Terms, events: &[(u64, Event)], situation: Situation, steps: Steps) {
    assert_eq!(after(terms, events, situation).1, steps, "after {events:?}");
}

/// Returns the events of an acquisition that has a queue ticket, and these.
fn queued(more: &[(u64, Event)]) -> Vec<(u64, Event)> {
    let queued = [LEAD, (10, answered(0, refused(500, Some(1))))];
    queued.iter().chain(more).copied().collect()
}

#[test]
fn a_leader_asks() {
    expect(terms(), &[LEAD], ALONE, asks());
    let (waiting, _) = after(terms(), &[LEAD], ALONE);
    assert!(waiting.is_asking() && !waiting.is_following());
    assert_eq!((waiting.attempts(), waiting.told()), (1, Told::Nothing));
}

#[test]
fn a_follower_asks_only_with_the_release_that_hands_off_to_it() {
    let behind = (0, Event::Follow(3));
    let (waiting, steps) = after(terms(), &[behind], ALONE);
    assert_eq!((steps, waiting.ahead()), (Steps::default(), Some(3)));
    assert!(waiting.is_following() && !waiting.has_ticket());
    expect(terms(), &[behind, (20, Event::Due)], ALONE, wake_after(WAIT - 20));
    expect(terms(), &[behind, (30, Event::HandOff)], ALONE, Steps::default());
    let (waiting, _) = after(terms(), &[behind, (30, Event::HandOff)], ALONE);
    assert!(waiting.is_asking());
    assert_eq!(waiting.attempts(), 1);
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
    let short = Terms { backoff: Backoff::new(ms(1), ms(1)).unwrap(), ..terms() };
    expect(short, &[LEAD, (10, answered(0, refused(0, None)))], ALONE, wake_after(5));
    expect(terms(), &[LEAD, (WAIT - 3, answered(0, refused(500, None)))], ALONE, wake_after(3));
}

#[test]
fn a_try_and_the_last_of_counted_attempts_are_refused_at_once() {
    let a_try = Terms { wait: Duration::ZERO, ..terms() };
    expect(a_try, &[LEAD, (10, answered(0, refused(500, None)))], ALONE, ends(End::Refused));
    let counted = Terms { backoff: Backoff::DEFAULT.attempts(1).unwrap(), ..terms() };
    expect(counted, &[LEAD, (10, answered(0, refused(500, None)))], ALONE, ends(End::Refused));
    let late = [LEAD, (WAIT, answered(0, refused(500, None)))];
    expect(terms(), &late, ALONE, ends(End::TimedOut));
}

#[test]
fn the_end_of_the_wait_counts_while_an_attempt_is_in_flight() {
    expect(terms(), &[LEAD, (20, Event::Due)], ALONE, wake_after(WAIT - 20));
    let ends = Steps { end: Some(End::TimedOut), leave: true, ..Steps::default() };
    expect(terms(), &[LEAD, (WAIT, Event::Due)], ALONE, ends);
}

#[test]
fn an_attempt_that_is_due_is_sent_and_the_next_timer_is_the_end_of_the_wait() {
    let asks = Steps { wake_after: Some(ms(WAIT - 540)), ..asks() };
    expect(terms(), &queued(&[(540, Event::Due)]), ALONE, asks);
}

#[test]
fn news_while_an_attempt_is_in_flight_is_followed_by_another_attempt() {
    for news in [Event::HandedOver, Event::GoOn, Event::Next] {
        let (waiting, _) = after(terms(), &[LEAD, (5, news)], ALONE);
        assert_eq!(waiting.attempts(), 1, "{news:?}");
        let answer = answered(0, refused(500, Some(1)));
        expect(terms(), &[LEAD, (5, news), (10, answer)], ALONE, asks());
    }
}

#[test]
fn news_during_a_pause_is_acted_on_at_once() {
    for news in [Event::HandedOver, Event::GoOn] {
        let asks = Steps { wake_after: Some(ms(WAIT - 20)), ..asks() };
        expect(terms(), &queued(&[(20, news)]), ALONE, asks);
    }
    expect(terms(), &queued(&[(20, Event::Next)]), ALONE, wake_after(GRANT_WINDOW));
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
}

#[test]
fn a_full_queue_and_errors_that_time_does_not_cure_end_the_request() {
    for answer in [Answer::QueueFull, failed(false, false)] {
        expect(terms(), &[LEAD, (10, answered(0, answer))], ALONE, ends(End::Failed));
    }
}

/// Answers each release of an acquisition like this, until it is over. Returns the moments at which releases were sent,
/// of which the first was sent at `now`.
fn released(acquisition: &mut Acquisition, mut now: u64, certain: bool) -> Vec<u64> {
    let mut sent = vec![now];
    loop {
        let steps = on(acquisition, now, Event::Released { certain });
        if steps.remove {
            return sent;
        }
        now += u64::try_from(steps.wake_after.expect("a timer").as_millis()).unwrap();
        assert!(on(acquisition, now, Event::Due).release.is_some());
        sent.push(now);
    }
}

#[test]
fn a_queue_ticket_is_released_when_the_caller_goes() {
    let events = queued(&[(20, Event::CallerGone)]);
    expect(terms(), &events, ALONE, releases(Some(End::Cancelled), 20));
    let (mut acquisition, _) = after(terms(), &events, ALONE);
    assert_eq!(released(&mut acquisition, 30, true), [30], "one certain answer is enough");
}

#[test]
fn a_release_is_repeated_until_it_is_certain_or_the_ticket_has_ended() {
    let (mut acquisition, _) = after(terms(), &queued(&[(20, Event::CallerGone)]), ALONE);
    let sent = released(&mut acquisition, 20, false);
    assert_eq!(sent, [20, 40, 80, 160, 320, 640, 1_280, 2_560]);
    assert!(sent.iter().all(|sent| *sent < 20 + TICKET_TTL));
}

#[test]
fn an_attempt_with_an_unknown_outcome_is_released_until_its_end_in_the_store() {
    let events = [LEAD, (10, answered(0, failed(true, false)))];
    expect(terms(), &events, ALONE, releases(Some(End::Failed), 10));
    let (mut acquisition, _) = after(terms(), &events, ALONE);
    // Certain answers too: the attempt may be executed after each of them.
    let sent = released(&mut acquisition, 10, true);
    assert_eq!((sent.len(), sent.last()), (11, Some(&20_470)), "the next would be later than {TTL}");
    let events =
        queued(&[(540, Event::Due), (550, answered(540, failed(true, true))), (560, Event::CallerGone)]);
    expect(terms(), &events, ALONE, releases(Some(End::Cancelled), 560));
    let (acquisition, _) = after(terms(), &events[..4], ALONE);
    assert!(acquisition.has_unknown(), "also if it is granted later");
}

#[test]
fn a_ticket_may_outlive_the_lease_that_it_is_for() {
    let short = Terms { ttl: ms(100), ..terms() };
    let (mut acquisition, _) = after(short, &[LEAD, (10, answered(0, failed(true, false)))], ALONE);
    let sent = released(&mut acquisition, 10, true);
    assert_eq!(sent.last(), Some(&2_550), "the next would be later than {TICKET_TTL}");
}

#[test]
fn a_ticket_that_others_rely_on_stays_without_its_caller() {
    let mut events = queued(&[(20, Event::CallerGone)]);
    let abandons = Steps {
        end: Some(End::Cancelled),
        abandon: true,
        wake_after: Some(Duration::ZERO),
        ..Steps::default()
    };
    expect(terms(), &events, LEADER, abandons);
    // Its caller goes once; it lives on beyond the end of its wait, and asks like anybody else.
    events.push((21, Event::CallerGone));
    expect(terms(), &events, LEADER, Steps::default());
    events.push((WAIT + 1, Event::Due));
    expect(terms(), &events, LEADER, Steps { wake_after: Some(ms(TICKET_TTL)), ..asks() });
    // An end of its own has nobody to be told.
    events.push((WAIT + 9, answered(WAIT + 1, Answer::QueueFull)));
    expect(terms(), &events, LEADER, releases(None, WAIT + 9));
}

#[test]
fn a_ticket_that_nobody_relies_on_any_more_is_released() {
    let (mut acquisition, _) = after(terms(), &queued(&[(20, Event::CallerGone)]), LEADER);
    assert_eq!(on(&mut acquisition, 30, Event::LeftAlone), releases(None, 30));
}

#[test]
fn the_manager_ends_a_request_in_whatever_stage() {
    expect(terms(), &[(0, Event::Dismissed)], ALONE, ends(End::Dismissed));
    expect(terms(), &queued(&[(20, Event::Dismissed)]), ALONE, releases(Some(End::Dismissed), 20));
}

#[test]
fn what_an_attempt_in_flight_leaves_behind_is_released_after_its_answer() {
    let left = Steps { end: Some(End::Cancelled), leave: true, ..Steps::default() };
    let removed = Steps { leave: true, remove: true, ..Steps::default() };
    let answers = [
        (refused(500, None), removed),
        (Answer::QueueFull, removed),
        (failed(false, true), removed),
        (failed(false, false), removed),
        (refused(500, Some(1)), releases(None, 20)),
        (failed(true, true), releases(None, 20)),
        (failed(true, false), releases(None, 20)),
    ];
    for (answer, steps) in answers {
        let (mut acquisition, cancelled) = after(terms(), &[LEAD, (10, Event::CallerGone)], ALONE);
        assert_eq!(cancelled, left);
        for late in [Event::Due, Event::HandedOver, Event::Next, Event::GoOn, Event::Dismissed] {
            assert_eq!(on(&mut acquisition, 15, late), Steps::default(), "{late:?}");
        }
        assert_eq!(on(&mut acquisition, 20, answered(0, answer)), steps, "{answer:?}");
    }
}

#[test]
fn a_grant_becomes_a_lease() {
    let holds = Steps { hold: true, leave: true, ..Steps::default() };
    expect(terms(), &[LEAD, (10, answered(0, Answer::Granted))], ALONE, holds);
    let (mut acquisition, _) = after(terms(), &[LEAD, (10, answered(0, Answer::Granted))], ALONE);
    for nothing in [Event::Due, Event::HandedOver, Event::CallerGone, Event::Dismissed, Event::Disconnected] {
        assert_eq!(on(&mut acquisition, 15, nothing), Steps::default(), "{nothing:?}");
    }
    assert!(!acquisition.has_ticket() && !acquisition.is_asking());
}

#[test]
fn a_grant_that_nobody_receives_is_handed_off_or_released() {
    let passes_on = |end, now| {
        let release = Some(Release { opening: at(now), hand_off: true });
        Steps { release, ..releases(end, now) }
    };
    let granted = |at| (at, answered(0, Answer::Granted));
    let gone = Situation { caller_gone: true, ..ALONE };
    expect(terms(), &[LEAD, granted(10)], gone, passes_on(Some(End::Cancelled), 10));
    expect(terms(), &[LEAD, granted(TTL)], ALONE, passes_on(Some(End::TooLate), TTL));
    expect(terms(), &[LEAD, (5, Event::CallerGone), granted(10)], ALONE, passes_on(None, 10));
    let (mut acquisition, _) = after(terms(), &[LEAD, (5, Event::CallerGone), granted(10)], ALONE);
    assert_eq!(released(&mut acquisition, 10, false).last(), Some(&20_470), "until the lease has ended");
}

#[test]
fn a_lease_is_released_once_that_is_certain() {
    let (mut acquisition, _) = after(terms(), &[LEAD, (10, answered(0, Answer::Granted))], ALONE);
    let release = Event::Release { opening: at(700), end: at(TTL), hand_off: true };
    let steps = Steps { release: Some(Release { opening: at(700), hand_off: true }), ..Steps::default() };
    assert_eq!(on(&mut acquisition, 500, release), steps);
    assert_eq!(on(&mut acquisition, 505, release), Steps::default(), "it is on its way");
    assert_eq!(on(&mut acquisition, 510, Event::Released { certain: false }), wake_after(20));
    assert_eq!(on(&mut acquisition, 515, release), Steps::default(), "it is repeated");
    // It is not handed off any more: whoever was to get it has had an answer.
    let steps = Steps { release: Some(Release { opening: at(700), hand_off: false }), ..Steps::default() };
    assert_eq!(on(&mut acquisition, 530, Event::Due), steps);
    let over = Steps { remove: true, ..Steps::default() };
    assert_eq!(on(&mut acquisition, 540, Event::Released { certain: true }), over);
}

#[test]
fn nothing_is_handed_off_while_an_earlier_attempt_may_still_be_executed() {
    let unknown = (10, answered(0, failed(true, true)));
    let events = [LEAD, unknown, (85, Event::Due), (90, answered(85, Answer::Granted))];
    let (mut acquisition, _) = after(terms(), &events, ALONE);
    let mut later = acquisition.clone();
    let release = |end| Event::Release { opening: at(0), end: at(end), hand_off: true };
    let steps = on(&mut acquisition, 500, release(400));
    assert_eq!(steps.release, Some(Release { opening: at(0), hand_off: false }));
    assert_eq!(released(&mut acquisition, 500, true).last(), Some(&20_960));
    let steps = on(&mut later, TTL, release(TTL + 10));
    assert_eq!(steps.release, Some(Release { opening: at(0), hand_off: true }), "its time is over");
}

#[test]
fn a_lost_lease_is_over_unless_an_attempt_may_still_be_executed() {
    let lost = Event::Lost { opening: at(900) };
    assert!(on(&mut Acquisition::held(None), 500, lost).remove);
    assert!(on(&mut Acquisition::held(Some(at(400))), 500, lost).remove);
    let mut acquisition = Acquisition::held(Some(at(1_000)));
    let release = Some(Release { opening: at(900), hand_off: false });
    assert_eq!(on(&mut acquisition, 500, lost), Steps { release, ..Steps::default() });
    assert_eq!(released(&mut acquisition, 500, true), [500, 520, 560, 640, 800]);
}

#[test]
fn an_answer_that_was_lost_on_the_way_is_released_until_its_end() {
    let lost = answered(0, failed(true, true));
    let (mut held, _) = after(terms(), &[LEAD, (10, answered(0, Answer::Granted))], ALONE);
    assert_eq!(on(&mut held, 20, lost).release, Some(Release { opening: at(20), hand_off: false }));
    assert_eq!(released(&mut held, 20, true).last(), Some(&20_480));
    // A release that is on its way, or repeated, is not the last one.
    let (mut releasing, _) = after(terms(), &queued(&[(20, Event::CallerGone)]), ALONE);
    assert_eq!(on(&mut releasing, 25, lost), Steps::default());
    assert_eq!(released(&mut releasing, 30, true).last(), Some(&20_490));
    let (mut repeating, _) = after(terms(), &queued(&[(20, Event::CallerGone)]), ALONE);
    assert_eq!(on(&mut repeating, 30, Event::Released { certain: false }), wake_after(20));
    assert_eq!(on(&mut repeating, 35, lost), Steps::default());
    assert!(on(&mut repeating, 50, Event::Due).release.is_some());
    assert!(released(&mut repeating, 50, true).len() > 5);
}

#[test]
fn an_answer_to_nothing_that_was_asked_changes_nothing() {
    let events = queued(&[(20, answered(15, failed(true, false)))]);
    expect(terms(), &events, ALONE, Steps::default());
}
