//! The election: the actor that stands for the lead, tells who leads, and stands again.

use std::{fmt, mem, sync::Arc, time::Duration};

use actix::{ActorContext, ActorFutureExt, Addr, AsyncContext, Context, SpawnHandle, WrapFuture};
use futures_util::{FutureExt, future::join_all};
use tokio::{sync::oneshot, time::Instant};

use super::{
    Candidacy, Demotion, ElectionEvent,
    lead::{Lead, Looking, leader},
    messages::Audience,
};
use crate::{
    core::{InvalidValue, ResourceName, one_line},
    lease::Lease,
    manager::LockManager,
    request::AcquireError,
    store::StoreError,
};

/// An election, as one process sees it: stands for the lead, and tells recipients what becomes of it.
///
/// ```
/// use std::time::Duration;
/// use actix::prelude::*;
/// use leasehold::election::{Candidacy, Election, ElectionEvent, Resign};
/// # use leasehold::{LockManager, MemoryStore, Shutdown};
///
/// struct Mayor;
///
/// impl Actor for Mayor {
///     type Context = Context<Self>;
/// }
///
/// impl Handler<ElectionEvent> for Mayor {
///     type Result = ();
///
///     fn handle(&mut self, event: ElectionEvent, _: &mut Self::Context) {
///         match event {
///             ElectionEvent::Elected { fence, .. } => println!("elected, fence {fence:?}"),
///             ElectionEvent::Demoted { reason, .. } => println!("not leading any more: {reason}"),
///             _ => {}
///         }
///     }
/// }
///
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// let mayor = Mayor.start();
/// let election = Election::start(&locks, Candidacy::from("town").tell(mayor.recipient()))?;
/// election.send(Resign).await?; // another candidate leads
/// # locks.send(Shutdown { drain: Duration::ZERO }).await?;
/// # Ok(())
/// # }
/// ```
///
/// It runs in the arbiter that it is started in, until the lock manager is shut down, also when its address is dropped.
/// To give up the lead earlier, send [`Resign`](super::Resign). When all its recipients have died it gives up the lead within a
/// second, and ends. A request that is [`bound_to`](crate::Request::bound_to) an actor does so when that one dies.
pub struct Election {
    pub(super) locks: Addr<LockManager>,
    pub(super) name: ResourceName,
    pub(super) looking: Looking,
    /// Its `stands` says if the candidate stands now, and its `pauses` go on.
    pub(super) candidacy: Candidacy,
    /// True if it ends with its term: the lock manager shuts down, or nobody wants it any more.
    pub(super) closing: bool,
    stage: CandidateStage,
    pub(super) term: u64,
    /// The senders of `Resign` and `Leave` that wait for the end of a term.
    pub(super) resigning: Vec<oneshot::Sender<()>>,
}

enum CandidateStage {
    Idle,
    /// The request for the lease is on its way, or the candidate stands again after a pause.
    Waiting(SpawnHandle),
    Leading {
        lead: Lead,
        since: Instant,
        watch: SpawnHandle,
    },
    SteppingDown,
}

impl Election {
    /// Starts an election. It stands at once, unless it is an [observer](Candidacy::observer). The store need not be there yet.
    ///
    /// # Errors
    /// [`InvalidValue`] for an invalid name, a request for a share, an owner, a minimum hold, contradictory pauses or renewals. What the
    /// lock manager refuses, a TTL beyond its limits for instance, is logged as an error and told by
    /// [`ElectionEvent::NotStanding`].
    ///
    /// # Panics
    /// When it is called outside of a tokio `LocalSet`. Every actix arbiter is one.
    pub fn start(
        locks: &Addr<LockManager>,
        candidacy: impl Into<Candidacy>,
    ) -> Result<Addr<Self>, InvalidValue> {
        let candidacy = candidacy.into();
        let audience = candidacy.tells.clone();
        Self::launch(locks, candidacy, audience)
    }

    /// Starts an election. The `audience` is told of other leaders.
    pub(super) fn launch(
        locks: &Addr<LockManager>,
        candidacy: Candidacy,
        audience: Audience,
    ) -> Result<Addr<Self>, InvalidValue> {
        let election = Self {
            locks: locks.clone(),
            name: candidacy.check()?,
            looking: Looking { audience, ..Looking::default() },
            closing: false,
            stage: CandidateStage::Idle,
            term: 0,
            resigning: Vec::new(),
            candidacy,
        };
        Ok(Context::new().run(election))
    }

    /// Returns the lease of the present term, while it is valid.
    pub(super) fn lease(&self) -> Option<&Lease> {
        match &self.stage {
            CandidateStage::Leading { lead, .. } => Some(&*lead.lease).filter(|lease| lease.is_valid()),
            _ => None,
        }
    }

    /// Returns true if the candidate does nothing, and waits for nothing.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.stage, CandidateStage::Idle)
    }

    /// Asks for the lease, if the candidate stands and does nothing else.
    pub(super) fn stand(&mut self, ctx: &mut Context<Self>) {
        if !self.candidacy.stands || !self.is_idle() {
            return;
        }
        if self.candidacy.is_in_vain() {
            return self.leave(ctx);
        }
        let answer = self.locks.send(self.candidacy.request(ctx.address().recipient()));
        let answered = answer.into_actor(self).map(|answer, this, ctx| match answer {
            _ if !this.is_awaited(ctx) => {}
            // Granted just before the shutdown, of which it was told already.
            Ok(Ok(_)) if this.closing => this.end(Demotion::ShuttingDown, ctx),
            Ok(Ok(lease)) => match this.candidacy.check_budget(lease.ttl()) {
                Ok(()) => this.elected(lease, ctx),
                Err(invalid) => this.refused(invalid.into(), ctx),
            },
            Ok(Err(error)) => this.refused(error, ctx),
            // It panicked over the message, and was started again.
            Err(_) if this.locks.connected() => this.refused(AcquireError::Restarted, ctx),
            Err(gone) => this.end(gone, ctx),
        });
        self.stage = CandidateStage::Waiting(ctx.spawn(answered));
    }

    /// Returns true if the running future is the one that the candidate waits for: a cancelled one may still end in the same turn.
    fn is_awaited(&self, ctx: &Context<Self>) -> bool {
        matches!(self.stage, CandidateStage::Waiting(pending) if pending == ctx.handle())
    }

    fn elected(&mut self, lease: Lease, ctx: &mut Context<Self>) {
        if !lease.is_valid() {
            self.stand_later(ctx);
            return;
        }
        if self.candidacy.is_in_vain() {
            return self.leave(ctx);
        }
        self.term += 1;
        let (term, fence, lease) = (self.term, lease.fence(), Arc::new(lease));
        tracing::info!(resource = %self.name, term, fence = fence.map(|fence| fence.get()), "elected");
        let budget = self.candidacy.budget_within(lease.remaining());
        let lead = Lead { lease: Arc::clone(&lease), budget, locks: self.locks.clone() };
        let ends = lead.ends().into_actor(self);
        let watch = ctx.spawn(ends.map(|reason, this, ctx| this.step_down(reason, ctx)));
        self.stage = CandidateStage::Leading { lead, since: Instant::now(), watch };
        self.candidacy.tells.tell(&ElectionEvent::Elected { term, fence, lease });
        self.look(ctx);
    }

    fn refused(&mut self, error: AcquireError, ctx: &mut Context<Self>) {
        self.stage = CandidateStage::Idle;
        let again_in = match error {
            AcquireError::ShuttingDown => return self.end(error, ctx),
            AcquireError::Invalid(_) | AcquireError::Store(StoreError::Unsupported { .. }) => None,
            _ => Some(self.stand_later(ctx)),
        };
        let (resource, reason) = (&self.name, one_line(&error));
        match again_in {
            Some(pause) => tracing::warn!(%resource, again_in = ?pause, error = reason, "could not stand"),
            None => {
                self.candidacy.stands = false;
                tracing::error!(%resource, error = reason, "cannot stand with this request; standing no more");
            }
        }
        self.candidacy.tells.tell(&ElectionEvent::NotStanding { error, again_in });
    }

    /// Stands again after the next pause, and returns it.
    fn stand_later(&mut self, ctx: &mut Context<Self>) -> Duration {
        let pause = self.candidacy.pauses.next();
        self.stage = CandidateStage::Waiting(ctx.run_later(pause, |this, ctx| {
            if this.is_awaited(ctx) {
                this.stage = CandidateStage::Idle;
                this.stand(ctx);
            }
        }));
        pause
    }

    /// Ends the term: those who are told have time to finish, as far as the lease is valid, and then it is released.
    pub(super) fn step_down(&mut self, reason: Demotion, ctx: &mut Context<Self>) {
        let (lead, since, watch) = match mem::replace(&mut self.stage, CandidateStage::SteppingDown) {
            CandidateStage::Leading { lead, since, watch } => (lead, since, watch),
            other => return self.stage = other,
        };
        ctx.cancel_future(watch);
        let term = self.term;
        tracing::info!(resource = %self.name, term, %reason, "steps down");
        let event = ElectionEvent::Demoted { term, reason: reason.clone() };
        // A task of its own: a message whose sender is dropped is not handled.
        let told = actix_rt::spawn(join_all(self.candidacy.tells.0.iter().map(|to| to.send(event.clone()))));
        let given_up = async move {
            // A recipient that has died has nothing to finish.
            lead.finish(told.map(drop)).await;
            lead.give_up().await;
        };
        ctx.spawn(given_up.into_actor(self).map(move |(), this, ctx| this.stepped_down(reason, since, ctx)));
    }

    fn stepped_down(&mut self, reason: Demotion, since: Instant, ctx: &mut Context<Self>) {
        self.stage = CandidateStage::Idle;
        self.answer_resigning();
        if since.elapsed() > self.candidacy.pauses.longest() {
            self.candidacy.pauses.reset();
        }
        if self.closing {
            self.end(reason, ctx);
        } else if self.candidacy.stands {
            self.stand_later(ctx);
        }
    }

    /// Ends the election itself, because the lock manager has gone or is going, or nobody needs it.
    pub(super) fn end(&mut self, why: impl fmt::Display, ctx: &mut Context<Self>) {
        tracing::info!(resource = %self.name, %why, "the election ends");
        self.candidacy.stands = false;
        self.stage = CandidateStage::Idle;
        self.answer_resigning();
        ctx.stop();
    }

    /// Gives up the lead or the place in the queue, and stands no more.
    pub(super) fn resign(&mut self, ctx: &mut Context<Self>) {
        self.candidacy.stands = false;
        if let CandidateStage::Waiting(pending) = self.stage {
            // The request leaves the queue, and a grant that is on its way is released.
            ctx.cancel_future(pending);
            self.stage = CandidateStage::Idle;
        }
        self.step_down(Demotion::Resigned, ctx);
    }

    /// Resigns, as nobody would work as the leader, and ends.
    pub(super) fn leave(&mut self, ctx: &mut Context<Self>) {
        if self.candidacy.stands {
            tracing::warn!(resource = %self.name, "nobody is left who would lead; standing no more");
        }
        self.resign(ctx);
        if self.is_idle() {
            self.end("nobody is left who would lead", ctx);
        }
    }

    /// Asks the store who leads, unless it is being asked, nobody wants to know, or it is this candidate and was told.
    pub(super) fn look(&mut self, ctx: &mut Context<Self>) {
        let told = self.looking.told.as_ref().map(|leader| leader.token);
        let is_known = self.lease().is_some_and(|lease| told == Some(lease.token().prefix()));
        if is_known || self.looking.is_on_its_way || !self.looking.audience.is_there() {
            return;
        }
        self.looking.is_on_its_way = true;
        let answered = leader(&self.locks, &self.name).into_actor(self);
        ctx.spawn(answered.map(|answer, this, _| this.looking.answered(&this.name, answer)));
    }

    fn answer_resigning(&mut self) {
        // A sender that has gone needs no answer.
        for resigning in self.resigning.drain(..) {
            let _ = resigning.send(());
        }
    }
}
