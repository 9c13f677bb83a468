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
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};

use crate::{
    Failure, lockers,
    lockers::Locker,
    meters::{self, Threads},
    plan::Workload,
    sample::Sample,
    workloads::{contended, dropped, paced, readers, renewed, uncontended},
};

/// The time that callers run before the measurement. Its turns are counted too, as the rate after a start.
const WARM_UP: Duration = Duration::from_millis(500);

/// What a worker is told to do.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) urls: Vec<String>,
    pub(crate) locker: lockers::Kind,
    pub(crate) workload: Workload,
    pub(crate) threads: usize,
    pub(crate) length: Duration,
    /// Where the processes of a measurement keep what they share, if there are several.
    pub(crate) shared: Option<PathBuf>,
}

/// Callers that have begun.
pub(crate) trait Callers {
    /// Counts the turns so far.
    fn turns(&self) -> u64;
    /// Forgets what was counted while warming up.
    fn reset(&self);
    /// What was counted since then.
    fn sample(&self) -> Result<Sample, Failure>;
    /// Ends the callers, where that is part of the work. Returns the number of resources that stay locked.
    fn finish(&self) -> LocalBoxFuture<'_, Result<u64, Failure>> {
        Box::pin(async { Ok(0) })
    }
}

pub(crate) fn run(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    if job.threads == 1 {
        meters::this_thread_runs_callers()?;
    }
    System::new().block_on(work(&job))
}

async fn work(job: &Job) -> Result<(), Failure> {
    let locker = Arc::new(Locker::connect(job.locker, &job.urls).await?);
    told_to_go().await?;
    if let Workload::Renewed { leases } = job.workload {
        return renewed::run(&locker, &job.urls, leases, job.length).await;
    }
    let began = Instant::now();
    let callers = start(&locker, job)?;
    tokio::time::sleep(WARM_UP).await;
    let first = callers.turns() as f64 / began.elapsed().as_secs_f64();
    locker.settled(&job.urls).await?;
    told_to_go().await?;
    callers.reset();
    let (start, before) = (Instant::now(), Threads::now()?);
    tokio::time::sleep(job.length).await;
    let (seconds, spent) = (start.elapsed().as_secs_f64(), Threads::now()?.since(before));
    let sample = callers.sample()?.of(seconds, spent);
    if report(&Sample { first: Some(first), ..sample })? {
        report(&callers.finish().await?)?;
    }
    Ok(())
}

fn start(locker: &Arc<Locker>, job: &Job) -> Result<Box<dyn Callers>, Failure> {
    let shared = job.shared.as_deref();
    Ok(match job.workload {
        Workload::Renewed { .. } => return Err("renewed leases have no callers".into()),
        Workload::Uncontended { callers } => Box::new(uncontended::start(locker, callers, job.threads)),
        Workload::Dropped { callers } => Box::new(dropped::start(locker, callers, job)),
        Workload::Paced { callers, a_second } => Box::new(paced::start(locker, callers, a_second)),
        Workload::Contended { callers, resources, hold, pause } => {
            Box::new(contended::start(locker, callers, resources, (hold, pause), shared)?)
        }
        Workload::ReadersAndWriter { readers, hold } => Box::new(readers::start(locker, readers, hold)?),
    })
}

impl Sample {
    /// Adds the time of the measurement and its cost.
    pub(crate) fn of(self, seconds: f64, Threads { all, manager, callers }: Threads) -> Self {
        Self { seconds, processor: all, manager, callers, ..self }
    }
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

/// Tells a result, and keeps this thread, so that the callers on it are still; those on other threads go on. Returns true
/// when this worker shall finish. Most are killed here.
pub(crate) fn report(result: &impl Serialize) -> Result<bool, Failure> {
    writeln!(stdout(), "{}", serde_json::to_string(result)?)?;
    Ok(stdin().read_line(&mut String::new())? > 0)
}
