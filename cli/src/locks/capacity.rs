//! `leasehold capacity`: the number of permits of a resource, while they are held.

use std::process::ExitCode;

use leasehold::SetCapacity;
use serde_json::json;

use super::name::{self, Name};
use crate::{
    Failure, looking,
    outcome::{of_change, tell_result},
    print,
    settings::Source,
};

/// Sets the number of permits of a resource, in place of the one that requests name; without a number, shows it
///
/// Every program follows it, from the next request on, until it is set anew or cleared. A larger number lets waiters in at
/// once; a smaller one takes nothing from anybody. Exits with 0 if it was set, cleared or shown, and with 3 if that is unknown.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold capacity gpus\n  leasehold capacity gpus 6\n  leasehold capacity gpus --clear"
)]
pub(crate) struct Options {
    /// The name of the resource, as `ls` shows it or as it is
    #[arg(value_parser = name::name())]
    name: Name,
    /// The number of permits, 1 or more
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    permits: Option<u32>,
    /// Let the number that requests name count again
    #[arg(long, conflicts_with = "permits")]
    clear: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let Options { name: typed @ Name(name), permits, clear, json, source } = options;
    let (permits, changes) = (*permits, *clear || permits.is_some());
    let capacity = looking::with(source, async |locks| {
        if !changes {
            return Ok(looking::inspect(&locks, name, 1).await?.capacity);
        }
        let answer = locks.send(SetCapacity::new(name.as_bytes(), permits)).await;
        let answer = answer.map_err(looking::gone).and_then(|answer| answer.map_err(looking::query));
        let next = format!("it is safe to send it again; {}", typed.look("capacity"));
        answer.map(|()| permits).map_err(|failure| of_change(failure, next))
    })?;
    let tell = || {
        if *json {
            return print::json(
                &json!({ "kind": "capacity", "resource": name.to_string(), "capacity": capacity }),
            );
        }
        match capacity {
            Some(permits) => print::line(&format!("{name}: the capacity is set to {permits}")),
            None => print::line(&format!("{name}: no capacity is set; requests name it")),
        }
    };
    if changes {
        tell_result(tell);
    } else {
        tell()?;
    }
    Ok(ExitCode::SUCCESS)
}
