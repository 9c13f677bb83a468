//! The goal of a search, and its progress.

use leasehold::InvalidValue;

use super::{figures::Figures, goal::Goal, limit::Limit};

/// The smallest number of simulations that a search can do anything with.
pub(super) const FEWEST: u32 = 100;
/// The largest number of simulations.
const MOST: u32 = 1_000_000;

/// A search for settings.
///
/// # Default
/// No limits, seed 1, 1,000 simulations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Search {
    /// The figure that shall be as good as it can be.
    pub goal: Goal,
    /// The limits that have to be kept. Unless one of them is about success, or success is the goal, at least as many requests
    /// have to be served as with the settings of the workload.
    pub limits: Vec<Limit>,
    /// The seed of everything that is drawn. The same search has the same outcome on every machine.
    pub seed: u64,
    /// The number of simulations, 100 to 1,000,000.
    pub simulations: u32,
}

/// The progress of a search.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// What is done at the moment, in a few words.
    pub stage: &'static str,
    /// The number of simulations that were made.
    pub done: u32,
    /// The number of simulations that may be made.
    pub of: u32,
    /// The figures of the best setting so far.
    pub best: Option<Figures>,
}

impl Search {
    /// Creates a search for this goal.
    pub const fn new(goal: Goal) -> Self {
        Self { goal, limits: Vec::new(), seed: 1, simulations: 1_000 }
    }

    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        if (FEWEST..=MOST).contains(&self.simulations) {
            return Ok(());
        }
        Err(InvalidValue::new("simulations", self.simulations, format!("{FEWEST} to {MOST}")))
    }
}
