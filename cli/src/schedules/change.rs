//! `leasehold schedules pause`, `resume` and `run-now`.

use std::process::ExitCode;

use leasehold::schedule::Control;

use super::{Change, unknown};
use crate::{
    Failure,
    locks::name::Name,
    looking,
    outcome::{of_change, tell_result},
    print,
};

/// The kind of a change.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Pause,
    Resume,
    RunNow,
}

pub(super) fn run(options: &Change, kind: Kind) -> Result<ExitCode, Failure> {
    let Change { name: typed @ Name(name), source } = options;
    let is_known = looking::with(source, async |locks| {
        let Some(control) = Control::find(&locks, name).await? else { return Ok(false) };
        let changed = match kind {
            Kind::Pause => control.pause().await,
            Kind::Resume => control.resume().await,
            Kind::RunNow => control.run_now().await,
        };
        changed.map(|()| true).map_err(|error| of_change(error.into(), typed.look("schedules show")))
    })?;
    if !is_known {
        return unknown(name);
    }
    let told = match kind {
        Kind::Pause => format!("{name} is paused; runs that go on are not stopped"),
        Kind::Resume => format!("{name} goes on with its next tick"),
        Kind::RunNow => format!("{name} runs within a second, if a process runs it"),
    };
    tell_result(|| print::line(&told));
    Ok(ExitCode::SUCCESS)
}
