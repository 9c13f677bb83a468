//! Tuning: how settings behave under a workload, predicted by a simulation or measured on a real server.
//!
//! A [`Workload`] says who asks for which locks, when, and for how long. [`simulate`] runs it in virtual time: the lock
//! manager is the real one, its store is the one in memory, and between them is a server with one thread, whose times are
//! those of a [`ServerProfile`]. [`drive()`] runs the part of one process of the same workload on a manager that the caller
//! has started. Either way the result is a [`Report`].
//!
//! ```
//! use leasehold_tuning::{ServerProfile, Workload, simulate};
//!
//! let text = r#"
//!     duration = "2s"
//!     processes = 2
//!     arrivals = { kind = "poisson", rate = 50.0 }
//!     hold = { kind = "constant", time = "5ms" }
//!     config.wait.timeout = "1s"
//! "#;
//! let report = simulate(&Workload::from_toml(text, &[])?, &ServerProfile::default())?;
//! assert_eq!(report.granted, report.requests);
//! assert!(report.waited.p99 < 100_000.0, "{} µs", report.waited.p99);
//! # Ok::<(), leasehold::ConfigError>(())
//! ```
//!
//! # Layout
//! [`Workload`] is in `workload`, and what is drawn from its seed in `chance`. `drive` has the callers, and `pace` the time
//! that they live in. `model` is the simulation. `profile` is what it knows of a server, and `report` the figures. `recommend`
//! searches settings in simulations, `recorder` records the requests of an application as a trace.
//!
//! **Invariant:** callers are the same code in a simulation and on a server, so that the two differ in the store and in the
//! time alone.
#![doc(test(attr(deny(warnings))))]

mod chance;
mod drive;
mod model;
mod pace;
mod profile;
mod recommend;
mod recorder;
mod report;
mod seconds;
#[doc(hidden)]
pub mod shifting;
mod workload;

pub use self::{
    drive::{Served, drive, warm_up},
    model::simulate,
    pace::{Pace, RealPace},
    profile::ServerProfile,
    recommend::{Figures, Goal, Limit, Prediction, Progress, Recommendation, Search, recommend},
    recorder::{Recorded, TraceRecorder},
    report::{Report, Spent, Tuned, Waits},
    workload::{Access, Arrivals, Bucket, Resources, SlowServer, Times, Workload},
};
