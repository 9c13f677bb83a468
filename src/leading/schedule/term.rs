//! One term of a runner: ticks are claimed, run, and written down, until it is told to stop or the lease is over.

use std::{cell::Cell, collections::VecDeque, rc::Rc, sync::Arc, time::Duration};

use tokio::{
    task::{JoinError, JoinSet},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    job::{EndedRun, TickJob, run},
    notebook::{Notebook, Redone, StoreTrouble},
    plan::{Step, WantedTick},
    state::ScheduleState,
    tick::Outcome,
};
use crate::{
    core::{Fence, one_line},
    leading::election::{TermEnd, TermWork},
    lease::Lease,
    store::{Holder, StoreError},
};

/// The key of a runner's metadata that says its plan in words.
pub(super) const PLAN: &str = "plan";

/// The interval in which a runner that has nothing to do looks for a pause and for runs that were asked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The time after a claim that others have come before.
const CLAIM_AGAIN: Duration = Duration::from_millis(20);

impl TermWork for TickJob {
    const HEARS: bool = true;

    async fn term(self: Rc<Self>, lease: Arc<Lease>, stop: CancellationToken) -> TermEnd {
        let term = RunnerTerm {
            runs: JoinSet::new(),
            notebook: self.control.notebook(Rc::clone(&self.floor)),
            job: self,
            lease,
            stop,
            began: None,
            ended: VecDeque::new(),
            looks: StoreTrouble::default(),
            told_of_future: false,
        };
        term.run().await
    }

    /// Compares the plan of whoever runs the schedule with the own one.
    fn hear_of(&self, other: &Holder) {
        let words = self.rules.plan.in_words();
        let Some(plan) = other.metadata.get(PLAN).filter(|plan| **plan != words) else { return };
        if self.foreign_plan.borrow().as_ref() != Some(plan) {
            tracing::warn!(
                schedule = %self.control.name, plan = words, other_plan = plan, host = other.metadata.get("host"),
                pid = other.metadata.get("pid"),
                "the schedule of this name runs with another plan, which counts while its process is elected"
            );
            self.foreign_plan.replace(Some(plan.clone()));
        }
    }
}

struct RunnerTerm {
    /// The runs that go on, each a task of its own, so that it goes on while the term waits for the store. It ends with the
    /// lease, and with the term.
    runs: JoinSet<EndedRun>,
    job: Rc<TickJob>,
    lease: Arc<Lease>,
    notebook: Notebook,
    stop: CancellationToken,
    began: Option<Instant>,
    /// The ends of runs that are not written down yet.
    ended: VecDeque<EndedRun>,
    looks: StoreTrouble,
    told_of_future: bool,
}

impl RunnerTerm {
    /// Runs ticks until the end of the term, and waits for the runs that go on then.
    async fn run(mut self) -> TermEnd {
        let lost = self.lease.lost();
        // Whatever it waits for: a claim that is not certain then is not run.
        let end = tokio::select! {
            biased;
            _ = lost => TermEnd::Told,
            end = self.go_on() => end,
        };
        self.write_down().await;
        while let Some(ended) = self.runs.join_next().await {
            self.note(ended);
            self.write_down().await;
        }
        end
    }

    /// Goes on until the stop, which is not waited for except that a claim on its way is answered: otherwise nobody would run
    /// its tick.
    async fn go_on(&mut self) -> TermEnd {
        let stop = self.stop.clone();
        // The clock is read: the timer of the loss stops while the machine is suspended.
        while self.lease.is_valid() {
            let Some(step) = stop.run_until_cancelled(self.next()).await else { break };
            match step {
                Ok(Step::Overtaken) => {
                    tracing::warn!(
                        schedule = %self.job.control.name, fence = self.lease.fence().map(Fence::get),
                        "a runner with a larger fence has claimed a tick, so this one steps down"
                    );
                    return TermEnd::Unwell;
                }
                Ok(Step::Claim(wanted)) => match self.rest() {
                    Some(rest) => self.wait(rest).await,
                    None => self.begin(wanted).await,
                },
                Ok(Step::Wait(time)) => self.wait(self.pause(time)).await,
                Err(error @ StoreError::Unsupported { .. }) => {
                    tracing::error!(schedule = %self.job.control.name, error = one_line(&error), "a schedule cannot run");
                    return TermEnd::Impossible;
                }
                Err(error) => {
                    self.looks.tell(&self.job.control.name, "a schedule cannot be read", &error);
                    self.wait(LOOK_EVERY).await;
                }
            }
        }
        TermEnd::Told
    }

    /// Returns the next step. The state is read if that was not done for a while, unless a claim will show if it has changed.
    async fn next(&mut self) -> Result<Step, StoreError> {
        match self.step() {
            Some(claim @ Step::Claim(_)) => return Ok(claim),
            Some(step) if self.notebook.age() < LOOK_EVERY => return Ok(step),
            _ => self.notebook.open().await?,
        }
        self.looks.over();
        self.tell_of_future();
        // Without a state it was removed just now: it is begun at the next look.
        Ok(self.step().unwrap_or(Step::Wait(None)))
    }

    fn step(&self) -> Option<Step> {
        let (fence, now) = (self.lease.fence(), self.notebook.now());
        let running = self.runs.len();
        self.notebook.state.as_ref().map(|state| state.step(&self.job.rules, fence, running, now))
    }

    fn tell_of_future(&mut self) {
        let now = self.notebook.now();
        let is_ahead =
            self.notebook.state.as_ref().is_some_and(|state| state.is_ahead(&self.job.rules.plan, now));
        if is_ahead && !self.told_of_future {
            tracing::warn!(
                schedule = %self.job.control.name,
                "the last tick is in the future, since the store's clock was ahead: nothing of the plan runs before it"
            );
        }
        self.told_of_future = is_ahead;
    }

    /// Returns the time to wait for a step, or for the next look.
    fn pause(&self, until: Option<u64>) -> Duration {
        let pause =
            until.map_or(LOOK_EVERY, |time| Duration::from_millis(time.saturating_sub(self.notebook.now())));
        pause.min(LOOK_EVERY.saturating_sub(self.notebook.age()))
    }

    /// Returns the rest of the shortest time between two starts. The state has the time of the last claim, which may have
    /// been certain only later.
    fn rest(&self) -> Option<Duration> {
        let shortest = Duration::from_millis(self.job.rules.at_least);
        let rest = shortest.saturating_sub(self.began?.elapsed());
        (!rest.is_zero()).then_some(rest.min(LOOK_EVERY))
    }

    /// Claims a tick, and begins its run if it is certainly claimed.
    async fn begin(&mut self, wanted: WantedTick) {
        let Self { runs, job, lease, notebook, stop, .. } = self;
        let history = job.rules.history;
        if planted!("a tick is claimed after its work") {
            let mut state = notebook.state.clone().unwrap_or_default();
            let tick = state.claim(wanted, lease.token(), lease.fence(), history, 0);
            run(Rc::clone(job), tick, Arc::clone(lease)).await;
        }
        let tick = match notebook.claim(wanted, lease.fence(), history, stop).await {
            Ok(Some(tick)) => tick,
            Ok(None) => return self.wait(CLAIM_AGAIN).await,
            Err(_) => return self.wait(LOOK_EVERY).await,
        };
        if !lease.is_valid() {
            tracing::warn!(schedule = %job.control.name, number = tick.number, "the lease was lost before a tick could run");
            return;
        }
        if !planted!("a tick is claimed after its work") {
            self.began = Some(Instant::now());
            runs.spawn_local(run(Rc::clone(job), tick, Arc::clone(lease)));
        }
    }

    /// Waits, and writes down a run that ends meanwhile. The stop ends it.
    async fn wait(&mut self, pause: Duration) {
        let stop = self.stop.clone();
        let waiting = async {
            tokio::select! {
                biased;
                Some(ended) = self.runs.join_next() => {
                    self.note(ended);
                    self.write_down().await;
                }
                () = self.job.control.changed.notified() => self.look().await,
                () = sleep(pause) => {}
            }
        };
        // What is not written down then is written by the end of the term.
        let _ = stop.run_until_cancelled(waiting).await;
    }

    async fn look(&mut self) {
        if let Err(error) = self.notebook.open().await {
            self.looks.tell(&self.job.control.name, "a schedule cannot be read", &error);
        }
    }

    /// Notes the end of a run. A panic of its work is an outcome; what the work panicked with may panic once more as it is dropped.
    fn note(&mut self, ended: Result<EndedRun, JoinError>) {
        let name = &self.job.control.name;
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => return tracing::error!(schedule = %name, %error, "a tick ended without an outcome"),
        };
        let EndedRun { number, took, outcome } = &ended;
        match outcome {
            Outcome::Done => tracing::debug!(schedule = %name, number, ?took, "a tick is done"),
            other => tracing::warn!(schedule = %name, number, ?took, outcome = ?other, "a tick is not done"),
        }
        self.ended.push_back(ended);
    }

    /// Writes down the ends of runs. What a call that is cancelled has not written is written by the next one.
    async fn write_down(&mut self) {
        let (pause_after, fence) = (self.job.rules.pause_after, self.lease.fence());
        while let Some(EndedRun { number, took, outcome }) = self.ended.front() {
            let (name, pauses) = (&self.job.control.name, Cell::new(false));
            let end = |state: &mut ScheduleState, _| {
                pauses.set(state.ended((*number, fence), (*took, outcome), pause_after));
            };
            if let Err(error) = self.notebook.change(Redone::Harmless, end).await {
                let error = one_line(&error);
                tracing::warn!(schedule = %name, number, error, "the end of a tick is not in the history");
            } else if pauses.get() {
                tracing::error!(
                    schedule = %name, number, pause_after,
                    "a schedule has paused, because its runs failed one after the other"
                );
            }
            self.ended.pop_front();
        }
    }
}
