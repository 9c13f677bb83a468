//! The queue of one resource, and those who take it back, in every order in which things can happen.
//!
//! Each property is broken without one of the rules, in a world in which it is kept with all of them.

use leasehold_sim::checked::queue::*;

const TODAY: QueueRules = QueueRules::TODAY;

/// Two clients, one of which asks twice; a late or lost answer, a broken connection, a death.
const TWO: QueueWorld =
    QueueWorld { asks: [2, 1, 0, 0, 0], ticks: 3, delays: 1, breaks: 1, deaths: 1, ..QueueWorld::EMPTY };

/// Three clients, each of which is served or gives up.
const THREE: QueueWorld = QueueWorld { asks: [1, 1, 1, 0, 0], ticks: 3, deaths: 1, ..QueueWorld::EMPTY };

/// Readers and a writer.
const READERS: QueueWorld = QueueWorld { reads: [true, false, true, false, false], ..THREE };

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

/// A holder that is asked to finish, and two that wait.
const REVOKED: QueueWorld = QueueWorld { revokes: 1, renewals: 1, ..THREE };

/// All is taken at once, beside a broken connection.
const FORCED: QueueWorld =
    QueueWorld { asks: [1, 1, 1, 0, 0], ticks: 2, renewals: 1, breaks: 1, forced: 1, ..QueueWorld::EMPTY };

/// The ticks after which everybody is served who waits behind two others: each may have died as it was handed the resource.
const FAIR: QueueWorld =
    QueueWorld { ticks: 2, breaks: 1, served_within: Some(TTL + 2 * GRANT_WINDOW), ..THREE };

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
fn found(world: QueueWorld, depth: usize, property: &'static str, without: QueueRules) {
    let path = QueueWorld { rules: without, ..world }.broken(property, depth);
    assert!(path.is_some(), "not found: {property}");
}

fn clean(world: QueueWorld, depth: usize, at_least: usize) {
    let (states, path) = world.check(depth);
    assert_eq!(path, None);
    assert!(states > at_least, "{states}");
}

#[test]
fn one_client_holds_though_answers_are_late_and_clients_die() {
    found(TWO, 10, ONE_HOLDER, QueueRules { counts_from_the_call: false, ..TODAY });
    found(TWO, 10, ONE_HOLDER, QueueRules { leases_end: false, ..TODAY });
    found(TWO, 12, FENCES, QueueRules { hand_overs_have_new_fences: false, ..TODAY });
    clean(TWO, 13, 100_000);
}

#[test]
fn what_is_released_is_handed_over_to_the_first_that_waits() {
    found(THREE, 12, HANDED_OVER, QueueRules { releases_hand_over: false, ..TODAY });
    clean(THREE, 13, 100_000);
}

#[test]
fn nobody_is_served_before_one_that_came_earlier() {
    found(READERS, 12, ORDER, QueueRules { newcomers_wait: false, ..TODAY });
    clean(READERS, 13, 100_000);
    found(DEAF, 12, ORDER, QueueRules { comes_back_to_its_place: false, ..TODAY });
    clean(DEAF, 12, 10_000);
}

#[test]
fn hand_offs_go_ahead_of_others_for_a_bounded_number_of_times() {
    found(HAND_OFFS, 12, HAND_OFFS_END, QueueRules { counts_hand_offs: false, ..TODAY });
    clean(HAND_OFFS, 12, 100_000);
}

#[test]
fn a_revoke_ends_its_holder_after_the_grace_and_no_successor() {
    found(REVOKED, 12, SUCCESSOR, QueueRules { takes_by_token: false, ..TODAY });
    found(REVOKED, 12, GRACE_IS_KEPT, QueueRules { waits_for_the_grace: false, ..TODAY });
    found(
        REVOKED,
        12,
        leasehold_sim::checked::queue::REVOKED,
        QueueRules { takes_in_the_end: false, ..TODAY },
    );
    clean(REVOKED, 12, 100_000);
    clean(FORCED, 11, 100_000);
}

#[test]
fn everybody_who_waits_is_served_in_the_end() {
    found(FAIR, 12, NOBODY_FORGOTTEN, QueueRules { hand_overs_end: false, ..TODAY });
    clean(FAIR, 11, 50_000);
    found(DEAD, 12, NOBODY_FORGOTTEN, QueueRules { calls_the_roll: false, ..TODAY });
    clean(DEAD, 20, 100);
}
