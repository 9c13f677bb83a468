//! Acquisitions by plain commands beside those by scripts, in every order in which things can happen.
//!
//! Each property is broken without one of the rules, in a world in which it is kept with all of them.

use leasehold_sim::checked::thin::*;

use super::looked::Looked;

const TODAY: ThinRules = ThinRules::TODAY;

/// Two clients, one of which asks twice and one of which may die, with a broken connection and a counter that is lost.
const TWO: ThinWorld =
    ThinWorld { asks: [2, 1, 0], breaks: 1, deaths: 1, lost_counters: 1, ..ThinWorld::EMPTY };

/// Two clients, and an end by force.
const FORCED: ThinWorld = ThinWorld { asks: [2, 1, 0], forced: 1, ..ThinWorld::EMPTY };

/// Two clients that may use plain commands from the beginning, and an end by force.
const RAISED: ThinWorld = ThinWorld { begins_raised: true, ..FORCED };

/// A dead holder, one that waits behind it, and a newcomer.
const DEAD_HOLDER: ThinWorld = ThinWorld { asks: [1, 0, 1], begins_dead: true, ..ThinWorld::EMPTY };

/// Two clients, and a replica that takes over.
const FAILS_OVER: ThinWorld = ThinWorld { asks: [2, 2, 0], failovers: 1, ..ThinWorld::EMPTY };

#[test]
fn plain_commands_overtake_nobody_whose_holder_has_died() {
    let dead_holder = Looked { world: DEAD_HOLDER, steps: 16 };
    dead_holder.found_by("Expire", ORDER, ThinRules { looks_at_the_queue: false, ..TODAY });
    dead_holder.found_by("Expire", ORDER, ThinRules { scripts_look_at_the_queue: false, ..TODAY });
    dead_holder.found_by("Expire", ORDER, ThinRules { marks_what_is_told: false, ..TODAY });
    dead_holder.clean(10_000);
}

#[test]
fn plain_commands_keep_what_scripts_promise() {
    let two = Looked { world: TWO, steps: 16 };
    two.found_by("LoseCounter", FENCES, ThinRules { looks_at_the_counter: false, ..TODAY });
    two.found(FENCES, ThinRules { looks_at_others: false, ..TODAY });
    two.found(NOBODY_FORGOTTEN, ThinRules { marks_when_somebody_waits: false, ..TODAY });
    two.clean(100_000);
    let forced = Looked { world: FORCED, steps: 16 };
    forced.found(FENCES, ThinRules { looks_at_others: false, ..TODAY });
    forced.clean(10_000);
}

#[test]
fn plain_commands_give_nobody_what_another_has_by_now() {
    let raised = Looked { world: RAISED, steps: 16 };
    raised.found(ONE_HOLDER, ThinRules { asks_whose_it_is: false, ..TODAY });
    raised.clean(10_000);
}

#[test]
fn fences_of_plain_commands_grow_over_a_failover_to_a_replica_that_lags() {
    let fails_over = Looked { world: FAILS_OVER, steps: 14 };
    fails_over.found_by("FailOver", FENCES, ThinRules { begins_with_a_script: false, ..TODAY });
    fails_over.clean(100_000);
}
