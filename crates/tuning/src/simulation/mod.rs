//! The laboratory: how settings behave under a workload, predicted by a simulation or measured on a real server.
//!
//! # Layout
//! [`Workload`] is in `workload`, and what is drawn from its seed in `chance`. `drive` has the callers, and `pace` the time that
//! they live in. `model` is the simulation. `profile` is what it knows of a server, and `report` the figures. `recommend` searches
//! settings in simulations. `shifting` is a load under which a tuner is compared with fixed settings.
//!
//! **Invariant:** callers are the same code in a simulation and on a server, so that the two differ in the store and in the
//! time alone.

mod chance;
mod drive;
mod model;
mod pace;
mod profile;
mod recommend;
mod report;
mod seconds;
pub mod shifting;
mod workload;

pub use self::{
    drive::{Served, drive, warm_up},
    model::simulate,
    pace::{Pace, RealPace},
    profile::ServerProfile,
    recommend::{Figures, Goal, Limit, Prediction, Progress, Recommendation, Search, recommend},
    report::{Report, Spent, Tuned, Waits},
    workload::{Access, Arrivals, Bucket, Resources, SlowServer, Times, Workload},
};
