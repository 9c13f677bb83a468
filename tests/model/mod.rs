//! The rules of a quorum, of plain commands, of a queue, of schedules and of partitions, checked in every order in which things can happen.
//!
//! On a quorum, who may vote and which fence is given. Three nodes, one of whose clocks is ahead, and two clients. Messages of one
//! client to one node stay in order and may be late for as long as it likes; nodes do not answer, are restarted empty, and are taught.
//! Time is not counted: what takes a TTL happens when it may, that is when nobody believes in the lease any more.
//!
//! The rules are those of the library: [`lessons`], [`Recovered::covers`], [`granted_fence`] and [`is_known`]. That the model
//! looks where it should is shown with the rules that the library had before.

mod ears;
mod kinds;
mod partitions;
mod queue;
mod register;
mod traces;

use leasehold_sim::checked::{FENCES, ONE_HOLDER, Rules, ThinRules, ThinWorld, World};

/// The rules that the library had before: they break on both worlds.
const BEFORE: Rules = Rules { teaches: false, lowers: true, believes: false };
const TODAY: Rules = Rules { teaches: true, lowers: false, believes: false };
/// The rule of an age that a node's own clock tells.
const BELIEVING: Rules = Rules { believes: true, ..TODAY };

#[test]
fn fences_grow_over_a_restart() {
    let before = World::with_a_restart(BEFORE).broken(FENCES).expect("a node that has forgotten votes again");
    assert!(before.contains("Restart"), "{before}");
    let (states, path) = World::with_a_restart(TODAY).check(15);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
}

#[test]
fn fences_grow_though_acquisitions_and_raises_are_late() {
    assert!(World::with_a_re_entry(BEFORE).broken(FENCES).is_some(), "a late raise lowers a fence");
    let (states, path) = World::with_a_re_entry(TODAY).check(13);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
}

#[test]
fn one_client_holds_though_the_clock_of_a_restarted_node_is_set_forward() {
    let before = World::with_a_stepped_clock(BELIEVING).broken(ONE_HOLDER).expect("a young node is taught");
    assert!(before.contains("Step"), "{before}");
    let (states, path) = World::with_a_stepped_clock(TODAY).check(12);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
}

/// Two clients that ask twice each, one of which may die, with a broken connection and a counter that is lost.
fn thin(rules: ThinRules) -> ThinWorld {
    ThinWorld {
        rules,
        asks: [2, 1, 0],
        breaks: 1,
        deaths: 1,
        lost_counters: 1,
        failovers: 0,
        forced: 0,
        begins_dead: false,
    }
}

const THIN: ThinRules = ThinRules {
    looks_at_the_queue: true,
    scripts_look_at_the_queue: true,
    marks_what_is_told: true,
    looks_at_others: true,
    looks_at_the_counter: true,
    begins_with_a_script: true,
};

#[test]
fn plain_commands_overtake_nobody_whose_holder_has_died() {
    let unseen = ThinRules { looks_at_the_queue: false, ..THIN };
    let unseen_by_scripts = ThinRules { scripts_look_at_the_queue: false, ..THIN };
    let marked = ThinRules { marks_what_is_told: false, ..THIN };
    let quiet = ThinWorld { deaths: 0, breaks: 0, lost_counters: 0, ..thin(THIN) };
    let dead = |rules| ThinWorld { rules, asks: [1, 0, 1], begins_dead: true, ..quiet.clone() };
    for unseen in [unseen, unseen_by_scripts, marked] {
        let (_, path) = dead(unseen).check(12);
        assert!(path.is_some_and(|path| path.contains("Expire")), "what is free may have waiters");
    }
    let (states, path) = dead(THIN).check(16);
    assert_eq!(path, None);
    assert!(states > 10_000, "{states}");
}

#[test]
fn plain_commands_keep_what_scripts_promise() {
    let unseen = ThinRules { looks_at_the_counter: false, ..THIN };
    let (_, path) = thin(unseen).check(12);
    assert!(path.is_some_and(|path| path.contains("LoseCounter")), "a counter may be lost");
    let among_others = ThinRules { looks_at_others: false, ..THIN };
    let (_, path) = thin(among_others).check(13);
    assert!(path.is_some(), "others may be served between them");
    let (states, path) = thin(THIN).check(16);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
    let (states, path) =
        ThinWorld { forced: 1, breaks: 0, deaths: 0, lost_counters: 0, ..thin(THIN) }.check(16);
    assert_eq!(path, None);
    assert!(states > 10_000, "{states}");
}

#[test]
fn fences_of_plain_commands_grow_over_a_failover_to_a_replica_that_lags() {
    let world = |rules| ThinWorld {
        asks: [2, 2, 0],
        breaks: 0,
        deaths: 0,
        lost_counters: 0,
        failovers: 1,
        ..thin(rules)
    };
    let unraised = ThinRules { begins_with_a_script: false, ..THIN };
    let (_, path) = world(unraised).check(12);
    assert!(path.is_some_and(|path| path.contains("FailOver")), "the replica has an earlier counter");
    let (states, path) = world(THIN).check(14);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
}
