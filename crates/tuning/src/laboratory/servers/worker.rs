//! One process of a run: it is told what to do, says that it is ready, begins at a word, and tells how it went.

use std::{
    io::{self, Write},
    path::PathBuf,
    process,
    sync::Arc,
    thread,
    time::Duration,
};

use leasehold::{Shutdown, Stats};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Failure;
use crate::laboratory::{
    changes,
    drive::{Served, drive, warm_up},
    pace::{Pace, RealPace},
    report::Tuned,
    workload::Workload,
};

/// The word of a worker whose manager has taken a lock.
pub(super) const READY: &str = "ready";

/// The job of a worker. It is one line of JSON on its standard input, where nobody else sees a password.
#[derive(Serialize, Deserialize)]
pub(super) struct WorkerJob {
    pub(super) file: PathBuf,
    pub(super) set: Vec<(String, String)>,
    pub(super) url: String,
    /// What follows the prefix of the settings.
    pub(super) prefix: String,
    /// Its number, counted from 0.
    pub(super) process: u32,
}

/// The outcome, as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorkerOutcome {
    pub(super) served: Vec<Served>,
    pub(super) attempts: u64,
    /// The time from the start to the last answer.
    pub(super) elapsed: Duration,
    /// The changes that its tuner made.
    pub(super) changes: Vec<Tuned>,
}

/// Does the part of one process of a [`Run`](super::Run), which has started this one, and talks to it by its standard input and
/// output.
///
/// # Errors
/// When nobody says what to do, and when the workload or the server cannot be used.
pub fn worker() -> Result<(), Failure> {
    let job: WorkerJob = serde_json::from_str(&line()?)?;
    let set: Vec<_> = job.set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let workload = Workload::from_file(&job.file, &set)?;
    let mut config = workload.config_on(&job.url, true)?;
    config.store.prefix = format!("{}:{}", config.store.prefix, job.prefix);
    let outcome = actix::System::new().block_on(async {
        let locks = config.start()?;
        let changes = changes::start([(job.process, &locks)], &config.tuner)?;
        warm_up(&locks).await?;
        let before = locks.send(Stats).await?.attempts;
        writeln!(io::stdout(), "{READY}")?;
        io::stdout().flush()?;
        // The manager lives in another thread, and goes on meanwhile.
        line()?;
        thread::spawn(end_with_the_run);
        let (began, pace) = (Instant::now(), Arc::new(RealPace::start()?));
        let served = drive(&workload, job.process, &locks, pace.clone()).await;
        let elapsed = pace.now();
        let attempts = locks.send(Stats).await?.attempts - before;
        locks.send(Shutdown { drain: Duration::ZERO }).await?;
        Ok::<_, Failure>(WorkerOutcome { served, attempts, elapsed, changes: changes.since(began) })
    })?;
    writeln!(io::stdout(), "{}", serde_json::to_string(&outcome)?)?;
    Ok(())
}

/// Ends this process when the one that has started it is gone: nobody asks for the outcome any more.
fn end_with_the_run() {
    while line().is_ok() {}
    process::exit(1);
}

fn line() -> Result<String, Failure> {
    let mut line = String::new();
    match io::stdin().read_line(&mut line)? {
        0 => Err("a worker is started by a run alone".into()),
        _ => Ok(line),
    }
}
