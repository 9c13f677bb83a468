//! `leasehold schedules`: what schedules do, and the changes that an operator makes to them.

mod change;
mod history;
mod view;

use std::process::ExitCode;

use clap::Subcommand;
use leasehold::{ResourceName, schedule::Control};

use self::view::Schedule;
use crate::{
    Failure,
    locks::{
        ALL_THAT_CAN_BE, Page, Walked,
        name::{self, Name},
    },
    looking::{self, Locks},
    outcome::NO,
    print,
    settings::Source,
};

/// Shows schedules, pauses them, and asks for runs
///
/// A schedule is known to the store from its first start on, whether it runs or not.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold schedules ls\n  leasehold schedules pause report")]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists schedules: paused or not, who runs each, its last tick and how its last run ended
    ///
    /// It walks over all keys of the store, in small steps, and tells how many they were. Exits with 0, also if there are none.
    #[command(after_help = "Example:\n  leasehold schedules ls --json | jq 'select(.paused) | .schedule'")]
    Ls(Ls),
    /// Shows one schedule: who runs it, how many stand by, its last tick and its last run
    ///
    /// Exits with 0, and with 1 if the store knows no such schedule.
    #[command(after_help = "Example:\n  leasehold schedules show report")]
    Show(Show),
    /// Shows the latest runs of a schedule in the whole fleet, the latest first
    ///
    /// Exits with 0, and with 1 if the store knows no such schedule.
    #[command(after_help = "Example:\n  leasehold schedules history report --json | jq .outcome")]
    History(Show),
    /// Pauses a schedule in the whole fleet; runs that go on are not stopped
    ///
    /// Exits with 0, with 1 if the store knows no such schedule, and with 3 if it may be paused or not.
    #[command(after_help = "Example:\n  leasehold schedules pause report")]
    Pause(Change),
    /// Goes on after a pause, with the next tick: those of the pause are not made up for
    ///
    /// Exits with 0, with 1 if the store knows no such schedule, and with 3 if it may be paused still.
    #[command(after_help = "Example:\n  leasehold schedules resume report")]
    Resume(Change),
    /// Asks for a run beside the plan, also in a pause; who runs the schedule begins it within a second
    ///
    /// Exits with 0, with 1 if the store knows no such schedule, and with 3 if it may have been asked for or not.
    #[command(after_help = "Example:\n  leasehold schedules run-now report")]
    RunNow(Change),
}

/// A page of schedules.
#[derive(clap::Args)]
struct Ls {
    #[command(flatten)]
    page: Page,
}

/// One schedule.
#[derive(clap::Args)]
struct Show {
    /// The name of the schedule, as `schedules ls` shows it or as it is
    #[arg(value_parser = name::name())]
    name: Name,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// A change to one schedule.
#[derive(clap::Args)]
struct Change {
    /// The name of the schedule, as `schedules ls` shows it or as it is
    #[arg(value_parser = name::name())]
    name: Name,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    match &options.command {
        Command::Ls(options) => ls(&options.page),
        Command::Show(options) => show(options),
        Command::History(options) => history::run(options),
        Command::Pause(options) => change::run(options, change::Kind::Pause),
        Command::Resume(options) => change::run(options, change::Kind::Resume),
        Command::RunNow(options) => change::run(options, change::Kind::RunNow),
    }
}

fn ls(page: &Page) -> Result<ExitCode, Failure> {
    looking::with(&page.source, async |locks| {
        let listing = looking::list(&locks, page.list(ALL_THAT_CAN_BE).schedules()).await?;
        let mut walked = Walked::of(&listing);
        let (mut schedules, mut unreadable) = (Vec::new(), Vec::new());
        for name in &listing.resources {
            match looking::unless_unreadable(name, find(&locks, name).await)? {
                Ok(schedule) => schedules.extend(schedule),
                Err(foreign) => unreadable.push(foreign),
            }
        }
        walked.unreadable = unreadable.len() as u64;
        if page.json {
            schedules.iter().try_for_each(print::json)?;
            unreadable.iter().try_for_each(print::json)?;
            print::json(&walked)?;
        } else {
            if !schedules.is_empty() {
                view::table(&schedules).print()?;
            }
            print::note(&walked.told(&print::counted(schedules.len(), "schedule"), page, "schedules ls"));
        }
        Ok(walked.code())
    })
}

fn show(options: &Show) -> Result<ExitCode, Failure> {
    let Show { name: Name(name), json, source } = options;
    let Some(schedule) = looking::with(source, async |locks| find(&locks, name).await)? else {
        return unknown(name);
    };
    if *json {
        print::json(&schedule)?;
    } else {
        schedule.lines().iter().try_for_each(|line| print::line(line))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns what is to be told of a schedule, if there is one of this name.
async fn find(locks: &Locks, name: &ResourceName) -> Result<Option<Schedule>, Failure> {
    let Some(control) = Control::find(locks, name).await? else { return Ok(None) };
    let Some(status) = control.status().await? else { return Ok(None) };
    let view = looking::inspect(locks, name, 1).await?;
    Ok(Some(Schedule::of(name, status, &view)))
}

/// Tells that there is no such schedule.
fn unknown(name: &ResourceName) -> Result<ExitCode, Failure> {
    print::note(&format!(
        "the store knows no schedule {name}; `leasehold schedules ls` has those that it knows"
    ));
    Ok(ExitCode::from(NO))
}
