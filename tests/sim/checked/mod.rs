//! Worlds that a model checker looks at, in every order in which things can happen.
//!
//! All states up to a depth are looked at; `LEASEHOLD_MODEL_DEPTH=21` looks further, which takes minutes and gigabytes.

pub mod queue;
mod quorum;
pub mod register;
mod thin;
pub mod traces;

use std::{env, fmt::Debug, hash::Hash, thread, time::Instant};

use stateright::{Checker, HasDiscoveries, Model};

pub use self::{
    queue::QueueWorld,
    quorum::{FENCES, ONE_HOLDER, Rules, World},
    register::RegisterWorld,
    thin::{ThinRules, ThinWorld},
};

impl World {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, depth: usize) -> (usize, Option<String>) {
        check(self, depth)
    }

    /// Returns a way in which a property is broken.
    pub fn broken(self, property: &'static str) -> Option<String> {
        broken(self, property)
    }
}

impl QueueWorld {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, depth: usize) -> (usize, Option<String>) {
        check(self, depth)
    }

    /// Returns a way in which a property is broken, the shortest of at most so many steps.
    pub fn broken(self, property: &'static str, depth: usize) -> Option<String> {
        broken_within(self, property, depth)
    }
}

impl RegisterWorld {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, depth: usize) -> (usize, Option<String>) {
        check(self, depth)
    }

    /// Returns a way in which a property is broken, the shortest of at most so many steps.
    pub fn broken(self, property: &'static str, depth: usize) -> Option<String> {
        broken_within(self, property, depth)
    }
}

impl ThinWorld {
    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    pub fn check(self, depth: usize) -> (usize, Option<String>) {
        check(self, depth)
    }
}

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

/// Returns the shortest way in which a property is broken.
fn broken_within<M>(world: M, property: &'static str, depth: usize) -> Option<String>
where
    M: Model<State: Clone + Debug + PartialEq + Hash + Send + Sync, Action: Debug + Clone + PartialEq>
        + Send
        + Sync
        + 'static,
{
    let until = HasDiscoveries::AnyOf([property].into());
    let checker = world.checker().target_max_depth(depth).finish_when(until).spawn_bfs().join();
    println!("{} states until this breaks: {property}", checker.unique_state_count());
    checker.discovery(property).map(|path| path.to_string())
}
