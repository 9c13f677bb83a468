//! One term of a runner: ticks are claimed, run, and written down, until it is told to stop or the lease is over.

use std::{rc::Rc, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::LocalBoxFuture, stream::FuturesUnordered};
use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    job::{Ended, Work, run},
    notebook::Notebook,
    plan::Plan,
    state::{Rules, Step, Wanted},
    tick::{Outcome, Tick},
};
use crate::{
    core::{ResourceName, one_line},
    lease::Lease,
    store::StoreError,
};

/// The interval in which a runner that has nothing to do looks for a pause and for runs that were asked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A schedule, as its runner knows it.
pub(super) struct Job {
    pub(super) name: ResourceName,
    pub(super) plan: Plan,
    pub(super) rules: Rules,
    pub(super) at_most: Option<Duration>,
    pub(super) work: Work,
}

/// The reason for the end of a term.
pub(super) enum End {
    /// It was told to stop, or the lease is over.
    Told,
    /// A later runner was there already.
    Overtaken,
    /// The store can never serve a schedule.
    Impossible,
}

/// One term of a runner.
pub(super) struct Term {
    pub(super) job: Rc<Job>,
    pub(super) lease: Arc<Lease>,
    pub(super) notebook: Notebook,
    /// Wakes a runner of this process that waits, because somebody has changed the state.
    pub(super) changed: Arc<Notify>,
    pub(super) stop: CancellationToken,
}

/// The runs that go on.
type Running = FuturesUnordered<LocalBoxFuture<'static, Ended>>;

impl Term {
    /// Runs ticks until the end of the term, and waits for the runs that go on then.
    pub(super) async fn run(mut self) -> End {
        let mut running = Running::new();
        let end = loop {
            if self.is_over() {
                break End::Told;
            }
            match self.next(running.len()).await {
                Ok(Step::Overtaken) => break End::Overtaken,
                Ok(Step::Claim(wanted)) => self.begin(wanted, &mut running).await,
                Ok(Step::Wait(time)) => self.wait(self.pause(time), &mut running).await,
                Err(error @ StoreError::Unsupported { .. }) => {
                    tracing::error!(schedule = %self.job.name, error = one_line(&error), "a schedule cannot run");
                    break End::Impossible;
                }
                Err(error) => {
                    tracing::warn!(schedule = %self.job.name, error = one_line(&error), "a schedule cannot be read");
                    self.wait(LOOK_EVERY, &mut running).await;
                }
            }
        };
        while let Some(ended) = running.next().await {
            self.ended(ended).await;
        }
        end
    }

    fn is_over(&self) -> bool {
        self.stop.is_cancelled() || !self.lease.is_valid()
    }

    /// Returns the next step. The state is read if that was not done for a while, unless a claim will show if it has changed.
    async fn next(&mut self, running: usize) -> Result<Step, StoreError> {
        match self.step(running) {
            Some(claim @ Step::Claim(_)) => return Ok(claim),
            Some(step) if self.notebook.age() < LOOK_EVERY => return Ok(step),
            _ => self.notebook.open().await?,
        }
        // Without a state it was removed just now: it is begun at the next look.
        Ok(self.step(running).unwrap_or(Step::Wait(None)))
    }

    fn step(&self, running: usize) -> Option<Step> {
        let Job { plan, rules, .. } = &*self.job;
        let (fence, now) = (self.lease.fence(), self.notebook.now());
        self.notebook.state().map(|state| state.step(plan, rules, fence, running, now))
    }

    /// Returns the time to wait for a step, or for the next look.
    fn pause(&self, until: Option<u64>) -> Duration {
        let pause =
            until.map_or(LOOK_EVERY, |time| Duration::from_millis(time.saturating_sub(self.notebook.now())));
        pause.min(LOOK_EVERY.saturating_sub(self.notebook.age()))
    }

    /// Claims a tick, and begins its run if it is certainly claimed.
    async fn begin(&mut self, wanted: Wanted, running: &mut Running) {
        let Self { job, lease, notebook, stop, .. } = self;
        let history = job.rules.history;
        let go_on = || !stop.is_cancelled() && lease.is_valid();
        if planted!("a tick is claimed after its work") {
            let mut state = notebook.state().cloned().unwrap_or_default();
            let tick = state.claim(wanted, lease.token(), lease.fence(), history, 0);
            run(job.work.clone(), tick, Arc::clone(lease), job.at_most).await;
        }
        let Some(tick) = notebook.claim(wanted, lease.fence(), history, go_on).await else { return };
        if !lease.is_valid() {
            tracing::warn!(schedule = %job.name, number = tick.number, "the lease was lost before a tick could run");
            return;
        }
        if !planted!("a tick is claimed after its work") {
            running.push(started(job, tick, Arc::clone(lease)));
        }
    }

    /// Waits, and writes down a run that ends meanwhile.
    async fn wait(&mut self, pause: Duration, running: &mut Running) {
        let over = self.lease.lost();
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            _ = over => {}
            Some(ended) = running.next(), if !running.is_empty() => self.ended(ended).await,
            () = self.changed.notified() => self.look().await,
            () = sleep(pause) => {}
        }
    }

    async fn look(&mut self) {
        if let Err(error) = self.notebook.read().await {
            tracing::debug!(schedule = %self.job.name, error = one_line(&error), "a schedule cannot be read");
        }
    }

    /// Writes down the end of a run.
    async fn ended(&mut self, Ended { number, took, outcome }: Ended) {
        let name = &self.job.name;
        match &outcome {
            Outcome::Done => tracing::debug!(schedule = %name, number, ?took, "a tick is done"),
            other => tracing::warn!(schedule = %name, number, ?took, outcome = ?other, "a tick is not done"),
        }
        let written = self.notebook.change(|state, _| state.ended(number, took, &outcome)).await;
        if let Err(error) = written {
            tracing::warn!(schedule = %name, number, error = one_line(&error), "the end of a tick is not in the history");
        }
    }
}

/// Starts a run in a task of its own, so that it goes on while its term waits for the store. It ends with the lease.
fn started(job: &Job, tick: Tick, lease: Arc<Lease>) -> LocalBoxFuture<'static, Ended> {
    let run = actix_rt::spawn(run(job.work.clone(), tick, lease, job.at_most));
    let cancelled = Ended { number: tick.number, took: Duration::ZERO, outcome: Outcome::Stopped };
    // Nothing but the end of the arbiter cancels it: a panic of the work is an outcome.
    Box::pin(async move { run.await.unwrap_or(cancelled) })
}
