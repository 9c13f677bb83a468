//! `leasehold top`: a live view of the locks of a store.
//!
//! # Layout
//! [`seen`] is what the store answered, as plain values. [`sample`] asks the store, [`sampling`] says what is asked when.
//! [`state`] is told what was found and which [`keys`] were pressed, observes what happens between two looks, and says what is on
//! the screen; [`view`] draws that. These three are pure: no clock, no terminal, no store. [`run`] is the loop around them, with [`terminal`] and
//! [`signals`].

mod keys;
mod run;
mod sample;
mod sampling;
mod seen;
mod signals;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

use std::{process::ExitCode, time::Duration};

use self::terminal::OwnTerminal;
use crate::{Failure, settings::Source};

/// Shows the locks of a store live: what is contended, who holds, who waits and for how long
///
/// It looks at the store from outside, so it sees moments and not all that happens between them. Press ? for the keys and for
/// what the figures mean; r takes a resource back from its holders, after a question.
///
/// Example: leasehold top --store redis://127.0.0.1:6379 --every 2s
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,
    /// The time between two samples, 200ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    every: Duration,
}

fn every(text: &str) -> Result<Duration, String> {
    const ALLOWED: std::ops::RangeInclusive<Duration> =
        Duration::from_millis(200)..=Duration::from_secs(3_600);
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if ALLOWED.contains(&time) { Ok(time) } else { Err("allowed: 200ms to 1h".to_owned()) }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    OwnTerminal::check()?;
    let config = options.source.config()?;
    actix::System::new().block_on(run::run(&config, options.every))
}
