//! Worlds that a model checker looks at, in every order in which things can happen.
//!
//! All states that so many steps lead to are looked at, each by a shortest way. One thread does that: with several, a state that
//! is first met on a longer way is not gone on from again on a shorter one, and what follows from it may be left out.
//! `LEASEHOLD_MODEL_DEPTH=18` looks further in the worlds of a quorum, which takes minutes and gigabytes.

/// Implements [`Checked`] for a world with these rules. The checker is compiled here, where it is optimized: it is the work of minutes.
macro_rules! checked {
    ($world:ty, $rules:ty) => {
        impl crate::checked::Checked for $world {
            type Rules = $rules;

            fn under(self, rules: Self::Rules) -> Self {
                Self { rules, ..self }
            }

            fn check(self, steps: usize) -> (usize, Option<String>) {
                crate::checked::check(self, steps)
            }

            fn broken(self, property: &'static str, steps: usize) -> Option<crate::checked::Way> {
                crate::checked::broken(self, property, steps)
            }
        }
    };
}

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
    fn check(self, steps: usize) -> (usize, Option<String>);

    /// Returns a way of at most so many steps on which a property is broken, or on which a state is reached.
    fn broken(self, property: &'static str, steps: usize) -> Option<Way>;
}

fn check<W: Checked>(world: W, steps: usize) -> (usize, Option<String>) {
    let (name, began) = (format!("{world:?}"), Instant::now());
    let most = steps + BESIDE_THE_STEPS;
    let checker = world.checker().target_max_depth(most).spawn_bfs().join();
    let states = checker.unique_state_count();
    let end = if checker.max_depth() < most { ", and there are no more" } else { "" };
    println!("{name}: {states} states, {steps} steps{end}, {:.0?}", began.elapsed());
    let promises =
        |property: &'static str| checker.model().property(property).expectation == Expectation::Always;
    let broken = checker.discoveries().into_iter().find(|(property, _)| promises(property));
    (states, broken.map(|(property, path)| format!("{property}: {path}")))
}

fn broken<W: Checked>(world: W, property: &'static str, steps: usize) -> Option<Way> {
    let (until, began) = (HasDiscoveries::AnyOf([property].into()), Instant::now());
    let most = steps + BESIDE_THE_STEPS;
    let checker = world.checker().target_max_depth(most).finish_when(until).spawn_bfs().join();
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

checked!(QueueWorld, queue::QueueRules);
checked!(PartitionsWorld, PartitionsRules);
checked!(RegisterWorld, register::RegisterRules);
checked!(ThinWorld, ThinRules);

/// Returns the number of steps of a quorum that are looked at: `LEASEHOLD_MODEL_DEPTH`, or these.
pub fn steps_of_a_quorum(steps: usize) -> usize {
    env::var("LEASEHOLD_MODEL_DEPTH").map_or(steps, |named| steps.max(named.parse().expect("a number")))
}
