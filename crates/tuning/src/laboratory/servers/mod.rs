//! Workloads on real servers: the profile of a server, and a run of a workload by processes.
//!
//! # Layout
//! `info` has what servers tell of themselves. `measure` makes the profile of one, with the work of each command from `work`. `run`
//! is a run, `worker` one process of it, and `slow` makes servers slow that were started for it.

mod info;
mod measure;
mod run;
mod slow;
mod work;
mod worker;

use std::error::Error;

pub use self::{info::addresses, measure::measure, run::Run, work::Samples, worker::worker};

/// The reason why a server cannot be measured, or a workload not run on it.
pub type Failure = Box<dyn Error + Send + Sync>;
