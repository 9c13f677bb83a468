//! `leasehold show`: one resource, with all who hold it and all who wait for it.

use std::process::ExitCode;

use leasehold_console::view::{HolderView, ResourceView, WaiterView, Who};

use super::{
    ls::mode_of,
    name::{self, Name},
};
use crate::{
    Failure,
    looking::{self, TOLD_AT_MOST},
    outcome::NO,
    print::{self, Column, Row, Table, of_kind, span},
    settings::Source,
};

/// Shows who holds a resource and who waits for it
///
/// Exits with 0 if it is held or waited for, and with 1 if it is certainly free.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold show orders/42\n  leasehold show orders/42 --json | jq .holders[0].host"
)]
pub(crate) struct Options {
    /// The name of the resource, as `ls` shows it or as it is
    #[arg(value_parser = name::name())]
    name: Name,
    /// The largest number of holders, and of waiters, to show, 1 to 10000; of each 400 at most
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: usize,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

const HOLDERS: &[Column] = &[
    Column::Text("HOLDER"),
    Column::Text("MODE"),
    Column::Text("OWNER"),
    Column::Number("FENCE"),
    Column::Number("AGE"),
    Column::Number("LEFT"),
    Column::Text("HOST"),
    Column::Number("PID"),
    Column::Text("PURPOSE"),
    Column::Text("TRACE"),
    Column::Text("MORE"),
];

const WAITERS: &[Column] = &[
    Column::Text("WAITER"),
    Column::Number("POSITION"),
    Column::Text("MODE"),
    Column::Text("OWNER"),
    Column::Number("WAITED"),
    Column::Text("HOST"),
    Column::Number("PID"),
    Column::Text("PURPOSE"),
    Column::Text("TRACE"),
    Column::Text("MORE"),
];

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let Options { name: Name(name), limit, json, source } = options;
    let resource = looking::with(source, async |locks| looking::inspect(&locks, name, *limit).await)?;
    if *json {
        print::json(&of_kind("resource", &resource))?;
    } else {
        print(&resource, *limit)?;
    }
    Ok(if resource.is_free() { ExitCode::from(NO) } else { ExitCode::SUCCESS })
}

fn print(resource: &ResourceView, limit: usize) -> Result<(), Failure> {
    let ResourceView { resource: name, total, holders, waiters, .. } = resource;
    let waiting = resource.queue();
    let set = resource.capacity.map_or_else(String::new, |permits| format!(", capacity {permits}"));
    if resource.is_free() {
        return print::line(&format!("{name} is free{set}"));
    }
    print::line(&format!("{name}: {total} {}, {waiting} waiting{set}", counted(*total, "holder")))?;
    if !holders.is_empty() {
        let mut table = Table::new(HOLDERS);
        holders.iter().for_each(|holder| table.add(holder_row(holder)));
        table.print()?;
    }
    if !waiters.is_empty() {
        let mut table = Table::new(WAITERS);
        waiters.iter().for_each(|waiter| table.add(waiter_row(waiter)));
        table.print()?;
    }
    for (what, shown, all) in [("holders", holders.len(), *total), ("waiters", waiters.len(), waiting)] {
        if all > shown as u64 {
            let more = if shown == limit && limit < TOLD_AT_MOST { "; --limit shows more" } else { "" };
            print::note(&format!("{shown} of {all} {what}{more}"));
        }
    }
    Ok(())
}

fn holder_row(holder: &HolderView) -> Row {
    let HolderView { who, fence, age, left, .. } = holder;
    let (mode, tone) = mode_of(holder);
    let row = Row::default().cell(&who.token).toned(mode, tone).known(who.owner.as_ref());
    about(row.known(*fence).known(age.map(span)).cell(span(*left)), who)
}

fn waiter_row(waiter: &WaiterView) -> Row {
    let WaiterView { position, who, waited } = waiter;
    let row = Row::default().cell(&who.token).cell(position).cell(who.mode).known(who.owner.as_ref());
    about(row.known(waited.map(span)), who)
}

/// Adds what a holder or a waiter has told about itself.
fn about(row: Row, who: &Who) -> Row {
    row.known(who.host.as_ref())
        .known(who.pid)
        .known(who.purpose.as_ref())
        .known(who.trace.as_ref())
        .known(Some(who.more()).filter(|more| !more.is_empty()))
}

/// Returns the word for this many.
pub(crate) fn counted(number: u64, word: &str) -> String {
    if number == 1 { word.to_owned() } else { format!("{word}s") }
}
