//! The rules of a quorum, checked in every order in which things can happen: who may vote, and which fence is given.
//!
//! Three nodes, one of whose clocks is ahead, and two clients. Messages of one client to one node stay in order and may be
//! late for as long as it likes; nodes do not answer, are restarted empty, and are taught. Time is not counted: what takes a
//! TTL happens when it may, that is when nobody believes in the lease any more.
//!
//! The rules are those of the library: [`lessons`], [`Recovered::covers`], [`granted_fence`] and [`is_known`]. That the model
//! looks where it should is shown with the rules that the library had before.

mod world;

use stateright::{Checker, Model};
use world::{Rules, World};

/// Looks through all that can happen in so many steps, and answers how many states there are and whether a fence goes back.
fn check(world: World, depth: usize) -> (usize, Option<String>) {
    let (name, threads) = (format!("{world:?}"), std::thread::available_parallelism().map_or(2, usize::from));
    let checker = world.checker().threads(threads).target_max_depth(depth).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!("{name}: {states} states, depth {} of at most {depth}", checker.max_depth());
    let path = checker.discovery("fences grow").map(|path| format!("{path}"));
    (states, path)
}

const OLD: Rules = Rules { teaches: false, lowers: true };
const NEW: Rules = Rules { teaches: true, lowers: false };

#[test]
fn fences_grow_over_a_restart() {
    let (_, path) = check(World::with_a_restart(OLD), 26);
    assert!(path.is_some_and(|path| path.contains("Restart")), "a node that has forgotten votes again");
    let (states, path) = check(World::with_a_restart(NEW), 26);
    assert_eq!(path, None);
    assert!(states > 10_000, "{states}");
}

#[test]
fn fences_grow_though_acquisitions_and_raises_are_late() {
    let (_, path) = check(World::with_a_re_entry(OLD), 26);
    assert!(path.is_some(), "a late raise lowers a fence");
    let (states, path) = check(World::with_a_re_entry(NEW), 26);
    assert_eq!(path, None);
    assert!(states > 10_000, "{states}");
}
