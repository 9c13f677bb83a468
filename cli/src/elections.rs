//! `leasehold elections`: who leads, and how many stand behind.

use std::process::ExitCode;

use leasehold::Listing;
use leasehold_console::view::{HolderView, ResourceView};
use serde::Serialize;

use crate::{
    Failure,
    locks::{ALL_THAT_CAN_BE, Page, Walked},
    looking::{self, Locks},
    print::{self, Column, Row, Table, Tone, span},
};

/// Lists elections: who leads, since when, and how many stand in the queue
///
/// Elections are the resources whose holder or first waiter stands for a lead: candidates, singletons and the runners of
/// schedules say so in their metadata. Of an election in which nobody stands there is nothing to see. As many held resources
/// are looked at as --limit says, and as many that are waited for, whether they are elections or not. Exits with 0, also if
/// there are none.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold elections\n  leasehold elections schedulers/ --json | jq .leader.host"
)]
pub(crate) struct Options {
    #[command(flatten)]
    page: Page,
}

/// An election.
#[derive(Serialize)]
struct Election {
    kind: &'static str,
    resource: String,
    /// `election` or `schedule`.
    role: String,
    /// The holder that leads; `None` if nobody does.
    leader: Option<HolderView>,
    /// The number of those who stand in the queue.
    waiting: Option<u64>,
}

const COLUMNS: &[Column] = &[
    Column::Text("ELECTION"),
    Column::Text("ROLE"),
    Column::Text("LEADER"),
    Column::Number("PID"),
    Column::Number("FENCE"),
    Column::Number("LEADS FOR"),
    Column::Number("LEFT"),
    Column::Number("WAITING"),
];

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let page = &options.page;
    looking::with(&page.source, async |locks| {
        let listing = with_contended(&locks, page).await?;
        let mut walked = Walked::of(&listing);
        let looked_at = listing.resources.len();
        let (seen, unreadable) = looking::inspect_readable(&locks, listing.resources).await?;
        walked.unreadable = unreadable.len() as u64;
        let elections: Vec<Election> = seen.into_iter().filter_map(Election::of).collect();
        if page.json {
            elections.iter().try_for_each(print::json)?;
            unreadable.iter().try_for_each(print::json)?;
            print::json(&walked)?;
        } else {
            if !elections.is_empty() {
                table(&elections).print()?;
            }
            let (found, among) =
                (print::counted(elections.len(), "election"), print::counted(looked_at, "resource"));
            print::note(&walked.told(&format!("{found} among {among}"), page, "elections"));
        }
        Ok(walked.code())
    })
}

/// Walks over the resources that are held, and over those that somebody waits for: between two leaders nobody holds.
async fn with_contended(locks: &Locks, page: &Page) -> Result<Listing, Failure> {
    let mut held = looking::list(locks, page.list(ALL_THAT_CAN_BE)).await?;
    let contended = looking::list(locks, page.list(ALL_THAT_CAN_BE).waited_for()).await?;
    // What is behind the end of either is left to the next page.
    let ends = [&held, &contended].map(|it| it.resources.last().filter(|_| !it.complete).cloned());
    let end = ends.into_iter().flatten().min();
    held.resources.extend(contended.resources);
    held.resources.retain(|name| end.as_ref().is_none_or(|end| name <= end));
    held.resources.sort();
    held.resources.dedup();
    held.complete &= contended.complete;
    held.cut_short |= contended.cut_short;
    held.walked += contended.walked;
    Ok(held)
}

impl Election {
    /// Returns the election that a resource is, if it is one.
    fn of(view: ResourceView) -> Option<Self> {
        let role = view.role().filter(|_| view.is_election())?.to_owned();
        let (leader, waiting) = (view.leader().cloned(), view.waiting);
        Some(Self { kind: "election", resource: view.resource, role, leader, waiting })
    }
}

fn table(elections: &[Election]) -> Table {
    let mut table = Table::new(COLUMNS);
    for Election { resource, role, leader, waiting, .. } in elections {
        let row = Row::default().cell(resource).cell(role);
        let row = match leader {
            Some(leader) => row
                .known(leader.who.host.as_ref())
                .known(leader.who.pid)
                .known(leader.fence)
                .known(leader.age.map(span))
                .cell(span(leader.left)),
            None => row.toned("nobody", Tone::Bad).cell("-").cell("-").cell("-").cell("-"),
        };
        table.add(row.known(*waiting));
    }
    table
}
