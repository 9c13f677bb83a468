//! What a demand tells of waits.

use super::*;
use crate::core::{Token, made_up::at_millis as at};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A resource that this process has held for these times, until now.
fn after_holds(holds: &[u64], now: u64) -> Demand {
    let mut demand = Demand::default();
    holds.iter().for_each(|hold| demand.held(ms(*hold), at(now)));
    demand
}

/// The expected wait in milliseconds.
fn expected(demand: &Demand, ahead: u64, age: Option<u64>, now: u64) -> Option<u128> {
    let turns = demand.turns(ahead, age.map(ms), at(now))?;
    demand.expected(Mode::Exclusive, turns, at(now)).map(|expected| expected.as_millis())
}

#[test]
fn holds_alone_tell_what_is_left_of_the_holder_and_how_long_those_ahead_take() {
    for (holds, ahead, age, wait, why) in [
        (&[][..], 0, None, None, "nothing seen is nothing known"),
        (&[], 7, Some(5), None, "the same"),
        (&[100; 20], 0, None, Some(100), "a holder of which nothing is known"),
        (&[100; 20], 0, Some(70), Some(30), "a part of it is over"),
        (&[100; 20], 3, Some(70), Some(330), "those ahead take their time"),
        (&[50, 150], 0, Some(0), Some(100), "the mean"),
        (&[50, 150], 0, Some(60), Some(90), "it is a long one"),
        (&[100; 3], 0, Some(110), Some(100), "it may be a longer one"),
        (&[100; 3], 5, Some(201), None, "it takes much longer than any before"),
        (&[[1_000; 16], [10; 16]].concat(), 9, None, Some(100), "those before the last are forgotten"),
    ] {
        assert_eq!(expected(&after_holds(holds, 0), ahead, age, 0), wait, "{why}");
    }
}

#[test]
fn waits_that_were_seen_count_more_than_holds() {
    let mut demand = after_holds(&[100], 0);
    for served in 1..=50 {
        demand.served(Mode::Exclusive, 4.0, ms(80), at(served * 20));
    }
    let found = expected(&demand, 9, None, 1_000).unwrap();
    assert!((200..=215).contains(&found), "four hold it at a time, or give up: {found}");
    let mut only_waits = Demand::default();
    only_waits.served(Mode::Exclusive, 2.0, ms(30), at(0));
    assert_eq!(expected(&only_waits, 3, Some(500), 0), Some(60), "no hold is known to compare the age with");
}

#[test]
fn what_changes_is_learned_within_some_turns() {
    let mut demand = Demand::default();
    for served in 1..=1_000 {
        demand.served(Mode::Exclusive, 1.0, ms(10), at(served * 10));
    }
    for served in 1..=200 {
        demand.served(Mode::Exclusive, 1.0, ms(40), at(10_000 + served * 40));
    }
    let found = expected(&demand, 0, None, 18_000).unwrap();
    assert!((35..=40).contains(&found), "{found}");
}

#[test]
fn what_was_seen_long_ago_tells_nothing_and_does_not_mix_with_what_is_seen_next() {
    let mut demand = after_holds(&[100], 0);
    demand.served(Mode::Exclusive, 1.0, ms(100), at(0));
    assert_eq!(expected(&demand, 0, None, 60_000), Some(100));
    assert_eq!(expected(&demand, 0, None, 60_001), None);
    demand.served(Mode::Exclusive, 1.0, ms(7), at(70_000));
    assert_eq!(expected(&demand, 0, None, 70_000), Some(7));
    demand.held(ms(9), at(140_000));
    assert_eq!(expected(&demand, 0, None, 140_000), Some(9));
    let slow = after_holds(&[3_600_000], 0);
    assert_eq!(expected(&slow, 0, None, 600_000), Some(3_600_000), "turns of an hour are seen seldom");
    assert_eq!(expected(&slow, 0, None, 600_001), None, "but there is an end");
}

#[test]
fn a_wait_of_an_hour_behind_a_holder_that_hung_is_not_believed_for_long() {
    let (hour, minute) = (3_600_000, 60_000);
    let mut demand = after_holds(&[10; 16], 0);
    demand.served(Mode::Exclusive, 1.0, ms(hour), at(hour));
    let first = |demand: &Demand, now| expected(demand, 0, None, now);
    assert_eq!(first(&demand, hour + 10 * minute), Some(hour.into()), "nothing else is known");
    assert_eq!(first(&demand, hour + 10 * minute + 1), None);
    demand.held(ms(10), at(hour + 10));
    assert_eq!(first(&demand, hour + minute), Some(hour.into()), "that was its own hold");
    demand.held(ms(10), at(hour + minute + 5));
    assert_eq!(first(&demand, hour + minute + 5), Some(hour.into()), "it began within a minute");
    demand.held(ms(10), at(hour + minute + 11));
    assert_eq!(first(&demand, hour + minute + 11), Some(10), "holds go on as before");
    demand.served(Mode::Exclusive, 1.0, ms(20), at(hour + minute + 40));
    assert_eq!(first(&demand, hour + minute + 40), Some(15), "the hour is forgotten");
}

#[test]
fn holds_count_as_soon_as_all_that_are_remembered_are_newer_than_the_last_wait() {
    let mut demand = after_holds(&[10_000; 16], 0);
    demand.served(Mode::Exclusive, 1.0, ms(10_000), at(0));
    for _ in 0..15 {
        demand.held(ms(100), at(2_000));
    }
    assert_eq!(expected(&demand, 0, None, 2_000), Some(10_000), "they may be chance");
    demand.held(ms(100), at(2_000));
    assert_eq!(expected(&demand, 0, None, 2_000), Some(100));
    demand.served(Mode::Exclusive, 1.0, ms(300), at(2_000));
    assert_eq!(expected(&demand, 0, None, 2_000), Some(200), "waits count again");
    // A run of the own process is followed by the time in which others have it, which its holds do not show.
    (0..40).for_each(|_| {
        demand.held(ms(100), at(2_000));
        demand.served_in_round();
    });
    assert_eq!(expected(&demand, 0, None, 2_000), Some(200));
}

#[test]
fn permits_learn_from_waits_for_permits_alone() {
    let mut demand = after_holds(&[10_000; 3], 0);
    demand.served(Mode::Exclusive, 1.0, ms(10_000), at(0));
    let permit = Mode::permits(1, 50).unwrap();
    assert_eq!(demand.expected(permit, 20.0, at(0)), None, "they may all be granted together");
    demand.served(permit, 20.0, ms(10_000), at(0));
    assert_eq!(demand.expected(permit, 20.0, at(0)), Some(ms(10_000)));
    assert_eq!(demand.expected(Mode::Exclusive, 1.0, at(0)), Some(ms(10_000)));
}

#[test]
fn where_a_reader_was_seen_nothing_is_expected_or_learned_for_ten_minutes() {
    let mut demand = after_holds(&[100; 3], 0);
    demand.read(at(0));
    let (still, over) = (at(600_000), at(600_001));
    assert!(demand.turns(0, None, still).is_none() && demand.turns(0, None, over).is_some());
    demand.served(Mode::Exclusive, 1.0, ms(5_000), still);
    assert_eq!(demand.expected(Mode::Exclusive, 1.0, still), None, "the holds are too old by now");
    assert_eq!(demand.expected(Mode::Shared, 1.0, over), None);
}

#[test]
fn a_holder_is_as_old_as_it_has_been_seen() {
    let (one, other) = (Token::from_bits(1 << 96).prefix(), Token::from_bits(2 << 96).prefix());
    let mut demand = Demand::default();
    let ages = [(one, 10), (one, 35), (other, 40), (one, 41)].map(|(it, now)| demand.holder(it, at(now)));
    assert_eq!(ages, [ms(0), ms(25), ms(0), ms(0)]);
}

#[test]
fn odd_times_lead_to_no_panic() {
    let mut demand = after_holds(&[0; 3], 0);
    assert_eq!(expected(&demand, 0, Some(0), 0), Some(0));
    demand.served(Mode::Exclusive, 0.0, ms(0), at(0));
    demand.served(Mode::Exclusive, f64::MAX, Duration::MAX, at(0));
    demand.served(Mode::Exclusive, 1e-300, Duration::MAX, at(1));
    assert_eq!(demand.expected(Mode::Exclusive, f64::MAX, at(2)), None);
    assert!(demand.turns(u64::MAX, Some(Duration::ZERO), at(0)).is_some());
}

/// A resource of which this process has three holds in a row once a second, each of 100 ms, at this many seconds.
fn in_rounds(seconds: u64) -> Demand {
    let mut demand = Demand::default();
    for begin in (0..seconds).map(|second| second * 1_000) {
        for hold in 0..3 {
            // The first of them was wanted when the one before the pause was released.
            demand.granted(hold > 0, at(begin.saturating_sub(900)), at(begin + hold * 100));
            demand.held(ms(100), at(begin + (hold + 1) * 100));
        }
    }
    demand
}

#[test]
fn a_resource_that_comes_round_is_awaited_by_its_rounds() {
    let mut demand = in_rounds(20);
    let wait = |demand: &Demand, ahead, age: Option<u64>, now| {
        let wait = demand.in_turn(ahead, age.map(ms), at(now))?;
        Some((wait.as_secs_f64() * 1_000.0).round() as u64)
    };
    assert!(demand.in_rounds(at(19_300)) && !Demand::default().in_rounds(at(0)));
    assert!(!after_holds(&[100; 20], 0).in_rounds(at(0)), "holds alone are no rounds");
    for (ahead, now, expected) in [(0, 19_300, 700), (2, 19_300, 900), (3, 19_300, 1_700), (0, 19_800, 200)] {
        assert_eq!(wait(&demand, ahead, None, now), Some(expected), "away, {ahead} ahead at {now}");
    }
    assert_eq!(wait(&demand, 0, None, 19_990), Some(100), "it may come with each hold that ends");
    demand.granted(false, at(19_100), at(20_000));
    for (ahead, expected) in [(0, 60), (1, 160), (2, 960), (5, 1_960)] {
        assert_eq!(wait(&demand, ahead, Some(40), 20_040), Some(expected), "held here, {ahead} ahead");
    }
    assert_eq!(wait(&demand, 0, None, 3_600_000), None, "that was long ago");
    let mut alone = Demand::default();
    (0..20).for_each(|turn| {
        alone.granted(false, at(turn * 200), at(turn * 200));
        alone.held(ms(100), at(turn * 200 + 100));
    });
    assert!(!alone.in_rounds(at(4_000)), "nobody waited while it was away");
}
