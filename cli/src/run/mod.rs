//! `leasehold run`: a command under a lock, which ends before the lock does.
//!
//! # Layout
//! [`request`] is what is asked of the lock manager, and [`exit`] what the caller is told in the end. [`program`] is looked
//! for first, [`child`] is the command with all of its process group, of which [`family`] tells what runs; a guard ends that if
//! this process is killed. [`terminal`] is lent to it, and [`signals`] are what others send meanwhile. [`ending`]
//! decides when the command has to end, without a clock or a process; [`supervise`] carries that out. [`progress`] tells of
//! the wait, [`voice`] is the way to people, and [`notify`] that to systemd.

mod child;
mod ending;
mod exit;
mod family;
mod notify;
mod program;
mod progress;
mod request;
mod signals;
mod supervise;
mod terminal;
mod voice;

use std::{
    ffi::OsString,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use actix::{Actor, Addr};
use leasehold::{AcquireError, Config, Lease, LockManager, LossReason, ReleaseError, Released, Shutdown};

use self::{
    child::Child,
    ending::Ending,
    exit::{End, HELP},
    progress::Progress,
    request::Permits,
    signals::Signals,
    supervise::Supervision,
    voice::{Voice, shown},
};
pub(crate) use self::{
    exit::USAGE,
    request::{Wait, time, wait},
};
use crate::{
    Failure,
    locks::name::{self, Name},
    settings::{self, Source},
};

/// Runs a command while it holds a lock, and ends it before the lock is lost
#[derive(clap::Args)]
#[command(after_help = HELP, override_usage = "leasehold run [OPTIONS] NAME -- COMMAND...")]
pub(crate) struct Options {
    /// The name of what is locked, as `ls` shows it or as it is
    #[arg(value_parser = name::name())]
    name: Name,
    /// The command, with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Wait if it is held: 30s, 5m, forever [default: wait.timeout]
    #[arg(long, value_name = "TIME", value_parser = request::wait)]
    wait: Option<Wait>,
    /// Do not wait, whatever is configured
    #[arg(long = "try", conflicts_with = "wait")]
    tries: bool,
    /// Exit with 0, and quietly, if it is held: for cron
    #[arg(long, conflicts_with_all = ["wait", "tries"])]
    no_overlap: bool,
    /// Keep it locked for this long, however soon COMMAND ends
    #[arg(long, value_name = "TIME", value_parser = request::time)]
    min_hold: Option<Duration>,
    /// Share it with others that share it
    #[arg(long)]
    shared: bool,
    /// Take K of its N permits, such as 1/3
    #[arg(long, value_name = "K/N", conflicts_with = "shared")]
    permits: Option<Permits>,
    /// The owner, who may take it again and again
    #[arg(long)]
    owner: Option<String>,
    /// The purpose that others are told [default: the name of COMMAND]
    #[arg(long, value_name = "TEXT")]
    purpose: Option<String>,
    /// It opens after this time if nobody renews it [default: lease.ttl]
    #[arg(long, value_name = "TIME", value_parser = request::time)]
    ttl: Option<Duration>,
    /// Time from TERM to KILL [default: a third of the TTL, 10s at most]
    #[arg(long, value_name = "TIME", value_parser = request::time)]
    grace: Option<Duration>,
    /// Keep the variables LEASEHOLD_* from COMMAND: the URL of the store has a password
    #[arg(long)]
    clean_env: bool,
    /// Tell who is waited for, and how it goes
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(options: Options) -> Result<ExitCode, Failure> {
    let voice = Voice::new(options.verbose);
    let end = actix::System::new().block_on(options.under_lock(voice)).unwrap_or_else(|end| end);
    Ok(end.told(voice))
}

impl Options {
    /// Runs the command under the lock. The error, too, is an end.
    async fn under_lock(&self, voice: Voice) -> Result<End, End> {
        let mut config = self.source.config().map_err(|error| End::config(&error))?;
        voice.tell(format_args!("configured by: {}", settings::in_words(&config)));
        request::excludes_others(&config)?;
        let grace = self.grace(&config)?;
        // A machine without it must not win the lock, and keep the others from running it.
        let file = program::look_for(&self.command[0])
            .map_err(|error| End::not_started(&self.command[0], &error))?;
        config.store.response_timeout.get_or_insert(self.response_timeout(&config));
        // Before there is anything to lose: a signal must not end this process while it holds.
        let mut signals =
            Signals::listen().map_err(|error| End::system("cannot listen for signals", &error))?;
        let locks = config.start().map_err(|error| End::config(&error))?;
        let end = match self.acquire(&locks, &config, &mut signals, voice).await {
            Ok(lease) => self.holding(lease, &file, (grace, self.ttl(&config)), &mut signals, voice).await,
            Err(end) => Err(end),
        };
        // It gives back what an answer that was lost may have granted, and goes on with a release that failed.
        if let Err(error) = locks.send(Shutdown { drain: Duration::ZERO }).await {
            voice.say(format_args!("the lock manager did not shut down: {error}"));
        }
        end
    }

    async fn acquire(
        &self,
        locks: &Addr<LockManager>,
        config: &Config,
        signals: &mut Signals,
        voice: Voice,
    ) -> Result<Lease, End> {
        let name = self.shown_name();
        voice.tell(format_args!("asking for {name}"));
        let progress = Progress::new(self.name.0.clone(), locks.clone(), voice).start();
        let request = self.request(config).events(progress.recipient());
        tokio::select! {
            answer = locks.send(request) => match answer {
                Ok(Ok(lease)) => Ok(lease),
                Ok(Err(AcquireError::Held { .. } | AcquireError::QueueFull { .. })) if self.no_overlap => {
                    voice.tell(format_args!("{name} is held, so nothing is run"));
                    Err(End::overlap())
                }
                Ok(Err(error)) => Err(End::refused(&name, &error, self.ttl(config))),
                Err(error) => Err(End::internal(&error)),
            },
            signal = signals.until_told_to_end() => Err(End::by_signal(&name, signal)),
        }
    }

    /// Runs the command while the lease is held, and releases it when nothing of the command lives any more.
    async fn holding(
        &self,
        lease: Lease,
        file: &Path,
        (grace, ttl): (Duration, Duration),
        signals: &mut Signals,
        voice: Voice,
    ) -> Result<End, End> {
        let (name, began) = (self.shown_name(), Instant::now());
        let fence = lease.fence().map_or_else(|| "none".to_owned(), |fence| fence.to_string());
        voice.tell(format_args!("holding {name}, fence {fence}"));
        let started = Child::start(&self.command, file, &self.environment(&lease), voice);
        let child = match started {
            Ok(child) => child,
            Err(error) => {
                // It has run nothing, so a loss is nobody's concern, and another machine may run it at once.
                release(lease.release_unused(), &name, ttl, voice).await;
                return Err(End::not_started(&self.command[0], &error));
            }
        };
        voice.ready(&format!("running under the lock {name}"));
        let supervision = Supervision::new(&lease, child, signals, Ending::new(grace, ttl), voice);
        let ended =
            supervision.watch().await.map_err(|error| End::system("cannot watch the command", &error))?;
        voice.stopping();
        // It may be carried out as late as the TTL, and keep the resource closed for the rest of the minimum hold from then on.
        let rest = self.min_hold.unwrap_or_default().saturating_sub(began.elapsed());
        match release(lease.release(), &name, ttl.saturating_add(rest), voice).await {
            Some(reason) if ended.cause.is_none() => Ok(End::lost_before(&name, reason, ended.status)),
            _ => Ok(End::of(&name, &ended)),
        }
    }
}

/// Waits for a release, and says so if it is not certain: the resource opens by itself within `opens`. Returns the loss if the
/// lease had been lost before.
async fn release(
    released: impl Future<Output = Result<Released, ReleaseError>>,
    name: &str,
    opens: Duration,
    voice: Voice,
) -> Option<LossReason> {
    match released.await {
        Ok(_) => voice.tell(format_args!("released {name}")),
        Err(ReleaseError::Lost { reason }) => return Some(reason),
        Err(ReleaseError::NotHolder) => return Some(LossReason::NotHeld),
        Err(error) => voice.say(format_args!(
            "the outcome of the release of {name} is unknown: {error}; it opens by itself within {} at the latest",
            shown(opens)
        )),
    }
    None
}
