//! Worlds that a model checker looks at, in every order in which things can happen.
//!
//! All states that so many steps lead to are looked at, each by a shortest way. One thread does that: with several, a state that
//! is first met on a longer way is not gone on from again on a shorter one, and what follows from it may be left out.
//! `LEASEHOLD_MODEL_DEPTH=18` looks further in the worlds of a quorum, which takes minutes and gigabytes.

pub mod partitions;
pub mod queue;
pub mod quorum;
pub mod register;
pub mod thin;
pub mod traces;

use std::{env, fmt::Debug, hash::Hash, time::Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model};

pub use self::{
    partitions::{KEPT, ONE_OWNER, PartitionsRules, PartitionsWorld, SETTLES, SHARED},
    queue::QueueWorld,
    quorum::{FENCES, ONE_HOLDER, Rules, SERVED, World},
    register::RegisterWorld,
    thin::{ThinRules, ThinWorld},
};

/// The checker counts the first state, and looks at no state of the last depth.
const BESIDE_THE_STEPS: usize = 2;

/// A way from the beginning to a state.
#[derive(Debug)]
pub struct Way {
    /// The number of its steps.
    pub steps: usize,
    /// Its steps.
    pub text: String,
}

/// A world that can be looked at, with rules that are kept or not.
pub trait Checked:
    Model<State: Clone + Debug + PartialEq + Hash + Send + Sync, Action: Debug + Clone + PartialEq>
    + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
    /// The rules, each of which is kept or not.
    type Rules: Copy + Debug;

    /// Returns the same world with these rules.
    fn under(self, rules: Self::Rules) -> Self;

    /// Looks at all that can happen in so many steps. Answers how many states there are, and how a property is broken, if one is.
    fn check(self, steps: usize) -> (usize, Option<String>) {
        let (name, began) = (format!("{self:?}"), Instant::now());
        let most = steps + BESIDE_THE_STEPS;
        let checker = self.checker().target_max_depth(most).spawn_bfs().join();
        let states = checker.unique_state_count();
        let end = if checker.max_depth() < most { ", and there are no more" } else { "" };
        println!("{name}: {states} states, {steps} steps{end}, {:.0?}", began.elapsed());
        let promises =
            |property: &'static str| checker.model().property(property).expectation == Expectation::Always;
        let broken = checker.discoveries().into_iter().find(|(property, _)| promises(property));
        (states, broken.map(|(property, path)| format!("{property}: {path}")))
    }

    /// Returns a way of at most so many steps on which a property is broken, or on which a state is reached.
    fn broken(self, property: &'static str, steps: usize) -> Option<Way> {
        let (until, began) = (HasDiscoveries::AnyOf([property].into()), Instant::now());
        let most = steps + BESIDE_THE_STEPS;
        let checker = self.checker().target_max_depth(most).finish_when(until).spawn_bfs().join();
        let path = checker.discovery(property)?;
        let way = Way { text: path.to_string(), steps: path.into_actions().len() };
        println!(
            "{property}: after {} of {steps} steps, {} states, {:.0?}",
            way.steps,
            checker.unique_state_count(),
            began.elapsed()
        );
        Some(way)
    }
}

impl Checked for QueueWorld {
    type Rules = queue::QueueRules;

    fn under(self, rules: Self::Rules) -> Self {
        Self { rules, ..self }
    }
}

impl Checked for PartitionsWorld {
    type Rules = PartitionsRules;

    fn under(self, rules: Self::Rules) -> Self {
        Self { rules, ..self }
    }
}

impl Checked for RegisterWorld {
    type Rules = register::RegisterRules;

    fn under(self, rules: Self::Rules) -> Self {
        Self { rules, ..self }
    }
}

impl Checked for ThinWorld {
    type Rules = ThinRules;

    fn under(self, rules: Self::Rules) -> Self {
        Self { rules, ..self }
    }
}

/// Returns the number of steps of a quorum that are looked at: `LEASEHOLD_MODEL_DEPTH`, or these.
pub fn steps_of_a_quorum(steps: usize) -> usize {
    env::var("LEASEHOLD_MODEL_DEPTH").map_or(steps, |named| named.parse().expect("a number"))
}
