//! The rules of a quorum, checked in every order in which things can happen: who may vote, and which fence is given.
//!
//! Three nodes, one of whose clocks is ahead, and two clients. Messages of one client to one node stay in order and may be
//! late for as long as it likes; nodes do not answer, are restarted empty, and are taught. Time is not counted: what takes a
//! TTL happens when it may, that is when nobody believes in the lease any more.
//!
//! The rules are those of the library: [`lessons`], [`Recovered::covers`], [`granted_fence`] and [`is_known`]. That the model
//! looks where it should is shown with the rules that the library had before.
//!
//! All states up to a depth are looked at; `LEASEHOLD_MODEL_DEPTH=21` looks further, which takes minutes and gigabytes.

mod thin;
mod world;

use std::{env, fmt::Debug, hash::Hash, thread, time::Instant};

use stateright::{Checker, HasDiscoveries, Model};
use thin::ThinWorld;
use world::{FENCES, ONE_HOLDER, Rules, World};

/// The rules that the library had before: they break on both worlds.
const BEFORE: Rules = Rules { teaches: false, lowers: true, believes: false };
const TODAY: Rules = Rules { teaches: true, lowers: false, believes: false };
/// The rule of an age that a node's own clock tells.
const BELIEVING: Rules = Rules { believes: true, ..TODAY };

/// Steps that are looked at when a way is sought on which a property is broken.
const FAR: usize = 24;

/// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
fn check<M>(world: M, depth: usize) -> (usize, Option<String>)
where
    M: Model<State: Clone + Debug + PartialEq + Hash + Send + Sync, Action: Debug + Clone + PartialEq>
        + Debug
        + Send
        + Sync
        + 'static,
{
    let depth = env::var("LEASEHOLD_MODEL_DEPTH").map_or(depth, |depth| depth.parse().expect("a number"));
    let (name, began) = (format!("{world:?}"), Instant::now());
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let checker = world.checker().threads(threads).target_max_depth(depth).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!("{name}: {states} states, depth {}, {:.0?}", checker.max_depth(), began.elapsed());
    let broken = checker.discoveries().into_iter().next();
    (states, broken.map(|(property, path)| format!("{property}: {path}")))
}

/// Returns the way in which a property is broken under rules that the library had before.
fn broken<M>(world: M, property: &'static str) -> Option<String>
where
    M: Model<State: Clone + Debug + PartialEq + Hash + Send + Sync, Action: Debug + Clone + PartialEq>
        + Send
        + Sync
        + 'static,
{
    let until = HasDiscoveries::AnyOf([property].into());
    let checker = world.checker().target_max_depth(FAR).finish_when(until).spawn_dfs().join();
    println!("{} states until this breaks: {property}", checker.unique_state_count());
    checker.discovery(property).map(|path| path.to_string())
}

#[test]
fn fences_grow_over_a_restart() {
    let before =
        broken(World::with_a_restart(BEFORE), FENCES).expect("a node that has forgotten votes again");
    assert!(before.contains("Restart"), "{before}");
    let (states, path) = check(World::with_a_restart(TODAY), 17);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
}

#[test]
fn fences_grow_though_acquisitions_and_raises_are_late() {
    assert!(broken(World::with_a_re_entry(BEFORE), FENCES).is_some(), "a late raise lowers a fence");
    let (states, path) = check(World::with_a_re_entry(TODAY), 15);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
}

#[test]
fn one_client_holds_though_the_clock_of_a_restarted_node_is_set_forward() {
    let before = broken(World::with_a_stepped_clock(BELIEVING), ONE_HOLDER).expect("a young node is taught");
    assert!(before.contains("Step"), "{before}");
    let (states, path) = check(World::with_a_stepped_clock(TODAY), 14);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
}

/// Two clients that ask twice each, one of which may die, with a broken connection and a counter that is lost.
fn thin(rules: thin::Rules) -> ThinWorld {
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

const THIN: thin::Rules = thin::Rules {
    looks_at_the_queue: true,
    scripts_look_at_the_queue: true,
    marks_what_is_told: true,
    looks_at_others: true,
    looks_at_the_counter: true,
    begins_with_a_script: true,
};

#[test]
fn plain_commands_overtake_nobody_whose_holder_has_died() {
    let unseen = thin::Rules { looks_at_the_queue: false, ..THIN };
    let unseen_by_scripts = thin::Rules { scripts_look_at_the_queue: false, ..THIN };
    let marked = thin::Rules { marks_what_is_told: false, ..THIN };
    let quiet = ThinWorld { deaths: 0, breaks: 0, lost_counters: 0, ..thin(THIN) };
    let dead = |rules| ThinWorld { rules, asks: [1, 0, 1], begins_dead: true, ..quiet.clone() };
    for unseen in [unseen, unseen_by_scripts, marked] {
        let (_, path) = check(dead(unseen), 14);
        assert!(path.is_some_and(|path| path.contains("Expire")), "what is free may have waiters");
    }
    let (states, path) = check(dead(THIN), 18);
    assert_eq!(path, None);
    assert!(states > 10_000, "{states}");
}

#[test]
fn plain_commands_keep_what_scripts_promise() {
    let unseen = thin::Rules { looks_at_the_counter: false, ..THIN };
    let (_, path) = check(thin(unseen), 14);
    assert!(path.is_some_and(|path| path.contains("LoseCounter")), "a counter may be lost");
    let among_others = thin::Rules { looks_at_others: false, ..THIN };
    let (_, path) = check(thin(among_others), 15);
    assert!(path.is_some(), "others may be served between them");
    let (states, path) = check(thin(THIN), 18);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
    let (states, path) =
        check(ThinWorld { forced: 1, breaks: 0, deaths: 0, lost_counters: 0, ..thin(THIN) }, 18);
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
    let unraised = thin::Rules { begins_with_a_script: false, ..THIN };
    let (_, path) = check(world(unraised), 14);
    assert!(path.is_some_and(|path| path.contains("FailOver")), "the replica has an earlier counter");
    let (states, path) = check(world(THIN), 16);
    assert_eq!(path, None);
    assert!(states > 100_000, "{states}");
}
