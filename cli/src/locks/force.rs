//! `leasehold force-release`: a resource is taken from all its holders, at once.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use leasehold::{ResourceName, Revoke};

use super::{
    name::{self, Name},
    show::counted,
};
use crate::{
    Failure,
    looking::{self, Locks},
    outcome::{NO, of_change, tell_result},
    print,
    settings::Source,
};

/// Takes a resource from all its holders at once: the last resort, where `revoke` lets them finish
///
/// Holders that still work do not know it for the time that a message takes, or until their next renewal if it does not
/// arrive; only fences stop what they write meanwhile. On a terminal it asks before. Exits with 0 if it was taken, with 1
/// if nobody held it or the answer was no, and with 3 if that is unknown.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold force-release orders/42 --yes")]
pub(crate) struct Options {
    /// The name of the resource, as `ls` shows it or as it is
    #[arg(value_parser = name::name())]
    name: Name,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let Options { name: typed @ Name(name), yes, json, source } = options;
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !yes && !can_ask {
        return Err("force-release takes the lock from whoever still works under it; say --yes".into());
    }
    let taken = looking::with(source, async |locks| {
        if !yes && !asked(&locks, name).await? {
            return Ok(None);
        }
        let answer = locks.send(Revoke::at_once(name.as_bytes())).await;
        let answer = answer.map_err(looking::gone).and_then(|answer| answer.map_err(looking::revoke));
        let look = format!("{} before you repeat it", typed.look("show"));
        answer.map(|revoked| Some(revoked.taken as u64)).map_err(|failure| of_change(failure, look))
    })?;
    let Some(holders) = taken else {
        print::note("nothing was taken");
        return Ok(ExitCode::from(NO));
    };
    tell_result(|| match holders {
        _ if *json => print::json(&serde_json::json!({
            "kind": "force_released", "resource": name.to_string(), "taken": holders,
        })),
        0 => print::line(&format!("nobody held {name}")),
        _ => print::line(&format!("{name} was taken from {holders} {}", counted(holders, "holder"))),
    });
    Ok(if holders == 0 { ExitCode::from(NO) } else { ExitCode::SUCCESS })
}

/// Shows who would lose it, and asks on the terminal.
async fn asked(locks: &Locks, name: &ResourceName) -> Result<bool, Failure> {
    let resource = looking::inspect(locks, name, 3).await?;
    for holder in &resource.holders {
        print::note(&format!("  {}", holder.who));
    }
    let question = format!(
        "Take {name} from {} {}? Others may get it while they still work. [y/N] ",
        resource.total,
        counted(resource.total, "holder")
    );
    io::stderr().write_all(question.as_bytes())?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
