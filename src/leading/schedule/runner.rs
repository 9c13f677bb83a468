//! The runner of a schedule: begins a term when its process is elected, and ends it when that is over.

use std::{cell::OnceCell, panic::AssertUnwindSafe, rc::Rc, sync::Arc};

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, Context, Handler, Message, ResponseActFuture, ResponseFuture,
    WeakAddr, WrapFuture,
};
use futures_util::FutureExt;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    notebook::Notebook,
    progress::Floor,
    term::{End, Job, Term},
};
use crate::{
    election::{Election, ElectionEvent, Resign, Unwell},
    lease::Lease,
    manager::LockManager,
    runtime::supervisor::message_of,
    store::Holder,
};

/// The key of a runner's metadata that says its plan in words.
pub(super) const PLAN: &str = "plan";

/// The runner of a schedule in one process, whom the election tells when to run.
pub(super) struct Runner {
    job: Rc<Job>,
    locks: Addr<LockManager>,
    changed: Arc<Notify>,
    /// Set when the election has started. Weak, so that none of the two keeps the other one alive.
    election: Rc<OnceCell<WeakAddr<Election>>>,
    term: Option<Going>,
    floor: Floor,
    /// The plan of another process that was warned of last.
    foreign_plan: Option<String>,
}

/// The term that goes on.
struct Going {
    number: u64,
    stop: DropGuard,
    over: oneshot::Receiver<()>,
}

impl Runner {
    pub(super) fn new(
        job: Job,
        locks: Addr<LockManager>,
        changed: Arc<Notify>,
        election: Rc<OnceCell<WeakAddr<Election>>>,
    ) -> Self {
        Self {
            job: Rc::new(job),
            locks,
            changed,
            election,
            term: None,
            floor: Floor::default(),
            foreign_plan: None,
        }
    }

    fn begin(&mut self, number: u64, lease: Arc<Lease>) {
        let stop = CancellationToken::new();
        let (done, over) = oneshot::channel();
        let floor = Rc::clone(&self.floor);
        let notebook = Notebook::new(self.locks.clone(), self.job.name.clone(), floor);
        let term = Term::new(Rc::clone(&self.job), lease, notebook, Arc::clone(&self.changed), stop.clone());
        let (job, election) = (Rc::clone(&self.job), Rc::clone(&self.election));
        // A task of its own, which outlives the actor by the end of its term.
        actix_rt::spawn(async move {
            let end = AssertUnwindSafe(term.run()).catch_unwind().await.unwrap_or_else(|panic| {
                let message = message_of(panic.as_ref());
                tracing::error!(schedule = %job.name, message, "the runner of a schedule panicked, and steps down");
                End::Failed
            });
            // Nobody waits for it if it ends by itself.
            let _ = done.send(());
            let election = election.get().and_then(WeakAddr::upgrade);
            match (end, election) {
                (End::Told, _) | (_, None) => {}
                (End::Overtaken | End::Failed, Some(election)) => election.do_send(Unwell),
                (End::Impossible, Some(election)) => election.do_send(Resign),
            }
        });
        self.term = Some(Going { number, stop: stop.drop_guard(), over });
    }
}

impl Runner {
    /// Compares the plan of whoever runs the schedule with the own one.
    fn compare(&mut self, other: &Holder) {
        let Job { name, words, .. } = &*self.job;
        let Some(plan) = other.metadata.get(PLAN).filter(|plan| *plan != words) else { return };
        if self.foreign_plan.as_ref() != Some(plan) {
            tracing::warn!(
                schedule = %name, plan = words, other_plan = ?plan, host = other.metadata.get("host"),
                pid = other.metadata.get("pid"),
                "the schedule of this name runs with another plan, which counts while its process is elected"
            );
            self.foreign_plan = Some(plan.clone());
        }
    }
}

impl Actor for Runner {
    type Context = Context<Self>;
}

/// Stops the schedule in this process, and ends its runner. The answer comes when the run that went on has ended, or its time
/// to finish is over.
///
/// The answer has a channel of its own, since actix does not handle a message whose sender has given up waiting.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Leave(pub(super) oneshot::Sender<()>);

impl Handler<Leave> for Runner {
    type Result = ResponseActFuture<Self, ()>;

    /// The election ends with its last listener: until then it asks the store who leads.
    fn handle(&mut self, Leave(left): Leave, _: &mut Self::Context) -> Self::Result {
        let election = self.election.get().and_then(WeakAddr::upgrade);
        let resigned = async {
            if let Some(election) = election {
                // Without an answer the lock manager was shut down, and the election has ended with it.
                let _ = election.send(Resign).await;
            }
        };
        Box::pin(resigned.into_actor(self).map(|(), _, ctx| {
            // Its caller may have gone away.
            let _ = left.send(());
            ctx.stop();
        }))
    }
}

impl Handler<ElectionEvent> for Runner {
    type Result = ResponseFuture<()>;

    /// The answer to the end of a term comes when the runs have ended.
    fn handle(&mut self, event: ElectionEvent, _: &mut Self::Context) -> Self::Result {
        match event {
            ElectionEvent::Elected { term, lease, .. } => self.begin(term, lease),
            ElectionEvent::Demoted { term, .. } => {
                if let Some(Going { stop, over, .. }) = self.term.take_if(|going| going.number == term) {
                    drop(stop);
                    // Without an answer it has ended too, by a panic.
                    return Box::pin(async { over.await.unwrap_or_default() });
                }
            }
            ElectionEvent::LeaderChanged { to: Some(leader) } => self.compare(&leader),
            ElectionEvent::LeaderChanged { to: None } | ElectionEvent::NotStanding { .. } => {}
        }
        Box::pin(async {})
    }
}
