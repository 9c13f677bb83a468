//! The rules of a quorum, of plain commands, of a queue, of schedules and of partitions, checked in every order in which things can happen.
//!
//! On a quorum, who may vote and which fence is given. Three nodes, one of whose clocks is ahead, and two clients. Messages of one
//! client to one node stay in order and may be late for as long as it likes; nodes do not answer, are restarted empty, and are taught.
//! Time is not counted: what takes a TTL happens when it may, that is when nobody believes in the lease any more.
//!
//! The rules are those of the library: [`lessons`], [`Recovered::covers`], [`granted_fence`] and [`is_known`]. That the model
//! looks where it should is shown with the rules that the library had before. How old a node is, all know; in a world of its own
//! a client observes it, and asks nodes whose clocks may be set forward.

mod ears;
mod kinds;
mod looked;
mod partitions;
mod queue;
mod quorum_traces;
mod register;
mod thin;
mod thin_traces;
mod traces;

use leasehold_sim::checked::{FENCES, ONE_HOLDER, Rules, SERVED, World, steps_of_a_quorum};

use self::looked::Looked;

/// The rules that the library had before.
const BEFORE: Rules = Rules { teaches: false, lowers: true, believes: false, grows: true, trusts_one: false };
const TODAY: Rules = Rules { teaches: true, lowers: false, believes: false, grows: true, trusts_one: false };
/// The rule of an age that a node's own clock tells.
const BELIEVING: Rules = Rules { believes: true, ..TODAY };

/// A world of a quorum that `LEASEHOLD_MODEL_DEPTH` looks at further.
fn quorum(world: fn(Rules) -> World, steps: usize) -> Looked<World> {
    Looked { world: world(TODAY), steps: steps_of_a_quorum(steps) }
}

#[test]
fn fences_grow_over_a_restart() {
    let restart = quorum(World::with_a_restart, 15);
    restart.found_by("Restart", FENCES, BEFORE);
    restart.clean(100_000);
}

#[test]
fn fences_grow_though_acquisitions_and_raises_are_late() {
    quorum(World::with_a_re_entry, 13).clean(100_000);
    let late_re_entry = Looked { world: World::with_a_late_re_entry(TODAY), steps: 13 };
    // A late raise lowers a fence.
    late_re_entry.found(FENCES, BEFORE);
    late_re_entry.clean(10_000);
}

#[test]
fn clients_are_served_after_a_restart_though_a_node_is_silent() {
    let restart = Looked { world: World::with_a_restart_and_a_fair_run(TODAY), steps: 13 };
    restart.found(SERVED, Rules { grows: false, ..TODAY });
    restart.clean(100_000);
}

#[test]
fn one_client_holds_though_the_clock_of_a_restarted_node_is_set_forward() {
    let stepped_clock = quorum(World::with_a_stepped_clock, 12);
    // A young node is taught.
    stepped_clock.found_by("Step", ONE_HOLDER, BELIEVING);
    stepped_clock.clean(100_000);
}

#[test]
fn one_client_holds_though_ages_are_told_by_a_clock_that_is_set_forward() {
    let observed = Looked { world: World::with_observed_ages(TODAY), steps: 12 };
    observed.found(ONE_HOLDER, Rules { trusts_one: true, ..TODAY });
    observed.clean(100_000);
}
