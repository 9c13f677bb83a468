//! A process that does the work of one measurement: it says when it is ready, begins when it is told, tells what it
//! counted, and is killed.
//!
//! Its callers live in the arbiter of an actix system, as those of an application do; or on several threads, each with
//! an arbiter, as actix-web's workers do. Everybody then shares what was connected on the main thread.

use std::{
    io::{Write, stdin, stdout},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use actix::System;
use serde::{Deserialize, Serialize};

use crate::{
    Failure, lockers,
    lockers::Locker,
    meters,
    plan::Workload,
    sample::Sample,
    workloads::{contended, readers, renewed, uncontended},
};

/// How long callers run before anything is counted.
const WARM_UP: Duration = Duration::from_millis(200);

/// What a worker is told to do.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) url: String,
    pub(crate) locker: lockers::Kind,
    pub(crate) workload: Workload,
    pub(crate) threads: usize,
    pub(crate) length: Duration,
    /// Where the processes of a measurement keep what they share, if there are several.
    pub(crate) shared: Option<PathBuf>,
}

/// Callers that have begun.
pub(crate) trait Callers {
    /// Forgets what was counted while warming up.
    fn reset(&self);
    /// What was counted since then.
    fn sample(&self) -> Result<Sample, Failure>;
}

pub(crate) fn run(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    System::new().block_on(async {
        let locker = Arc::new(Locker::connect(job.locker, &job.url).await?);
        let shared = job.shared.as_deref();
        let callers: Box<dyn Callers> = match job.workload {
            Workload::Renewed { leases } => return renewed::run(&locker, &job.url, leases).await,
            Workload::Uncontended { callers } => Box::new(uncontended::start(&locker, callers, job.threads)),
            Workload::Contended { callers, resources, hold, pause } => {
                Box::new(contended::start(&locker, callers, resources, (hold, pause), shared)?)
            }
            Workload::ReadersAndWriter { readers, hold } => Box::new(readers::start(&locker, readers, hold)?),
        };
        tokio::time::sleep(WARM_UP).await;
        told_to_go().await?;
        callers.reset();
        let (start, before) = (Instant::now(), meters::processor_time());
        tokio::time::sleep(job.length).await;
        let (seconds, processor) = (start.elapsed(), meters::processor_time() - before);
        let sample = callers.sample()?;
        report(&Sample { seconds: seconds.as_secs_f64(), processor: processor.as_secs_f64(), ..sample })
    })
}

/// Says that this worker is ready, and waits until it may begin.
pub(crate) async fn told_to_go() -> Result<(), Failure> {
    writeln!(stdout(), "ready")?;
    let read = tokio::task::spawn_blocking(|| stdin().read_line(&mut String::new())).await?;
    match read? {
        0 => Err("nobody wants to know any more".into()),
        _ => Ok(()),
    }
}

/// Tells what was counted, and keeps this thread until the process is killed, so that the callers on it are still. Those
/// on other threads go on until then.
pub(crate) fn report(sample: &Sample) -> Result<(), Failure> {
    writeln!(stdout(), "{}", serde_json::to_string(sample)?)?;
    stdin().read_line(&mut String::new())?;
    Ok(())
}
