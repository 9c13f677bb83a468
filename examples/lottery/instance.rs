//! One instance of the lottery: draws if it is elected, and watches whoever was if it is not.

use std::{
    error::Error,
    fmt, process,
    time::{Duration, Instant},
};

use actix::Addr;
use leasehold::{Acquire, AcquireError, Holder, Lease, LockManager, Shutdown, StoreError};

use crate::{
    Draw,
    common::asked_to_stop,
    results::{Results, Verdict},
};

/// How long a watcher waits for the lease, or for the store, before it looks for the winners again.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// One of those that compete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance(pub(crate) u32);

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {} (pid {})", self.0, process::id())
    }
}

impl Instance {
    /// Takes part until there are winners, or somebody asks to stop; either way nothing stays held.
    pub(crate) async fn run(
        self,
        locks: Addr<LockManager>,
        draw: &Draw,
        results: &Results,
    ) -> Result<(), Box<dyn Error>> {
        let done = tokio::select! {
            done = self.take_part(&locks, draw, results) => done,
            stopped = asked_to_stop() => {
                println!("{self} was asked to stop");
                stopped.map_err(Into::into)
            }
        };
        locks.send(Shutdown { drain: Duration::ZERO }).await?;
        done
    }

    async fn take_part(
        self,
        locks: &Addr<LockManager>,
        draw: &Draw,
        results: &Results,
    ) -> Result<(), Box<dyn Error>> {
        let (mut watching, mut silent_since) = (false, None);
        loop {
            if let Some(by) = results.drawn_by()? {
                if !watching {
                    println!("{self} is not elected: {by} has drawn already");
                }
                return Ok(());
            }
            let ask = Acquire::new("lottery/draw").purpose("draws the lottery").ttl(draw.ttl);
            let ask = ask.metadata("instance", self.0.to_string());
            // The first request is a try. Then it waits: when the one that was elected dies, this one takes over.
            match locks.send(ask.wait(if watching { LOOK_EVERY } else { Duration::ZERO })).await? {
                Ok(lease) => {
                    watching |= self.draw(lease, draw, results).await?;
                    silent_since = None;
                }
                Err(AcquireError::Held { by, .. }) => {
                    if !watching {
                        println!("{self} is not elected: {} holds the lease", describe(&by));
                    }
                    watching = true;
                    silent_since = None;
                }
                Err(error) if may_pass(&error) => {
                    let since = *silent_since.get_or_insert_with(|| {
                        println!("{self} waits for the store: {error}");
                        Instant::now()
                    });
                    if since.elapsed() > draw.give_up_after {
                        return Err(error.into());
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Draws, and writes the winners, if nobody has and the lease lasts that long. Answers whether it was elected.
    async fn draw(self, lease: Lease, draw: &Draw, results: &Results) -> Result<bool, Box<dyn Error>> {
        let fence = lease.fence().ok_or("this store gives no fences")?;
        let me = self.to_string();
        match results.enter(fence, &me)? {
            Verdict::Accepted => println!("{me} is elected, fence {fence}"),
            Verdict::AlreadyDrawn => return Ok(false),
            Verdict::Stale if lease.is_valid() => {
                return Err("a larger fence is known: was that result drawn with another store?".into());
            }
            Verdict::Stale => return Ok(false),
        }
        let winners = match lease.run(draw.winners()).await {
            Ok(winners) => winners,
            Err(lost) => {
                println!("{me} stops: {lost}");
                return Ok(true);
            }
        };
        match results.write(fence, &me, &winners)? {
            Verdict::Accepted => println!("{me} has drawn {winners:?}"),
            Verdict::AlreadyDrawn | Verdict::Stale => println!("{me} was too late, and is turned away"),
        }
        // What was written counts, whatever becomes of the lease: the guard of the file let it through.
        if let Err(error) = lease.release().await {
            println!("{me} has no answer to its release: {error}");
        }
        Ok(true)
    }
}

/// Tells errors after which asking again may help: the store was away, or its answer was.
const fn may_pass(error: &AcquireError) -> bool {
    use StoreError::{NoQuorum, OutOfMemory, ReplyLost, TimedOut, Unacknowledged, Unavailable};
    match error {
        AcquireError::Store(error) => matches!(
            error,
            TimedOut { .. }
                | ReplyLost { .. }
                | Unavailable { .. }
                | OutOfMemory { .. }
                | NoQuorum { .. }
                | Unacknowledged { .. }
        ),
        AcquireError::Busy { .. }
        | AcquireError::QueueFull { .. }
        | AcquireError::TooLate { .. }
        | AcquireError::Restarted => true,
        _ => false,
    }
}

/// Who holds the lease, from what it told about itself.
fn describe(by: &Holder) -> String {
    let told = |key: &str| by.metadata.get(key).map_or("unknown", String::as_str);
    let (instance, purpose, pid, host) = (told("instance"), told("purpose"), told("pid"), told("host"));
    format!("instance {instance} ({purpose}, pid {pid} on {host})")
}
