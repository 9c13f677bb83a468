//! One process of a run: it is told what to do, says that it is ready, begins at a word, and tells how it went.

use std::{
    cell::RefCell,
    io::{self, Write},
    process::{self, ExitCode},
    rc::Rc,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use actix::{Actor, Context, Handler};
use leasehold::{Shutdown, Stats};
use leasehold_tuning::{
    RealPace, Served, Tuned, drive,
    tuner::{Tuner, TunerEvent},
    warm_up,
};
use serde::{Deserialize, Serialize};

use super::input::Source;
use crate::Failure;

/// The word of a worker whose manager has taken a lock.
pub(super) const READY: &str = "ready";

/// The job of a worker. It is one line of JSON on its standard input, where nobody else sees a password.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) source: Source,
    pub(super) set: Vec<(String, String)>,
    pub(super) url: String,
    /// What follows the prefix of the settings.
    pub(super) prefix: String,
    /// Its number, counted from 0.
    pub(super) process: u32,
}

/// The outcome, as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) served: Vec<Served>,
    pub(super) attempts: u64,
    /// The time from the start to the last answer.
    pub(super) elapsed: Duration,
    /// The changes that its tuner made.
    pub(super) changes: Vec<Tuned>,
}

/// The changes of a tuner so far, and when they came.
type Changes = Rc<RefCell<Vec<(Instant, TunerEvent)>>>;

/// The listener to a tuner.
struct Listener(Changes);

impl Actor for Listener {
    type Context = Context<Self>;
}

impl Handler<TunerEvent> for Listener {
    type Result = ();

    fn handle(&mut self, event: TunerEvent, _: &mut Self::Context) {
        self.0.borrow_mut().push((Instant::now(), event));
    }
}

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let job: Job = serde_json::from_str(&line()?)?;
    let workload = job.source.read(&job.set)?;
    let mut config = workload.config_on(&job.url, true)?;
    config.store.prefix = format!("{}:{}", config.store.prefix, job.prefix);
    let done = actix::System::new().block_on(async {
        let locks = config.start()?;
        let changes = Changes::default();
        let listener = Listener(changes.clone()).start().recipient();
        Tuner::builder(&locks).settings(config.tuner.clone()).tell(listener).start()?;
        warm_up(&locks).await?;
        let before = locks.send(Stats).await?.attempts;
        writeln!(io::stdout(), "{READY}")?;
        io::stdout().flush()?;
        // The manager lives in another thread, and goes on meanwhile.
        line()?;
        thread::spawn(end_with_the_run);
        let (began, pace) = (Instant::now(), Arc::new(RealPace::start()?));
        let served = drive(&workload, job.process, &locks, pace.clone()).await;
        let elapsed = leasehold_tuning::Pace::now(&*pace);
        let attempts = locks.send(Stats).await?.attempts - before;
        locks.send(Shutdown { drain: Duration::ZERO }).await?;
        let tuned = |(at, event): &(Instant, TunerEvent)| {
            Tuned::new(at.saturating_duration_since(began), job.process, event)
        };
        let changes = changes.borrow().iter().map(tuned).collect();
        Ok::<_, Failure>(Done { served, attempts, elapsed, changes })
    })?;
    writeln!(io::stdout(), "{}", serde_json::to_string(&done)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Ends this process when the one that has started it is gone: nobody asks for the outcome any more.
fn end_with_the_run() {
    while line().is_ok() {}
    process::exit(1);
}

fn line() -> Result<String, Failure> {
    let mut line = String::new();
    match io::stdin().read_line(&mut line)? {
        0 => Err("a worker is started by `leasehold tune run` alone".into()),
        _ => Ok(line),
    }
}
