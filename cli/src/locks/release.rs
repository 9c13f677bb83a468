//! `leasehold release`: what a token holds is released, also of another process.

use std::process::ExitCode;

use leasehold::{Release, ReleaseError, Released};

use super::{
    name::{self, Name},
    ticket::{self, typed},
};
use crate::{
    Failure, looking,
    outcome::{NO, of_change, tell_result},
    print,
    settings::Source,
};

/// Releases what a token holds of a resource, also for another process
///
/// The token is the right to release; a holder has to write it down for that. The holder learns of it at its next renewal.
/// Exits with 0 if it was released, with 1 if the token holds nothing, and with 3 if that is unknown.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold release orders/42 --token - < token.txt")]
pub(crate) struct Options {
    /// The name of the resource, as `ls` shows it or as it is
    #[arg(value_parser = name::name(), required_unless_present = "ticket")]
    name: Option<Name>,
    /// The whole token, 32 digits; `-` reads it from the standard input, so that no list of processes shows it
    #[arg(long, required_unless_present = "ticket")]
    token: Option<String>,
    /// The ticket of `acquire`, `renew` or an application, instead of name and token; `-` as above
    #[arg(long, conflicts_with_all = ["name", "token"])]
    ticket: Option<String>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let Options { name, token, ticket, json, source } = options;
    let (name, release) = match (ticket, name, token) {
        (None, Some(Name(name)), Some(token)) => {
            (name.to_string(), Release::new(name.as_bytes(), typed(token)?.trim().parse()?))
        }
        (ticket, ..) => {
            let ticket = ticket::read(ticket.as_deref().unwrap_or("-"))?;
            (ticket.resource().to_owned(), Release::from(&ticket))
        }
    };
    let answer = looking::with(source, async |locks| {
        locks.send(release).await.map_err(looking::gone)?.map_err(looking::release)
    });
    let released = match answer {
        Ok(released) => Some(released),
        Err(failure) => match failure.downcast_ref::<ReleaseError>() {
            Some(ReleaseError::NotHolder) => None,
            _ => return Err(of_change(failure, "it is safe to send it again")),
        },
    };
    let left = match released {
        Some(Released::StillHeld { count }) => count,
        Some(Released::Freed) | None => 0,
    };
    tell_result(|| match released {
        _ if *json => print::json(&serde_json::json!({
            "kind": "released", "resource": name, "released": released.is_some(), "still_held": left,
        })),
        Some(Released::Freed) => print::line(&format!("{name} is released")),
        Some(Released::StillHeld { count }) => {
            print::line(&format!("{name} is released; the same owner holds it {count} more times"))
        }
        None => print::line(&format!("{name} is not held by this token")),
    });
    Ok(if released.is_some() { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}
