//! `leasehold schedules history`: the latest runs of a schedule.

use std::process::ExitCode;

use leasehold::schedule::Control;
use leasehold_console::view::RunView;

use super::{Show, unknown, view::runs};
use crate::{
    Failure,
    locks::name::Name,
    looking,
    print::{self, of_kind},
};

pub(super) fn run(options: &Show) -> Result<ExitCode, Failure> {
    let Show { name: Name(name), json, source } = options;
    let status = looking::with(source, async |locks| match Control::find(&locks, name).await? {
        Some(control) => Ok(control.status().await?),
        None => Ok(None),
    })?;
    let Some(status) = status else { return unknown(name) };
    let history: Vec<RunView> = status.history.iter().map(RunView::from).collect();
    if *json {
        history.iter().try_for_each(|run| print::json(&of_kind("run", run)))?;
    } else if history.is_empty() {
        print::line(&format!("{name} has not run yet"))?;
    } else {
        runs(&history).print()?;
    }
    Ok(ExitCode::SUCCESS)
}
