//! The work of a term: begun when a candidate is elected, stopped when its term ends, and waited for.

use std::{future::Future, panic::AssertUnwindSafe, rc::Rc, sync::Arc};

use actix::{Actor, Addr, AsyncContext, Context, Handler, ResponseFuture, WeakAddr};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Candidacy, Election, ElectionEvent, Resign, Unwell};
use crate::{
    core::InvalidValue, lease::Lease, manager::LockManager, runtime::supervisor::message_of, store::Holder,
};

/// Work that is done while its process leads.
pub(crate) trait TermWork: 'static {
    /// True if it wants to hear of other leaders.
    const HEARS: bool = false;

    /// Works until `stop`, which also follows a loss.
    fn term(
        self: Rc<Self>,
        lease: Arc<Lease>,
        stop: CancellationToken,
    ) -> impl Future<Output = TermEnd> + 'static;

    /// Hears of another leader.
    fn hear_of(&self, _: &Holder) {}
}

/// The reason for the end of the work in a term.
pub(crate) enum TermEnd {
    /// It was told to stop, or the lease is over.
    Told,
    /// Another candidate may do better.
    Unwell,
    /// No term of this candidate can work.
    Impossible,
}

/// Starts an election, whose terms do this work.
pub(crate) fn elect<W: TermWork>(
    locks: &Addr<LockManager>,
    mut candidacy: Candidacy,
    work: W,
) -> Result<Addr<Election>, InvalidValue> {
    let context = Context::new();
    let mut audience = candidacy.tells.clone();
    candidacy.tells.0.insert(0, context.address().recipient());
    if W::HEARS {
        audience.clone_from(&candidacy.tells);
    }
    let election = Election::launch(locks, candidacy, audience)?;
    context.run(Worker { work: Rc::new(work), election: election.downgrade(), term: None });
    Ok(election)
}

/// The actor that an election tells when to work.
struct Worker<W> {
    work: Rc<W>,
    /// Weak, so that none of the two keeps the other one alive.
    election: WeakAddr<Election>,
    term: Option<Working>,
}

/// The term in which the work goes on.
struct Working {
    number: u64,
    stop: DropGuard,
    over: oneshot::Receiver<()>,
}

impl<W: TermWork> Worker<W> {
    fn begin(&mut self, number: u64, lease: Arc<Lease>) {
        let stop = CancellationToken::new();
        let (done, over) = oneshot::channel();
        let (work, election) = (Rc::clone(&self.work), self.election.clone());
        let resource = lease.resource().clone();
        let term = AssertUnwindSafe(work.term(lease, stop.clone())).catch_unwind();
        // A task of its own, which outlives the actor by the end of its term.
        actix_rt::spawn(async move {
            let end = term.await.unwrap_or_else(|panic| {
                let panic = message_of(panic.as_ref());
                tracing::error!(%resource, panic, "the work of a leader panicked; stepping down");
                TermEnd::Unwell
            });
            // Nobody waits for it if it ends by itself.
            let _ = done.send(());
            match (end, election.upgrade()) {
                (TermEnd::Told, _) | (_, None) => {}
                (TermEnd::Unwell, Some(election)) => election.do_send(Unwell),
                (TermEnd::Impossible, Some(election)) => election.do_send(Resign),
            }
        });
        self.term = Some(Working { number, stop: stop.drop_guard(), over });
    }
}

impl<W: TermWork> Actor for Worker<W> {
    type Context = Context<Self>;
}

impl<W: TermWork> Handler<ElectionEvent> for Worker<W> {
    type Result = ResponseFuture<()>;

    /// The answer to the end of a term comes when the work has ended.
    fn handle(&mut self, event: ElectionEvent, _: &mut Self::Context) -> Self::Result {
        match event {
            ElectionEvent::Elected { term, lease, .. } => self.begin(term, lease),
            ElectionEvent::Demoted { term, .. } => {
                if let Some(Working { stop, over, .. }) = self.term.take_if(|going| going.number == term) {
                    drop(stop);
                    // Without an answer it has ended too, by the end of the arbiter.
                    return Box::pin(async { over.await.unwrap_or_default() });
                }
            }
            ElectionEvent::LeaderChanged { to: Some(leader) } => self.work.hear_of(&leader),
            ElectionEvent::LeaderChanged { to: None } | ElectionEvent::NotStanding { .. } => {}
        }
        Box::pin(async {})
    }
}
