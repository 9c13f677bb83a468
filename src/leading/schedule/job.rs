//! A schedule with its work, and one run of it.

use std::{cell::RefCell, error::Error, panic::AssertUnwindSafe, rc::Rc, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::LocalBoxFuture};
use tokio::time::{Instant, timeout};

use super::{
    control::Control,
    plan::Rules,
    progress::Floor,
    tick::{Outcome, Tick},
};
use crate::{core::one_line, lease::Lease, runtime::supervisor::message_of};

/// A schedule in one process, as its runner knows it.
pub(super) struct TickJob {
    pub(super) control: Control,
    pub(super) rules: Rules,
    pub(super) at_most: Option<Duration>,
    pub(super) work: TickWork,
    pub(super) floor: Floor,
    /// The plan of another process that was warned of last.
    pub(super) foreign_plan: RefCell<Option<String>>,
}

/// What the work of a schedule may return: nothing, or a `Result` whose error says why a run failed.
pub trait RunResult {
    /// Returns the text of the error, if there is one.
    #[doc(hidden)]
    fn error(self) -> Option<String>;
}

impl RunResult for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl<E: Into<Box<dyn Error>>> RunResult for Result<(), E> {
    fn error(self) -> Option<String> {
        self.err().map(|error| one_line(&*error.into()))
    }
}

/// The work, which returns the text of its error.
pub(super) type TickWork = Rc<dyn Fn(Tick) -> LocalBoxFuture<'static, Option<String>>>;

pub(super) struct EndedRun {
    pub(super) number: u64,
    pub(super) took: Duration,
    pub(super) outcome: Outcome,
}

/// Runs the work of a tick, while the lease is valid and no longer than it may.
pub(super) async fn run(job: Rc<TickJob>, tick: Tick, lease: Arc<Lease>) -> EndedRun {
    let began = Instant::now();
    // Called inside, so that a panic before the first await is caught too. So is one in what the work drops when it is stopped.
    let run = AssertUnwindSafe(async {
        match timeout(job.at_most.unwrap_or(Duration::MAX), lease.run(async { (job.work)(tick).await })).await
        {
            Err(_) => Outcome::TimedOut,
            Ok(Err(_)) => Outcome::Stopped,
            Ok(Ok(Some(error))) => Outcome::failed(&error),
            Ok(Ok(None)) => Outcome::Done,
        }
    });
    let outcome =
        run.catch_unwind().await.unwrap_or_else(|panic| Outcome::panicked(&message_of(panic.as_ref())));
    EndedRun { number: tick.number, took: began.elapsed(), outcome }
}
