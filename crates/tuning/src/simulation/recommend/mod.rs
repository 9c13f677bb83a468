//! Recommendations: a search for the settings that serve a goal best, in simulations.
//!
//! [`recommend`] samples the space of settings, goes on with the better ones, steps from the best of them to better ones,
//! simulates what is left with seeds that it has not seen, and then drops every change that does not matter.
//!
//! # Layout
//! `goal` says which of two settings is better, and `limit` what has to be kept. `settings` has what is searched, each with its
//! values in a `grid`, and `space` all of them together. `trials` has what was simulated under which `load`, `stages` the
//! search, and `course` all of it, from the first simulation to the recommendation. `front` has what cannot be had together,
//! and `outcome` what is told.
//!
//! **Invariant:** every setting that is tried is one that [`Config`](leasehold::Config) accepts.

mod course;
mod figures;
mod front;
mod goal;
mod grid;
mod limit;
mod load;
mod outcome;
mod settings;
mod space;
mod stages;
mod trials;

use std::ops::ControlFlow;

use serde::Serialize;

use self::{
    course::Course,
    goal::Aim,
    space::Space,
    stages::Stages,
    trials::{Halt, Trials},
};
pub use self::{figures::Figures, goal::Goal, limit::Limit};
use leasehold::{ConfigError, InvalidValue};

use super::{profile::ServerProfile, workload::Workload};

/// The smallest number of simulations that a search can do anything with.
const FEWEST: u32 = 100;
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

/// A setting, and what was predicted for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Prediction {
    /// The name, for people.
    pub name: String,
    /// The settings that differ from the default, as a fragment of `config.toml`.
    pub config: String,
    /// The means of the figures.
    pub figures: Figures,
    /// The number of seeds that they are the means of.
    pub seeds: usize,
    /// The number of seeds with which all limits were kept.
    pub within_limits: usize,
    /// The number of seeds with which it was simulated where locks are held for half as long again.
    pub longer_holds_seeds: usize,
    /// The number of these with which all limits were kept.
    pub longer_holds_within_limits: usize,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recommendation {
    /// The best setting.
    pub best: Prediction,
    /// The limits, with the one of success that was added.
    pub limits: Vec<String>,
    /// True if the setting keeps all limits with each seed. Else it is the one that comes nearest.
    pub is_within_limits: bool,
    /// True if the search came to its end. If it was stopped, the setting is the best so far, and may have changes that do not
    /// matter.
    pub is_complete: bool,
    /// The settings of the workload as it is, the default, and the presets.
    pub compared: Vec<Prediction>,
    /// The same setting where it, or the load, is not as it was thought to be.
    pub sensitivity: Vec<Prediction>,
    /// The settings that no other one beats in success, wait and the server's time together, from the shortest wait to the
    /// longest.
    pub front: Vec<Prediction>,
    /// The number of simulations that were made.
    pub simulations: u32,
}

impl Search {
    /// Creates a search for this goal.
    pub const fn new(goal: Goal) -> Self {
        Self { goal, limits: Vec::new(), seed: 1, simulations: 1_000 }
    }

    fn check(&self) -> Result<(), InvalidValue> {
        if (FEWEST..=MOST).contains(&self.simulations) {
            return Ok(());
        }
        Err(InvalidValue::new("simulations", self.simulations, format!("{FEWEST} to {MOST}")))
    }
}

/// Searches the settings for a workload on a server with this profile.
///
/// `watch` is called after every few simulations. When it breaks, the outcome is the best so far. Simulations run on as many
/// threads as the machine has processors; the calling one is blocked meanwhile.
///
/// # Errors
/// [`ConfigError`] when the search, the configuration of the workload or the profile is wrong.
pub fn recommend(
    workload: &Workload,
    profile: &ServerProfile,
    search: &Search,
    mut watch: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Recommendation, ConfigError> {
    search.check()?;
    profile.check()?;
    let space = Space::of(workload)?;
    let trials = Trials::new(workload, profile, (search.seed, search.simulations), &mut watch);
    let aim = Aim { goal: search.goal, limits: search.limits.clone(), longer_holds: None };
    let mut course = Course::new(Stages { space: &space, aim, trials }, search)?;
    let is_complete = match course.run() {
        Ok(()) => true,
        Err(Halt::Stopped) => false,
        Err(Halt::Failed(error)) => return Err(error),
    };
    Ok(course.recommendation(is_complete))
}

#[cfg(test)]
mod tests;
