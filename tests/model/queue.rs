//! The queue of one resource, and those who take it back, in every order in which things can happen.
//!
//! Each property is broken without one of the rules, in a world in which it is kept with all of them.

use leasehold_sim::checked::queue::*;

use super::looked::Looked;

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

#[test]
fn one_client_holds_though_answers_are_late_and_clients_die() {
    let two = Looked { world: TWO, steps: 11 };
    two.found(ONE_HOLDER, QueueRules { counts_from_the_call: false, ..TODAY });
    two.found(ONE_HOLDER, QueueRules { leases_end: false, ..TODAY });
    two.found(FENCES, QueueRules { hand_overs_have_new_fences: false, ..TODAY });
    two.clean(100_000);
}

#[test]
fn what_is_released_is_handed_over_to_the_first_that_waits() {
    let three = Looked { world: THREE, steps: 11 };
    three.found(HANDED_OVER, QueueRules { releases_hand_over: false, ..TODAY });
    three.reached(SERVED_AFTER_A_DEATH);
    three.reached(NEWCOMER);
    three.clean(100_000);
    let dead_holder = Looked { world: DEAD_HOLDER, steps: 11 };
    dead_holder.reached(SERVED_AFTER_A_DEATH);
    dead_holder.reached(NEWCOMER);
    dead_holder.clean(10_000);
}

#[test]
fn nobody_is_served_before_one_that_came_earlier() {
    let readers = Looked { world: READERS, steps: 9 };
    readers.found(ORDER, QueueRules { newcomers_wait: false, ..TODAY });
    readers.clean(100_000);
    let deaf = Looked { world: DEAF, steps: 11 };
    deaf.found(ORDER, QueueRules { comes_back_to_its_place: false, ..TODAY });
    deaf.clean(10_000);
}

#[test]
fn hand_offs_go_ahead_of_others_for_a_bounded_number_of_times() {
    let hand_offs = Looked { world: HAND_OFFS, steps: 11 };
    hand_offs.found(HAND_OFFS_END, QueueRules { counts_hand_offs: false, ..TODAY });
    hand_offs.clean(100_000);
}

#[test]
fn a_revoke_ends_only_holds_that_it_has_told_and_found() {
    let revoked_one = Looked { world: REVOKED_ONE, steps: 9 };
    revoked_one.found(SUCCESSOR, QueueRules { takes_by_token: false, ..TODAY });
    revoked_one.found(TOLD_BEFORE, QueueRules { keeps_to_those_told: false, ..TODAY });
    revoked_one.found(REVOKED, QueueRules { releases_what_it_ends: false, ..TODAY });
    revoked_one.clean(100_000);
    let forced = Looked { world: FORCED, steps: 8 };
    forced.found(HANDED_OVER, QueueRules { releases_hand_over: false, ..TODAY });
    forced.clean(100_000);
}

#[test]
fn everybody_who_waits_is_served_in_the_end() {
    let fair = Looked { world: FAIR, steps: 8 };
    fair.found(NOBODY_FORGOTTEN, QueueRules { hand_overs_end: false, ..TODAY });
    fair.reached(SERVED_AFTER_A_DEATH);
    fair.clean(50_000);
    let dead = Looked { world: DEAD, steps: 18 };
    dead.found(NOBODY_FORGOTTEN, QueueRules { calls_the_roll: false, ..TODAY });
    dead.clean(100);
}
