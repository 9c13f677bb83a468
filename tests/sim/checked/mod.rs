//! Worlds that a model checker looks at, in every order in which things can happen.
//!
//! All states of so many steps are looked at. `LEASEHOLD_MODEL_DEPTH=18` looks further in the worlds of a quorum, which takes
//! minutes and gigabytes.

mod partitions;
pub mod queue;
mod quorum;
pub mod register;
mod thin;
pub mod traces;

use std::{env, fmt::Debug, hash::Hash, thread, time::Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model};

pub use self::{
    partitions::{KEPT, ONE_OWNER, PartitionsRules, PartitionsWorld, SHARED},
    queue::QueueWorld,
    quorum::{FENCES, ONE_HOLDER, Rules, World},
    register::RegisterWorld,
    thin::{ThinRules, ThinWorld},
};

impl World {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, steps: usize) -> (usize, Option<String>) {
        let named = env::var("LEASEHOLD_MODEL_DEPTH");
        check(self, named.map_or(steps, |steps| steps.parse().expect("a number")))
    }

    /// Returns a way in which a property is broken.
    pub fn broken(self, property: &'static str) -> Option<String> {
        broken(self, property)
    }
}

impl QueueWorld {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, steps: usize) -> (usize, Option<String>) {
        check(self, steps)
    }

    /// Returns a way in which a property is broken, or on which a state is reached: the shortest of at most so many steps.
    pub fn broken(self, property: &'static str, steps: usize) -> Option<String> {
        broken_within(self, property, steps)
    }
}

impl PartitionsWorld {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, steps: usize) -> (usize, Option<String>) {
        check(self, steps)
    }

    /// Returns a way in which a property is broken, the shortest of at most so many steps.
    pub fn broken(self, property: &'static str, steps: usize) -> Option<String> {
        broken_within(self, property, steps)
    }
}

impl RegisterWorld {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, steps: usize) -> (usize, Option<String>) {
        check(self, steps)
    }

    /// Returns a way in which a property is broken, the shortest of at most so many steps.
    pub fn broken(self, property: &'static str, steps: usize) -> Option<String> {
        broken_within(self, property, steps)
    }
}

impl ThinWorld {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, steps: usize) -> (usize, Option<String>) {
        check(self, steps)
    }
}

/// The most steps of a way on which a property is broken.
const FAR: usize = 22;

/// The checker counts the first state, and looks at no state of the last depth.
const BESIDE_THE_STEPS: usize = 2;

/// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
fn check<M>(world: M, steps: usize) -> (usize, Option<String>)
where
    M: Model<State: Clone + Debug + PartialEq + Hash + Send + Sync, Action: Debug + Clone + PartialEq>
        + Debug
        + Send
        + Sync
        + 'static,
{
    let (name, began) = (format!("{world:?}"), Instant::now());
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let checker =
        world.checker().threads(threads).target_max_depth(steps + BESIDE_THE_STEPS).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!("{name}: {states} states, {steps} steps, {:.0?}", began.elapsed());
    let promises =
        |property: &'static str| checker.model().property(property).expectation == Expectation::Always;
    let broken = checker.discoveries().into_iter().find(|(property, _)| promises(property));
    (states, broken.map(|(property, path)| format!("{property}: {path}")))
}

fn broken<M>(world: M, property: &'static str) -> Option<String>
where
    M: Model<State: Clone + Debug + PartialEq + Hash + Send + Sync, Action: Debug + Clone + PartialEq>
        + Send
        + Sync
        + 'static,
{
    let until = HasDiscoveries::AnyOf([property].into());
    let checker =
        world.checker().target_max_depth(FAR + BESIDE_THE_STEPS).finish_when(until).spawn_dfs().join();
    println!("{} states until this breaks: {property}", checker.unique_state_count());
    checker.discovery(property).map(|path| path.to_string())
}

/// Returns the shortest way in which a property is broken.
fn broken_within<M>(world: M, property: &'static str, steps: usize) -> Option<String>
where
    M: Model<State: Clone + Debug + PartialEq + Hash + Send + Sync, Action: Debug + Clone + PartialEq>
        + Send
        + Sync
        + 'static,
{
    let until = HasDiscoveries::AnyOf([property].into());
    let checker =
        world.checker().target_max_depth(steps + BESIDE_THE_STEPS).finish_when(until).spawn_bfs().join();
    println!("{} states until this breaks: {property}", checker.unique_state_count());
    checker.discovery(property).map(|path| path.to_string())
}
