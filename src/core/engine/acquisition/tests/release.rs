//! The transitions of an acquisition that ends: leases and releases.

use super::*;

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
        assert!(sent.len() < 100, "without an end");
    }
}

/// The steps of a request whose ticket stays for others.
fn abandons(end: End) -> Steps {
    Steps { end: Some(end), abandon: true, ..wake_after(0) }
}

#[test]
fn a_queue_ticket_is_released_when_the_caller_goes_until_that_is_certain_or_the_ticket_has_ended() {
    let events = queued(&[(20, Event::CallerGone)]);
    let mut acquisition = expect(terms(), &events, ALONE, releases(Some(End::Cancelled), 20));
    assert_eq!(released(&mut acquisition.clone(), 30, true), [30], "one certain answer is enough");
    let sent = released(&mut acquisition, 20, false);
    assert_eq!(sent, [20, 40, 80, 160, 320, 640, 1_280, 2_560], "until the ticket has ended");
}

#[test]
fn a_waiter_that_gives_up_early_or_is_dismissed_leaves_the_queue_unless_others_rely_on_its_ticket() {
    for (event, end) in [(Event::Hopeless, End::Refused), (Event::Dismissed, End::Dismissed)] {
        expect(terms(), &queued(&[(20, event)]), ALONE, releases(Some(end), 20));
        expect(terms(), &[(0, Event::Follow(3)), (0, event)], ALONE, ends(end));
        expect(terms(), &queued(&[(20, event)]), LEADER, abandons(end));
    }
    expect(terms(), &[(0, Event::Dismissed)], ALONE, ends(End::Dismissed));
    // Its caller has been answered: nothing is given up a second time.
    expect(terms(), &queued(&[(20, Event::Hopeless), (25, Event::Hopeless)]), LEADER, Steps::default());
}

#[test]
fn an_attempt_with_an_unknown_outcome_is_released_until_its_lease_and_its_ticket_end_in_the_store() {
    let events = [LEAD, (10, answered(0, failed(true, false)))];
    // Certain answers too: the attempt may be executed after each of them. A ticket may outlive the lease that it is for.
    for (ttl, releases_sent, last) in [(TTL, 11, 20_470), (100, 8, 2_550)] {
        let terms = Terms { ttl: ms(ttl), ..terms() };
        let mut acquisition = expect(terms, &events, ALONE, releases(Some(End::Failed), 10));
        let sent = released(&mut acquisition, 10, true);
        assert_eq!(
            (sent.len(), sent.last()),
            (releases_sent, Some(&last)),
            "the next would be later than both"
        );
    }
    let events =
        queued(&[(540, Event::Due), (550, answered(540, failed(true, true))), (560, Event::CallerGone)]);
    expect(terms(), &events, ALONE, releases(Some(End::Cancelled), 560));
    let (acquisition, _) = after(terms(), &events[..4], ALONE);
    assert!(acquisition.has_unknown(), "also if it is granted later");
}

#[test]
fn a_ticket_that_others_rely_on_stays_without_its_caller() {
    let mut events = queued(&[(20, Event::CallerGone)]);
    expect(terms(), &events, LEADER, abandons(End::Cancelled));
    // Its caller goes once; it lives on beyond the end of its wait, and asks like anybody else.
    events.push((21, Event::CallerGone));
    expect(terms(), &events, LEADER, Steps::default());
    events.push((WAIT + 1, Event::Due));
    expect(terms(), &events, LEADER, Steps { wake_after: Some(ms(TICKET_TTL)), ..asks() });
    // An end of its own has nobody to be told.
    events.push((WAIT + 9, answered(WAIT + 1, QUEUE_FULL)));
    expect(terms(), &events, LEADER, releases(None, WAIT + 9));
    // It is released once nobody relies on it any more.
    let (mut acquisition, _) = after(terms(), &events[..3], LEADER);
    assert_eq!(on(&mut acquisition, 30, Event::LeftAlone), releases(None, 30));
}

#[test]
fn what_an_attempt_in_flight_leaves_behind_is_released_after_its_answer() {
    let left = Steps { end: Some(End::Cancelled), leave: true, ..Steps::default() };
    let removed = Steps { leave: true, remove: true, ..Steps::default() };
    let answers = [
        (refused(500, None), removed),
        (QUEUE_FULL, removed),
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
    let mut acquisition = expect(terms(), &[LEAD, (10, answered(0, GRANTED))], ALONE, holds);
    for nothing in [Event::Due, Event::HandedOver, Event::CallerGone, Event::Dismissed, Event::Disconnected] {
        assert_eq!(on(&mut acquisition, 15, nothing), Steps::default(), "{nothing:?}");
    }
    assert!(!acquisition.has_ticket() && !acquisition.is_asking());
}

#[test]
fn a_grant_that_nobody_receives_is_handed_off_or_released() {
    let passes_on = |end, now| Steps { end, leave: true, ..release(now, true) };
    let granted = |at| (at, answered(0, GRANTED));
    let gone = (10, answered(0, Answer::Granted { overtook: false, caller_gone: true }));
    expect(terms(), &[LEAD, gone], ALONE, passes_on(Some(End::Cancelled), 10));
    // What was shared is not handed off.
    let shared = Terms { alone: false, ..terms() };
    expect(shared, &[LEAD, gone], ALONE, releases(Some(End::Cancelled), 10));
    expect(terms(), &[LEAD, granted(TTL)], ALONE, passes_on(Some(End::TooLate), TTL));
    let mut acquisition =
        expect(terms(), &[LEAD, (5, Event::CallerGone), granted(10)], ALONE, passes_on(None, 10));
    assert_eq!(released(&mut acquisition, 10, false).last(), Some(&20_470), "until the lease has ended");
}

#[test]
fn a_lease_is_released_once_that_is_certain() {
    let (mut acquisition, _) = after(terms(), &[LEAD, (10, answered(0, GRANTED))], ALONE);
    let ends = Event::Release { opening: at(500), end: at(TTL), in_time: true };
    assert_eq!(on(&mut acquisition, 500, ends), release(500, true));
    assert_eq!(on(&mut acquisition, 505, ends), Steps::default(), "it is on its way");
    assert_eq!(on(&mut acquisition, 510, Event::Released { certain: false }), wake_after(20));
    assert_eq!(on(&mut acquisition, 515, ends), Steps::default(), "it is repeated");
    // It is not handed off any more: whoever was to get it has had an answer.
    assert_eq!(on(&mut acquisition, 530, Event::Due), release(500, false));
    let over = Steps { remove: true, ..Steps::default() };
    assert_eq!(on(&mut acquisition, 540, Event::Released { certain: true }), over);
}

#[test]
fn nothing_is_handed_off_while_an_earlier_attempt_may_still_be_executed() {
    let unknown = (10, answered(0, failed(true, true)));
    let events = [LEAD, unknown, (85, Event::Due), (90, answered(85, GRANTED))];
    let (mut acquisition, _) = after(terms(), &events, ALONE);
    let mut later = acquisition.clone();
    let ends = |end| Event::Release { opening: at(0), end: at(end), in_time: true };
    assert_eq!(on(&mut acquisition, 500, ends(400)), release(0, false));
    assert_eq!(released(&mut acquisition, 500, true).last(), Some(&20_960));
    assert_eq!(on(&mut later, TTL, ends(TTL + 10)), release(0, true), "its time is over");
}

#[test]
fn a_lost_lease_is_over_unless_an_attempt_may_still_be_executed() {
    let lost = Event::Lost { opening: at(900) };
    assert!(on(&mut Acquisition::held(None, true, at(0)), 500, lost).remove);
    assert!(on(&mut Acquisition::held(Some(at(400)), true, at(0)), 500, lost).remove);
    let mut acquisition = Acquisition::held(Some(at(1_000)), true, at(0));
    assert_eq!(on(&mut acquisition, 500, lost), release(900, false));
    assert_eq!(released(&mut acquisition, 500, true), [500, 520, 560, 640, 800]);
}

#[test]
fn a_lease_is_handed_off_if_it_held_until_now_opens_now_and_was_alone() {
    for (alone, opening, in_time, hand_off) in [
        (true, 500, true, true),
        (true, 501, true, false),
        (true, 500, false, false),
        (false, 500, true, false),
    ] {
        let mut lease = Acquisition::held(None, alone, at(0));
        let ends = Event::Release { opening: at(opening), end: at(TTL), in_time };
        assert_eq!(on(&mut lease, 500, ends), release(opening, hand_off), "{alone} {opening} {in_time}");
    }
}
