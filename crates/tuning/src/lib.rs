//! Tuning: settings that follow the load of a running lock manager, and settings that are chosen before by simulation.
//!
//! An application embeds the [tuner], which changes settings while they run, and the [`TraceRecorder`], which writes the requests
//! of a manager to a file.
//!
//! The feature `laboratory` has the rest. A [`Workload`] says who asks for which locks, when, and for how long.
//! [`simulate`] runs it in virtual time: the lock manager is the real one, its store is the one in memory, and between them is a
//! server with one thread, whose times are those of a [`ServerProfile`]. [`drive()`] runs the part of one process of the same
//! workload on a manager that the caller has started, and [`servers`] has a run of all of it by processes. Either way the result
//! is a [`Report`].
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
//! [`tuner`] changes settings. `recorder` records requests as lines, whose form is in `line`. `laboratory` is the rest.
#![doc(test(attr(deny(warnings))))]

#[cfg(feature = "laboratory")]
mod laboratory;
mod line;
mod recorder;
pub mod tuner;

#[cfg(feature = "laboratory")]
pub use self::laboratory::*;
pub use self::recorder::{Recorded, TraceRecorder};
