//! `leasehold partitions`: who owns what in fleets that share partitions, and members that are asked to leave.

use std::{process::ExitCode, time::Duration};

use clap::Subcommand;
use leasehold::{
    ResourceName, Revoke, Revoked,
    partitions::{Member, PartitionOwner, Survey},
};
use leasehold_console::view::seconds_if_known;
use serde::Serialize;

use crate::{
    Failure,
    locks::{
        ALL_THAT_CAN_BE, Page, Walked,
        name::{self, Name},
    },
    looking::{self, Locks},
    outcome::{self, NO, UNKNOWN, of_change},
    print::{self, Column, Row, Table, Tone, span},
    settings::Source,
};

/// The end of the name of the members' resource, behind that of the fleet.
const MEMBERS: &[u8] = b"/members";

/// Shows partitions and their owners, and drains members
///
/// Partitions are the shares of keys that the processes of a fleet have between them. A fleet has the name of its partitions.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold partitions ls\n  leasehold partitions drain orders host-1")]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists fleets: how many partitions and members each has, and how many partitions nobody owns
    ///
    /// It walks over all keys of the store, in small steps, and tells how many they were. Exits with 0, also if there are
    /// none, and with 2 if the members of a fleet cannot be read.
    #[command(after_help = "Example:\n  leasehold partitions ls --json | jq 'select(.unowned > 0) | .fleet'")]
    Ls(Ls),
    /// Shows the members of a fleet, and the owner of each partition
    ///
    /// Exits with 0, and with 1 if nobody is a member.
    #[command(after_help = "Example:\n  leasehold partitions show orders")]
    Show(Show),
    /// Asks a member to give its partitions to others, and waits until it has
    ///
    /// It stays away until its program joins again, or is started again. Exits with 0 if it has given all up, with 1 if there is
    /// no such member, and with 3 if it may own partitions still: when the grace is over it has only lost its place.
    #[command(after_help = "Example:\n  leasehold partitions drain orders host-1 --grace 1m")]
    Drain(Drain),
}

/// A page of fleets.
#[derive(clap::Args)]
struct Ls {
    #[command(flatten)]
    page: Page,
}

/// One fleet.
#[derive(clap::Args)]
struct Show {
    /// The name of the partitions
    #[arg(value_parser = name::name())]
    name: Name,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// One member.
#[derive(clap::Args)]
struct Drain {
    /// The name of the partitions
    #[arg(value_parser = name::name())]
    name: Name,
    /// The name of the member, as `partitions show` has it
    member: String,
    /// The time that it has
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    grace: Duration,
    #[command(flatten)]
    source: Source,
}

/// A fleet, as a line of JSON.
#[derive(Serialize)]
struct Fleet {
    kind: &'static str,
    fleet: String,
    partitions: usize,
    members: usize,
    unowned: usize,
}

/// A member, as a line of JSON.
#[derive(Serialize)]
struct MemberLine<'a> {
    kind: &'static str,
    member: &'a str,
    endpoint: Option<&'a str>,
    partitions: usize,
}

/// A partition, as a line of JSON.
#[derive(Serialize)]
struct PartitionLine<'a> {
    kind: &'static str,
    partition: usize,
    owner: Option<&'a str>,
    endpoint: Option<&'a str>,
    fence: Option<u64>,
    #[serde(rename = "owned_for_seconds", serialize_with = "seconds_if_known")]
    owned_for: Option<Duration>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    match &options.command {
        Command::Ls(options) => ls(&options.page),
        Command::Show(options) => show(options),
        Command::Drain(options) => drain(options),
    }
}

fn ls(page: &Page) -> Result<ExitCode, Failure> {
    looking::with(&page.source, async |locks| {
        let listing = looking::list(&locks, page.list(ALL_THAT_CAN_BE)).await?;
        let mut walked = Walked::of(&listing);
        let (mut fleets, mut unreadable) = (Vec::new(), Vec::new());
        for members in &listing.resources {
            let Some(name) = members.as_bytes().strip_suffix(MEMBERS) else { continue };
            let Ok(name) = ResourceName::new(name) else { continue };
            match looking::unless_unreadable(members, survey(&locks, &name).await)? {
                Ok(survey) => fleets.extend(survey.map(|survey| Fleet::of(&name, &survey))),
                Err(foreign) => unreadable.push(foreign),
            }
        }
        walked.unreadable = unreadable.len() as u64;
        if page.json {
            fleets.iter().try_for_each(print::json)?;
            unreadable.iter().try_for_each(print::json)?;
            print::json(&walked)?;
        } else {
            if !fleets.is_empty() {
                table(&fleets).print()?;
            }
            print::note(&walked.told(&print::counted(fleets.len(), "fleet"), page, "partitions ls"));
        }
        Ok(walked.code())
    })
}

fn show(options: &Show) -> Result<ExitCode, Failure> {
    let Show { name: Name(name), json, source } = options;
    let Some(survey) = looking::with(source, async |locks| survey(&locks, name).await)? else {
        print::note(&format!(
            "nobody is a member of {name}; `leasehold partitions ls` has the fleets that there are"
        ));
        return Ok(ExitCode::from(NO));
    };
    if *json {
        survey
            .members
            .iter()
            .map(|member| MemberLine::of(member, &survey))
            .try_for_each(|line| print::json(&line))?;
        survey.owners.iter().enumerate().map(PartitionLine::of).try_for_each(|line| print::json(&line))?;
    } else {
        members(&survey).print()?;
        owners(&survey).print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn drain(options: &Drain) -> Result<ExitCode, Failure> {
    let Drain { name: Name(name), member, grace, source } = options;
    let place = [name.as_bytes(), MEMBERS, b"/", member.as_bytes()].concat();
    let revoke = Revoke::new(&place).grace(*grace).reason("it is drained by an operator");
    let (Revoked { finished, taken, unconfirmed, .. }, owns) = looking::with(source, async |locks| {
        print::note(&format!("{name}: asking {member} to leave within {}", span(*grace)));
        let answer = locks.send(revoke).await.map_err(looking::gone)?.map_err(looking::revoke);
        let revoked = answer.map_err(|failure| {
            of_change(failure, format!("it may have been asked; `leasehold partitions show {name}`"))
        })?;
        // Its name ends also when its program joins again, or ends, before all are given up.
        let owns = match survey(&locks, name).await {
            _ if revoked.finished == 0 => false,
            Ok(found) => found.is_some_and(|found| found.owned_by(&Member::new(member)) > 0),
            Err(failure) => {
                print::note(&outcome::line(&failure));
                true
            }
        };
        Ok((revoked, owns))
    })?;
    let (told, code) = match (finished, taken + unconfirmed) {
        (0, 0) => (format!("{name} has no member {member}"), ExitCode::from(NO)),
        (_, 0) if !owns => (format!("{member} has given up all partitions of {name}"), ExitCode::SUCCESS),
        _ => (
            format!("{member} may own partitions of {name}; `leasehold partitions show {name}` tells"),
            ExitCode::from(UNKNOWN),
        ),
    };
    print::line(&told)?;
    Ok(code)
}

async fn survey(locks: &Locks, name: &ResourceName) -> Result<Option<Survey>, Failure> {
    Survey::of(locks, name).await.map_err(looking::query)
}

impl Fleet {
    fn of(name: &ResourceName, survey: &Survey) -> Self {
        let unowned = survey.owners.iter().filter(|owner| owner.is_none()).count();
        let (partitions, members) = (survey.owners.len(), survey.members.len());
        Self { kind: "fleet", fleet: name.to_string(), partitions, members, unowned }
    }
}

impl<'a> MemberLine<'a> {
    fn of(member: &'a Member, survey: &Survey) -> Self {
        let partitions = survey.owned_by(member);
        Self { kind: "member", member: &member.name, endpoint: member.endpoint.as_deref(), partitions }
    }
}

impl<'a> PartitionLine<'a> {
    fn of((partition, owner): (usize, &'a Option<PartitionOwner>)) -> Self {
        let member = owner.as_ref().map(|owner| &owner.member);
        Self {
            kind: "partition",
            partition,
            owner: member.map(|member| member.name.as_str()),
            endpoint: member.and_then(|member| member.endpoint.as_deref()),
            fence: owner.as_ref().and_then(|owner| owner.fence).map(|fence| fence.get()),
            owned_for: owner.as_ref().and_then(|owner| owner.owned_for),
        }
    }
}

fn table(fleets: &[Fleet]) -> Table {
    const COLUMNS: &[Column] = &[
        Column::Text("FLEET"),
        Column::Number("PARTITIONS"),
        Column::Number("MEMBERS"),
        Column::Number("UNOWNED"),
    ];
    let mut table = Table::new(COLUMNS);
    for Fleet { fleet, partitions, members, unowned, .. } in fleets {
        let row = Row::default().cell(fleet).cell(partitions).cell(members);
        let tone = if *unowned > 0 { Tone::Bad } else { Tone::Plain };
        table.add(row.toned(unowned, tone));
    }
    table
}

fn members(survey: &Survey) -> Table {
    const COLUMNS: &[Column] =
        &[Column::Text("MEMBER"), Column::Text("ENDPOINT"), Column::Number("PARTITIONS")];
    let mut table = Table::new(COLUMNS);
    for member in &survey.members {
        let row = Row::default().cell(&member.name).known(member.endpoint.as_ref());
        table.add(row.cell(survey.owned_by(member)));
    }
    table
}

fn owners(survey: &Survey) -> Table {
    const COLUMNS: &[Column] = &[
        Column::Number("PARTITION"),
        Column::Text("OWNER"),
        Column::Number("FENCE"),
        Column::Number("OWNED FOR"),
    ];
    let mut table = Table::new(COLUMNS);
    for (partition, owner) in survey.owners.iter().enumerate() {
        let row = Row::default().cell(partition);
        table.add(match owner {
            Some(owner) => row.cell(&owner.member.name).known(owner.fence).known(owner.owned_for.map(span)),
            None => row.toned("nobody", Tone::Bad).cell("-").cell("-"),
        });
    }
    table
}
