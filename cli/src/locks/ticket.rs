//! `leasehold acquire` and `leasehold renew`: a lock that no process holds, by its ticket.

use std::{convert::identity, io, process::ExitCode, time::Duration};

use leasehold::{Acquire, AcquireError, Adopt, AdoptError, Lease, LeaseTicket, Release, Shutdown};

use super::name::{self, Name};
use crate::{
    Failure,
    looking::{self, Locks},
    outcome::{NO, of_change, tell_result},
    print,
    run::{self, Wait},
    settings::Source,
};

/// Acquires a lock that outlives the command, and prints its ticket
///
/// The ticket is a line of JSON, and a secret: whoever has it renews and releases the lock. If nobody does, it opens after its TTL.
/// Exits with 0 if it was granted, with 1 if others hold it, and with 3 if that is unknown.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold acquire deploy --ttl 5m > ticket")]
pub(crate) struct Asked {
    /// The name of the resource, as `ls` shows it or as it is
    #[arg(value_parser = name::name())]
    name: Name,
    /// Wait if it is held: 30s, 5m, forever [default: wait.timeout]
    #[arg(long, value_name = "TIME", value_parser = run::wait)]
    wait: Option<Wait>,
    /// It opens after this time if nobody renews it [default: lease.ttl]
    #[arg(long, value_name = "TIME", value_parser = run::time)]
    ttl: Option<Duration>,
    #[command(flatten)]
    source: Source,
}

/// Renews the lock of a ticket by its TTL, and prints the ticket again
///
/// Exits with 0 if it was renewed, with 1 if it is held no more, and with 3 if that is unknown; then it is safe to repeat.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold renew --ticket - < ticket")]
pub(crate) struct Renewed {
    /// The ticket; `-` reads it from the standard input, so that no list of processes shows it
    #[arg(long)]
    ticket: String,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn acquire(Asked { name, wait, ttl, source }: &Asked) -> Result<ExitCode, Failure> {
    let ask = Acquire::new(name.0.as_bytes()).purpose("leasehold acquire");
    let ask = ttl.iter().fold(ask, |ask, ttl| ask.ttl(*ttl));
    let ask = match wait {
        Some(Wait::AtMost(wait)) => ask.wait(*wait),
        Some(Wait::Forever) => ask.wait_forever(),
        None => ask,
    };
    looking::with_manager(source, identity, async |locks| {
        let done = tokio::select! {
            biased;
            () = looking::interrupted() => Err("interrupted before it was granted".into()),
            answer = locks.send(ask) => match answer.map_err(looking::gone)? {
                Ok(lease) => hand_over(&locks, lease).await,
                Err(error @ (AcquireError::Held { .. } | AcquireError::QueueFull { .. })) => {
                    print::note(&format!("{}: {error}", name.0));
                    Ok(ExitCode::from(NO))
                }
                Err(AcquireError::Store(error)) => Err(of_change(error.into(), name.look("show"))),
                Err(error) => Err(error.into()),
            },
        };
        // What was granted and not told is released.
        let _ = locks.send(Shutdown { drain: Duration::ZERO }).await;
        done
    })
}

/// Prints the ticket of a lease, which is released if that is not possible.
async fn hand_over(locks: &Locks, lease: Lease) -> Result<ExitCode, Failure> {
    let ticket = lease.into_ticket().await?;
    let Err(failure) = print::json(&ticket) else { return Ok(ExitCode::SUCCESS) };
    let released = locks.send(Release::from(&ticket)).await.map_err(looking::gone);
    if let Err(error) = released.and_then(|answer| answer.map_err(looking::release)) {
        print::note(&format!("leasehold: the ticket could not be written, and is lost: {failure}"));
        return Err(of_change(error, "if it was not released, it opens after its TTL"));
    }
    Err(format!("the ticket could not be written, so it is released: {failure}").into())
}

pub(crate) fn renew(Renewed { ticket, source }: &Renewed) -> Result<ExitCode, Failure> {
    let ticket = read(ticket)?;
    let name = ticket.resource().to_owned();
    looking::with(source, async |locks| match locks.send(Adopt(ticket)).await.map_err(looking::gone)? {
        Ok(lease) => {
            let ticket = lease.into_ticket().await?;
            tell_result(|| print::json(&ticket));
            Ok(ExitCode::SUCCESS)
        }
        Err(AdoptError::NotHeld) => {
            print::note(&format!("{name} is not held by this ticket"));
            Ok(ExitCode::from(NO))
        }
        Err(AdoptError::Store(error)) => Err(of_change(error.into(), "it is safe to send it again")),
        Err(error) => Err(error.into()),
    })
}

/// Reads a ticket from an argument, or from the standard input.
pub(super) fn read(text: &str) -> Result<LeaseTicket, Failure> {
    let text = typed(text)?;
    if !text.trim_start().starts_with('{') {
        return Err("this is no ticket; `leasehold acquire` prints one".into());
    }
    serde_json::from_str(&text).map_err(|error| format!("the ticket cannot be read: {error}").into())
}

/// Returns the text of an argument, or that of the standard input for a dash.
pub(super) fn typed(text: &str) -> io::Result<String> {
    if text == "-" { io::read_to_string(io::stdin()) } else { Ok(text.to_owned()) }
}
