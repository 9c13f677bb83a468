//! A tuner: the settings of a lock manager follow the load, while both run.
//!
//! It counts in windows who waits and how fast they are served, what the server has to do, and what the application
//! [tells](Figure). [Rules](TunerRule) with names change the pauses, the attempts, the wait and the bound of queues, within the
//! bounds of the section `[tuner]` of a [`Config`](leasehold::Config), and return to the settings when the load has gone. Without
//! `tuner.enabled` a tuner changes nothing.
//!
//! ```
//! use leasehold::Config;
//! use leasehold_tuning::tuner::{Figure, Tuner};
//! # use std::time::Duration;
//!
//! # #[actix::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::from_toml("tuner.enabled = true\ntuner.dry_run = true")?;
//! let locks = config.start()?;
//! let tuner = Tuner::builder(&locks).settings(config.tuner).start()?;
//! tuner.do_send(Figure { name: "orders_per_second".to_owned(), value: 120.0 });
//! # locks.send(leasehold::Shutdown { drain: Duration::ZERO }).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//! `window` turns samples into the figures of a window, `rules` has a file for each setting, and `judge` puts them together.
//! `actor` is the shell around them. **Invariant:** everything but `actor` is free of clocks and of actors.

mod actor;
mod judge;
mod messages;
mod rules;
mod window;

#[cfg(test)]
mod tests;

pub use self::{
    actor::{Tuner, TunerBuilder},
    messages::{Figure, StopTuner, TellChanges, TunerEvent, TunerRule},
};
