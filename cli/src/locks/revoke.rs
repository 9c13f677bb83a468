//! `leasehold revoke`: holders are told to finish, and lose what they still hold when the grace is over.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    process::ExitCode,
    time::{Duration, Instant},
};

use leasehold::{ResourceName, Revoke, Revoked};
use leasehold_console::view::{HolderView, seconds_if_known};
use serde::Serialize;

use super::{
    name::{self, Name},
    show::counted,
};
use crate::{
    Failure,
    looking::{self, Locks, TOLD_AT_MOST},
    outcome::{NO, UNKNOWN, of_change, tell_result},
    print::{self, span},
    settings::Source,
};

/// The pause between two looks at who has finished.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Takes a resource back: tells its holders to finish, and takes it from them when the grace is over
///
/// It ends when all have finished, or with the grace; meanwhile it tells who has. If it is interrupted before, nothing is
/// taken. Exits with 0 if it was taken back, with 1 if nobody held it, and with 3 if somebody may still hold it.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold revoke reports/daily --grace 10s --reason 'deploying v2'")]
pub(crate) struct Options {
    /// The name of the resource, as `ls` shows it or as it is
    #[arg(value_parser = name::name())]
    name: Name,
    /// The time that holders have to finish; 0s takes it at once
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    grace: Duration,
    /// The reason, which the holders are told: one line [default: none]
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print lines of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// The progress, as a line of JSON.
#[derive(Serialize)]
struct Progress<'a> {
    kind: &'static str,
    resource: &'a str,
    total: usize,
    finished: usize,
    #[serde(rename = "left_seconds", serialize_with = "seconds_if_known")]
    left: Option<Duration>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let Options { name: typed @ Name(name), grace, reason, json, source } = options;
    let mut revoke = Revoke::new(name.as_bytes()).grace(*grace);
    if let Some(reason) = reason {
        revoke = revoke.reason(reason);
    }
    let revoked = looking::with(source, async |locks| {
        let mut watch = Watch::start(&locks, name, *grace, *json).await?;
        let answer = locks.send(revoke);
        tokio::select! {
            biased;
            () = looking::interrupted() => Ok(Err(watch.is_over())),
            answer = answer => {
                let answer = answer.map_err(looking::gone).and_then(|answer| answer.map_err(looking::revoke));
                let done = if grace.is_zero() { "it may have been taken" } else { "holders may have been told" };
                let look = format!("{done}; {}", typed.look("show"));
                answer.map(Ok).map_err(|failure| of_change(failure, look))
            }
            never = watch.run() => match never {},
        }
    })?;
    let revoked = match revoked {
        Ok(revoked) => revoked,
        Err(is_over) => {
            print::note(&interrupted(typed, is_over));
            return Ok(ExitCode::from(UNKNOWN));
        }
    };
    tell_result(|| tell(name, revoked, *json));
    let Revoked { finished, taken, unconfirmed, more, .. } = revoked;
    Ok(match finished + taken + unconfirmed {
        _ if unconfirmed > 0 || more => ExitCode::from(UNKNOWN),
        0 => ExitCode::from(NO),
        _ => ExitCode::SUCCESS,
    })
}

/// Returns what is known after an interruption: nothing is taken before the grace is over.
fn interrupted(name: &Name, is_over: bool) -> String {
    let known = if is_over {
        "at the end of the grace: it may have been taken"
    } else {
        "holders may have been told, nothing was taken"
    };
    format!("interrupted: {known}; {}", name.look("show"))
}

fn tell(name: &ResourceName, revoked: Revoked, json: bool) -> Result<(), Failure> {
    let Revoked { finished, taken, unconfirmed, more, .. } = revoked;
    if json {
        return print::json(&serde_json::json!({
            "kind": "revoked", "resource": name.to_string(), "finished": finished, "taken": taken,
            "unconfirmed": unconfirmed, "more": more,
        }));
    }
    if finished + taken + unconfirmed == 0 && !more {
        return print::line(&format!("nobody held {name}"));
    }
    print::line(&format!("{name}: {finished} finished by themselves, it was taken from {taken}"))?;
    if unconfirmed > 0 {
        print::note(&format!("{unconfirmed} may still hold it: the store gave no answer; send it again"));
    }
    if more {
        print::note("there may be more holders than one revoke reaches; send it again");
    }
    Ok(())
}

/// The look at who of the holders has finished.
struct Watch<'a> {
    locks: &'a Locks,
    name: &'a ResourceName,
    /// The holders at the start. `None` if the store did not tell all of them, so that nobody knows who finishes.
    holders: Option<BTreeSet<String>>,
    json: bool,
    /// The end of the grace. `None` if it is beyond all times; the lock manager refuses it.
    over: Option<Instant>,
    finished: usize,
}

impl<'a> Watch<'a> {
    /// Looks who holds it, and says so.
    async fn start(
        locks: &'a Locks,
        name: &'a ResourceName,
        grace: Duration,
        json: bool,
    ) -> Result<Self, Failure> {
        let over = Instant::now().checked_add(grace);
        let (number, holders) = holding(locks, name).await?;
        if !json && number > 0 {
            let (word, grace) = (counted(number, "holder"), span(grace));
            print::note(&format!("{name}: telling {number} {word}, which may finish within {grace}"));
        }
        Ok(Self { locks, name, holders, json, over, finished: 0 })
    }

    /// Tells when more of them have finished, without end.
    async fn run(&mut self) -> Infallible {
        let Some(holders) = self.holders.clone() else { return std::future::pending().await };
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // The store's errors are those of the revoke, which goes on also if nobody reads how.
            let Ok((_, Some(holding))) = holding(self.locks, self.name).await else { continue };
            let finished = holders.difference(&holding).count();
            if finished > self.finished {
                self.finished = finished;
                let _ = self.tell(holders.len());
            }
        }
    }

    /// Returns true if the grace may be over.
    fn is_over(&self) -> bool {
        // The lock manager began to count later than this, and not earlier.
        self.over.is_some_and(|over| Instant::now() >= over)
    }

    fn tell(&self, total: usize) -> Result<(), Failure> {
        let finished = self.finished;
        let left = self.over.map(|over| over.saturating_duration_since(Instant::now()));
        if self.json {
            let resource = &self.name.to_string();
            return print::json(&Progress { kind: "progress", resource, total, finished, left });
        }
        let left = left.map_or_else(String::new, |left| format!(", {} left", span(left)));
        print::note(&format!("{finished} of {total} finished{left}"));
        Ok(())
    }
}

/// Returns the number of those that hold it, and their tokens if the store tells all of them.
async fn holding(locks: &Locks, name: &ResourceName) -> Result<(u64, Option<BTreeSet<String>>), Failure> {
    let resource = looking::inspect(locks, name, TOLD_AT_MOST).await?;
    if resource.total > resource.holders.len() as u64 {
        return Ok((resource.total, None));
    }
    let holders = resource.holders.into_iter().filter(HolderView::is_holding);
    let tokens: BTreeSet<String> = holders.map(|holder| holder.who.token).collect();
    Ok((tokens.len() as u64, Some(tokens)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_claims_nothing_about_what_the_end_of_the_grace_may_have_done() {
        let name = Name(ResourceName::new("r").unwrap());
        assert!(interrupted(&name, false).contains("nothing was taken"));
        let told = interrupted(&name, true);
        assert!(told.contains("may have been taken") && !told.contains("nothing"), "{told}");
    }
}
