//! Expected waits, as the callers of an engine are told them.

use super::*;

fn millis(wait: Option<Duration>) -> Option<u64> {
    wait.map(|wait| (wait.as_secs_f64() * 1_000.0).round() as u64)
}

/// Returns the number of waiters ahead that a request was told, and its expected wait in milliseconds.
fn told(steps: &[(RecordKey, Step)], waiter: RecordKey) -> Option<(u64, Option<u64>)> {
    steps.iter().find_map(|(record, step)| match step {
        Step::Queued { ahead, expected, .. } if *record == waiter => Some((*ahead, millis(*expected))),
        _ => None,
    })
}

/// Returns the reason for which a request ended, and the wait that it was still expected to have.
fn ended(steps: &[(RecordKey, Step)], waiter: RecordKey) -> Option<(End, Option<u64>)> {
    steps.iter().find_map(|(record, step)| match step {
        Step::End(ended) if *record == waiter => Some((ended.end, millis(ended.expected_wait))),
        _ => None,
    })
}

/// Ends a lease, whose release is confirmed at once.
fn ends(engine: &mut Engine, holder: RecordKey, now: u64) {
    on(engine, holder, now, release(now));
    on(engine, holder, now, Event::Released { certain: true });
}

/// Admits a request for resource 0 with a wait of its own.
fn request_for(engine: &mut Engine, now: u64, wait: u64, early: bool) -> (RecordKey, Vec<(RecordKey, Step)>) {
    let terms = Terms { wait: ms(wait), ..terms(now) };
    let record = engine.admit(terms, Wanted { give_up_early: early, ..wanted(0) });
    (record, on(engine, record, now, Event::Requested))
}

/// Admits a request for resource 0, and returns it with what it is told at once.
fn placed(engine: &mut Engine, now: u64) -> (RecordKey, Option<(u64, Option<u64>)>) {
    let (record, steps) = request(engine, now);
    (record, told(&steps, record))
}

/// An engine that has seen two leases of 100 ms and a wait of 50 ms, thus turns of 75 ms. Nobody waits from 210 ms on.
fn experienced() -> Engine {
    let (mut engine, first) = with_lease();
    let (second, _) = request(&mut engine, 60);
    ends(&mut engine, first, 110);
    on(&mut engine, second, 110, granted(110, true));
    ends(&mut engine, second, 210);
    engine
}

/// The same with a lease that was granted at 300 ms.
fn experienced_with_lease() -> Engine {
    let mut engine = experienced();
    let (holder, _) = request(&mut engine, 300);
    on(&mut engine, holder, 300, granted(300, false));
    engine
}

#[test]
fn followers_of_a_lease_wait_for_the_rest_of_it_and_a_turn_for_each_one_ahead() {
    let mut engine = experienced_with_lease();
    let (first, told) = placed(&mut engine, 340);
    assert_eq!(told, Some((0, Some(45))), "60 % of a turn are left of a lease of 40 ms");
    let (second, told) = placed(&mut engine, 340);
    assert_eq!(told, Some((1, Some(120))));
    let (third, _) = placed(&mut engine, 340);
    let (fourth, told) = placed(&mut engine, 501);
    assert_eq!(told, Some((3, None)), "it takes more than twice as long as any before");
    for (waiter, now, expected) in
        [(second, 350, Some(110)), (first, 350, Some(38)), (third, 501, None), (fourth, 501, None)]
    {
        let steps = on(&mut engine, waiter, now, Event::CallerGone);
        assert_eq!(ended(&steps, waiter), Some((End::Cancelled, expected)), "at {now}");
    }
}

#[test]
fn followers_of_a_waiter_are_told_their_place_as_soon_as_it_knows_its_own() {
    let mut engine = experienced();
    let (leader, _) = request(&mut engine, 300);
    let (first, told_first) = placed(&mut engine, 305);
    let (second, told_second) = placed(&mut engine, 305);
    assert_eq!((told_first, told_second), (Some((1, None)), Some((2, None))));
    let steps = on(&mut engine, leader, 310, refused(300, Some(3)));
    let all = [leader, first, second].map(|waiter| told(&steps, waiter));
    assert_eq!(all, [(3, Some(300)), (4, Some(375)), (5, Some(450))].map(Some));
    assert_eq!(placed(&mut engine, 320).1, Some((6, Some(525))));
    // The leader is overdue after twice its wait and a turn: nobody knows then who is stuck.
    assert_eq!(placed(&mut engine, 985).1, Some((7, Some(600))));
    let (last, told_last) = placed(&mut engine, 986);
    assert_eq!(told_last, Some((8, None)));
    on(&mut engine, leader, 990, Event::Due);
    let steps = on(&mut engine, leader, 1_000, refused(990, Some(3)));
    assert_eq!(told(&steps, leader), None, "that is no news");
    assert_eq!((told(&steps, last), told(&steps, first)), (Some((8, Some(675))), None));
}

#[test]
fn nothing_is_expected_without_a_ticket_but_a_try_is_told_what_it_would_have_waited() {
    let mut engine = experienced();
    let (waiter, _) = request(&mut engine, 300);
    on(&mut engine, waiter, 310, refused(300, None));
    let steps = on(&mut engine, waiter, 320, Event::CallerGone);
    assert_eq!(ended(&steps, waiter), Some((End::Cancelled, None)));
    let mut engine = experienced_with_lease();
    let _two = (request(&mut engine, 300), request(&mut engine, 300));
    let (a_try, steps) = request_for(&mut engine, 340, 0, false);
    assert_eq!(steps, [(a_try, ASK)], "it waits in no cohort");
    let steps = on(&mut engine, a_try, 340, refused(340, None));
    assert_eq!(ended(&steps, a_try), Some((End::Refused, Some(225))));
    let holder = Front::Other(Token::from_bits(1 << 96).prefix());
    for (by, now, expected) in [
        (Front::Somebody, 340, Some(225)),
        (holder, 340, Some(225)),
        (holder, 380, Some(195)),
        (Front::Own(ms(40)), 380, Some(195)),
        (Front::Unknown, 380, None),
    ] {
        let found = engine.expect_unknown(&wanted(0).resource, Mode::Exclusive, by, at(now));
        assert_eq!(millis(found), expected, "{by:?} at {now}");
    }
}

#[test]
fn nothing_is_expected_where_readers_want_or_have_the_resource() {
    for (mode, by) in [(Mode::Shared, Front::Somebody), (Mode::Exclusive, Front::Readers)] {
        let mut engine = experienced();
        let mut expect = |mode, by| millis(engine.expect_unknown(&wanted(0).resource, mode, by, at(300)));
        assert_eq!(expect(Mode::Exclusive, Front::Somebody), Some(75));
        assert_eq!(expect(mode, by), None);
        assert_eq!(expect(Mode::Exclusive, Front::Somebody), None, "after {by:?} and {mode:?}");
    }
}

#[test]
fn a_request_gives_up_early_if_it_wants_to_and_is_expected_to_wait_longer_than_it_may() {
    for (early, wait, gives_up) in
        [(true, 44, true), (true, 45, false), (true, 60, false), (false, 44, false)]
    {
        let mut engine = experienced_with_lease();
        let (waiter, steps) = request_for(&mut engine, 340, wait, early);
        let end = ended(&steps, waiter).map(|(end, _)| end);
        assert_eq!(end, gives_up.then_some(End::Refused), "{early} {wait}");
        assert_eq!(engine.get(waiter).is_none(), gives_up);
    }
}

#[test]
fn a_request_that_asks_again_decides_by_the_next_answer_whether_to_give_up() {
    let mut engine = experienced();
    let (waiter, _) = request_for(&mut engine, 300, 200, true);
    on(&mut engine, waiter, 305, Event::GoOn);
    let steps = on(&mut engine, waiter, 310, refused(300, Some(3)));
    assert_eq!((told(&steps, waiter), ended(&steps, waiter)), (Some((3, Some(300))), None));
    let steps = on(&mut engine, waiter, 320, refused(310, Some(3)));
    assert_eq!(ended(&steps, waiter).map(|(end, _)| end), Some(End::Refused));
}

/// Grants three leases in a row from this moment on, of 100 ms each. Returns the next one, which has been wanted since the last
/// of them. It is to be granted after 1 s.
fn round(engine: &mut Engine, mut holder: RecordKey, begin: u64) -> RecordKey {
    on(engine, holder, begin, granted(begin, false));
    let followers = [request(engine, begin).0, request(engine, begin).0];
    for (now, follower) in [begin + 100, begin + 200].into_iter().zip(followers) {
        ends(engine, holder, now);
        on(engine, follower, now, granted(now, true));
        holder = follower;
    }
    let (next, _) = request(engine, begin + 250);
    ends(engine, holder, begin + 300);
    next
}

#[test]
fn where_processes_take_turns_followers_wait_for_the_rest_of_a_run_or_for_the_next_one() {
    let mut engine = engine(4, 100);
    let resource = wanted(0).resource;
    engine.expect_unknown(&resource, Mode::Exclusive, Front::Somebody, at(0));
    let (mut next, _) = request(&mut engine, 0);
    for turn in 0..3 {
        next = round(&mut engine, next, turn * 1_000);
    }
    let turn = |engine: &Engine, now| {
        engine.demands.get(&resource).unwrap().expected(Mode::Exclusive, 1.0, at(now)).unwrap()
    };
    let before = turn(&engine, 2_300);
    next = round(&mut engine, next, 3_000);
    assert_eq!(turn(&engine, 3_300), before, "a wait in a round is not one of turns");
    on(&mut engine, next, 4_000, granted(4_000, false));
    let followers = [4_040; 3].map(|now| placed(&mut engine, now).1);
    assert_eq!(followers, [(0, Some(60)), (1, Some(160)), (2, Some(960))].map(Some));
}
