//! The laboratory: how settings behave under a workload, predicted by a simulation or measured on a real server.
//!
//! # Layout
//! [`Workload`] is in `workload`, and what is drawn from its seed in `chance`. `drive` has the callers, and `pace` the time that
//! they live in. `model` is the simulation, and `servers` a run on real ones. `profile` is what a simulation knows of a server, and
//! `report` the figures. `changes` are those of tuners. `recommend` searches settings in simulations. `shifting` is a load under
//! which a tuner is compared with fixed settings. `units` are those of figures, `keys`
//! those of tables.
//!
//! **Invariant:** callers are the same code in a simulation and on a server, so that the two differ in the store and in the
//! time alone.

mod chance;
mod changes;
mod drive;
mod keys;
mod model;
mod pace;
mod profile;
mod recommend;
mod report;
#[cfg(unix)]
pub mod servers;
#[doc(hidden)]
pub mod shifting;
mod units;
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
