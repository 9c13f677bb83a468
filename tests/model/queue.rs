//! The queue of one resource, and those who take it back, in every order in which things can happen.
//!
//! Each property is broken without one of the rules, in a world in which it is kept with all of them.

use leasehold_sim::checked::queue::*;

const TODAY: QueueRules = QueueRules::TODAY;

/// Two clients, one of which asks twice; a late or lost answer, a broken connection, a death.
const TWO: QueueWorld =
    QueueWorld { asks: [2, 1, 0, 0, 0], ticks: 3, delays: 1, breaks: 1, deaths: 1, ..QueueWorld::EMPTY };

/// A holder that may ask again, and two that wait. Two of them may die.
const THREE: QueueWorld =
    QueueWorld { asks: [1, 0, 0, 0, 0], ticks: 4, deaths: 2, begins_waiting: 3, ..QueueWorld::EMPTY };

/// A dead holder, a dead waiter, one that waits behind it, and a newcomer; a connection breaks.
const DEAD_HOLDER: QueueWorld = QueueWorld {
    asks: [0, 0, 0, 1, 0],
    ticket_ttl: 6,
    ticks: 4,
    breaks: 1,
    begins_dead: 2,
    begins_waiting: 1,
    ..QueueWorld::EMPTY
};

/// A reader that holds, a writer and a reader that wait, and a newcomer that reads.
const READERS: QueueWorld =
    QueueWorld { reads: [true, false, true, true, false], asks: [0, 0, 0, 1, 0], deaths: 1, ..THREE };

/// A dead holder, and three that wait; the store cannot reach the first of them.
const DEAF: QueueWorld = QueueWorld {
    deaf: [false, true, false, false, false],
    ticks: 4,
    begins_dead: 1,
    begins_waiting: 3,
    ..QueueWorld::EMPTY
};

/// Two clients of one manager, and one of another.
const HAND_OFFS: QueueWorld =
    QueueWorld { asks: [2, 2, 1, 0, 0], hands_off: true, ticks: 1, breaks: 1, ..QueueWorld::EMPTY };

/// A holder that is asked to finish, and two that wait; a connection breaks.
const REVOKED_ONE: QueueWorld =
    QueueWorld { ticks: 3, renewals: 1, breaks: 1, revokes: 1, begins_waiting: 3, ..QueueWorld::EMPTY };

/// All is taken at once, beside a broken connection.
const FORCED: QueueWorld =
    QueueWorld { ticks: 2, renewals: 1, breaks: 1, forced: 1, begins_waiting: 3, ..QueueWorld::EMPTY };

/// The ticks after which everybody is served who waits behind two others: each may have died as it was handed the resource.
const FAIR: QueueWorld = QueueWorld { breaks: 1, served_within: Some(TTL + 2 * GRANT_WINDOW), ..THREE };

/// One that waits behind a dead holder and three dead waiters, whose connections look alive. They cost two grant windows.
const DEAD: QueueWorld = QueueWorld {
    ticket_ttl: 6,
    ticks: 4,
    begins_dead: 4,
    begins_waiting: 1,
    served_within: Some(TTL + 2 * GRANT_WINDOW),
    ..QueueWorld::EMPTY
};

/// Asserts that a world breaks this property without a rule.
fn found(world: QueueWorld, steps: usize, property: &'static str, without: QueueRules) {
    let path = QueueWorld { rules: without, ..world }.broken(property, steps);
    assert!(path.is_some(), "not found: {property}");
}

/// Asserts that so many steps lead to this state.
fn reached(world: QueueWorld, steps: usize, state: &'static str) {
    found(world, steps, state, TODAY);
}

fn clean(world: QueueWorld, steps: usize, at_least: usize) {
    let (states, path) = world.check(steps);
    assert_eq!(path, None);
    assert!(states > at_least, "{states}");
}

#[test]
fn one_client_holds_though_answers_are_late_and_clients_die() {
    found(TWO, 10, ONE_HOLDER, QueueRules { counts_from_the_call: false, ..TODAY });
    found(TWO, 10, ONE_HOLDER, QueueRules { leases_end: false, ..TODAY });
    found(TWO, 11, FENCES, QueueRules { hand_overs_have_new_fences: false, ..TODAY });
    clean(TWO, 10, 100_000);
}

#[test]
fn what_is_released_is_handed_over_to_the_first_that_waits() {
    found(THREE, 11, HANDED_OVER, QueueRules { releases_hand_over: false, ..TODAY });
    reached(THREE, 9, SERVED_AFTER_A_DEATH);
    reached(THREE, 9, NEWCOMER);
    clean(THREE, 9, 100_000);
    reached(DEAD_HOLDER, 11, SERVED_AFTER_A_DEATH);
    reached(DEAD_HOLDER, 11, NEWCOMER);
    clean(DEAD_HOLDER, 11, 10_000);
}

#[test]
fn nobody_is_served_before_one_that_came_earlier() {
    found(READERS, 11, ORDER, QueueRules { newcomers_wait: false, ..TODAY });
    clean(READERS, 8, 100_000);
    found(DEAF, 11, ORDER, QueueRules { comes_back_to_its_place: false, ..TODAY });
    clean(DEAF, 11, 10_000);
}

#[test]
fn hand_offs_go_ahead_of_others_for_a_bounded_number_of_times() {
    found(HAND_OFFS, 11, HAND_OFFS_END, QueueRules { counts_hand_offs: false, ..TODAY });
    clean(HAND_OFFS, 10, 100_000);
}

#[test]
fn a_revoke_ends_only_holds_that_it_has_told_and_found() {
    found(REVOKED_ONE, 11, SUCCESSOR, QueueRules { takes_by_token: false, ..TODAY });
    found(REVOKED_ONE, 11, TOLD_BEFORE, QueueRules { keeps_to_those_told: false, ..TODAY });
    found(REVOKED_ONE, 11, REVOKED, QueueRules { releases_what_it_ends: false, ..TODAY });
    clean(REVOKED_ONE, 8, 100_000);
    clean(FORCED, 8, 100_000);
}

#[test]
fn everybody_who_waits_is_served_in_the_end() {
    found(FAIR, 11, NOBODY_FORGOTTEN, QueueRules { hand_overs_end: false, ..TODAY });
    reached(FAIR, 7, SERVED_AFTER_A_DEATH);
    clean(FAIR, 7, 50_000);
    found(DEAD, 11, NOBODY_FORGOTTEN, QueueRules { calls_the_roll: false, ..TODAY });
    clean(DEAD, 18, 100);
}
