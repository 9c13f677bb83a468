//! `leasehold ls`: the resources that are not free, page by page.

use std::process::ExitCode;

use leasehold::{List, Listing};
use leasehold_console::view::{HolderView, ResourceView};
use serde::Serialize;

use super::name::{self, Name, Prefix, quoted};
use crate::{
    FAILED, Failure,
    looking::{self, Unreadable},
    print::{self, Column, Row, Table, Tone, of_kind, span},
    settings::Source,
};

/// Lists the resources that are held, in the order of their names, with the holder that ends first
///
/// Each page is a walk over all keys of the store, in small steps; it is told how many they were. A name with bytes that are
/// not printable is shown with %XX for each, and may be typed so. Exits with 0, also if nothing is held, and with 2 if the time
/// for the walk was over, so that names may be missing.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold ls orders/ --limit 20\n  leasehold ls --contended --json | jq .resource"
)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) page: Page,
    /// List only the resources that somebody waits for
    #[arg(long)]
    contended: bool,
}

/// A page of names, and the form in which it is shown.
#[derive(clap::Args)]
pub(crate) struct Page {
    /// The beginning of the names [default: all]
    #[arg(value_name = "PREFIX", value_parser = name::prefix())]
    pub(crate) prefix: Option<Prefix>,
    /// The largest number of names to look at, 1 to 10000 [default: 100; for elections and schedules 10000]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// Begin behind this name
    #[arg(long, value_name = "NAME", value_parser = name::name())]
    pub(crate) after: Option<Name>,
    /// Print a line of JSON for each, and one for the page
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) source: Source,
}

/// The page itself, as the last line of JSON.
#[derive(Serialize)]
pub(crate) struct Walked {
    kind: &'static str,
    /// The number of keys that the walk looked at.
    walked: u64,
    /// True if there are no more names.
    complete: bool,
    /// True if the walk was ended because it took too long: names may be missing.
    cut_short: bool,
    /// The name to begin the next page behind.
    next: Option<String>,
    /// The number of names whose record is foreign or newer, so that nothing is known of them.
    pub(crate) unreadable: u64,
}

/// The number of names that are looked at for the few of them that are shown.
pub(crate) const ALL_THAT_CAN_BE: usize = 10_000;

/// The number of names in a page for people, if they do not say another one.
const A_SCREEN_OR_TWO: usize = 100;

const COLUMNS: &[Column] = &[
    Column::Text("RESOURCE"),
    Column::Text("MODE"),
    Column::Number("HOLDERS"),
    Column::Number("WAITING"),
    Column::Text("HOST"),
    Column::Number("PID"),
    Column::Text("PURPOSE"),
    Column::Number("FENCE"),
    Column::Number("AGE"),
    Column::Number("LEFT"),
];

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let Options { page, contended } = options;
    looking::with(&page.source, async |locks| {
        let list = page.list(A_SCREEN_OR_TWO);
        let list = if *contended { list.waited_for() } else { list };
        let listing = looking::list(&locks, list).await?;
        let mut walked = Walked::of(&listing);
        let (seen, unreadable) = looking::inspect_readable(&locks, listing.resources).await?;
        walked.unreadable = unreadable.len() as u64;
        // Who has gone since the walk is not there.
        let is_there = |it: &ResourceView| if *contended { it.queue() > 0 } else { !it.is_free() };
        let there: Vec<ResourceView> = seen.into_iter().filter(is_there).collect();
        if page.json {
            there.iter().try_for_each(|it| print::json(&of_kind("resource", it)))?;
            unreadable.iter().try_for_each(print::json)?;
            print::json(&walked)?;
        } else {
            if !there.is_empty() || !unreadable.is_empty() {
                table(&there, &unreadable).print()?;
            }
            let (command, state) = if *contended { ("ls --contended", "contended") } else { ("ls", "held") };
            print::note(&walked.told(&format!("{} {state}", there.len()), page, command));
        }
        Ok(walked.code())
    })
}

fn table(resources: &[ResourceView], unreadable: &[Unreadable]) -> Table {
    let mut table = Table::new(COLUMNS);
    for resource in resources {
        let first = resource.holders.first();
        let who = first.map(|first| &first.who);
        let (mode, tone) = first.map_or(("-".to_owned(), Tone::Plain), mode_of);
        let row = Row::default()
            .cell(&resource.resource)
            .toned(mode, tone)
            .cell(resource.total)
            .toned(resource.queue(), if resource.queue() > 0 { Tone::Notable } else { Tone::Plain })
            .known(who.and_then(|who| who.host.as_ref()))
            .known(who.and_then(|who| who.pid))
            .known(who.and_then(|who| who.purpose.as_ref()))
            .known(first.and_then(|first| first.fence))
            .known(first.and_then(|first| first.age).map(span))
            .known(first.map(|first| span(first.left)));
        table.add(row);
    }
    for Unreadable { resource, .. } in unreadable {
        let row = Row::default().cell(resource).toned("unreadable", Tone::Bad);
        table.add((2..COLUMNS.len()).fold(row, |row, _| row.known(None::<&str>)));
    }
    table
}

/// Returns the mode of a holder in words, with its tone.
pub(super) fn mode_of(holder: &HolderView) -> (String, Tone) {
    match holder.is_holding() {
        true => (holder.who.mode.to_string(), Tone::Plain),
        false => ("closed".to_owned(), Tone::Notable),
    }
}

impl Page {
    /// Returns the question for the page, which has this many names if nothing is said.
    pub(crate) fn list(&self, limit: usize) -> List {
        let prefix = self.prefix.as_ref().map_or(&[][..], |prefix| &prefix.0);
        let list = List::new(prefix).limit(self.limit.unwrap_or(limit));
        match &self.after {
            Some(Name(after)) => list.after(after.as_bytes()),
            None => list,
        }
    }

    /// Returns the line that asks for the page behind this name.
    pub(crate) fn again(&self, command: &str, after: &str) -> String {
        let prefix = self.prefix.as_ref().map(Prefix::encoded).filter(|prefix| !prefix.is_empty());
        let prefix = prefix.map_or_else(String::new, |prefix| format!(" {}", name::argument(&prefix)));
        let limit = self.limit.map_or_else(String::new, |limit| format!(" --limit {limit}"));
        let store = self.source.typed().into_iter().map(|word| format!(" {}", quoted(&word)));
        format!("leasehold {command}{limit}{} --after={}{prefix}", store.collect::<String>(), quoted(after))
    }
}

impl Walked {
    pub(crate) fn of(listing: &Listing) -> Self {
        let Listing { resources, complete, cut_short, walked, .. } = listing;
        // Behind a page with gaps there is no next one.
        let next = resources.last().filter(|_| !complete && !cut_short).map(ToString::to_string);
        Self {
            kind: "page",
            walked: *walked,
            complete: *complete,
            cut_short: *cut_short,
            next,
            unreadable: 0,
        }
    }

    /// Returns the page in words: what is shown, how many keys were looked at, and how to go on.
    pub(crate) fn told(&self, shown: &str, page: &Page, command: &str) -> String {
        let seen = format!("{shown}; looked at up to {} keys", self.walked);
        match &self.next {
            _ if self.has_gaps() => format!(
                "{seen} and did not come to the end: names may be missing; try again, with a longer \
                 store.response_timeout or a larger --limit"
            ),
            Some(next) => format!("{seen}; more: {}", page.again(command, next)),
            None => seen,
        }
    }

    /// Returns true if names may be missing, and there is no next page that has them.
    fn has_gaps(&self) -> bool {
        self.cut_short || (!self.complete && self.next.is_none())
    }

    /// Returns the exit code of a command that shows it: names that may be missing, and records that cannot be read, are a failure.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(if self.has_gaps() || self.unreadable > 0 { FAILED } else { 0 })
    }
}
