//! Recommendations: a search for the settings that serve a goal best, in simulations.
//!
//! [`recommend`] samples the space of settings, goes on with the better ones, steps from the best of them to better ones,
//! simulates what is left with seeds that it has not seen, and then drops every change that does not matter.
//!
//! # Layout
//! `search` is what is searched for. `goal` says which of two settings is better, and `limit` what has to be kept. `settings` has what is searched, each with its
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
mod search;
mod settings;
mod space;
mod stages;
mod trials;

use std::ops::ControlFlow;

use leasehold::ConfigError;

use self::{
    course::Course,
    goal::Aim,
    space::Space,
    stages::Stages,
    trials::{Halt, Trials},
};
pub use self::{
    figures::Figures,
    goal::Goal,
    limit::Limit,
    outcome::{Prediction, Recommendation},
    search::{Progress, Search},
};
use super::{profile::ServerProfile, workload::Workload};

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
