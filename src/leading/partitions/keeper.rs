//! The keeper: the actor that announces its process as a member, looks at who else is there, and stands for its share.

use std::{collections::BTreeMap, error::Error, mem, rc::Rc, sync::Arc, time::Duration};

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Message, SpawnHandle, WrapFuture,
};
use tokio::sync::oneshot;

use super::{
    Member,
    member::announced,
    membership::{End, Membership, Names, NotJoined, join},
    places::Places,
    share::Standing,
};
use crate::{
    core::one_line,
    leading::election::{Candidacy, SingletonContext, inspect},
    lease::Lease,
    manager::LockManager,
    request::{AcquireError, InspectError},
    store::{Inspection, StoreError, TOLD_AT_MOST},
};

/// Makes the actor of a partition.
pub(super) type Factory<A> = Rc<dyn Fn(u32) -> A>;

/// Gives all partitions to others. The answer, when they have been given up, has a channel of its own: actix does not handle a
/// message whose sender has given up waiting.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Drain(pub(super) oneshot::Sender<()>);

/// Becomes a member, for the first time or again after a drain.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Join;

/// The time after the end of a lease at which the next look finds it gone.
const AFTER_AN_END: Duration = Duration::from_millis(5);
/// The shortest interval between two looks, so that an end that does not come is not looked for again and again.
const SHORTEST_LOOK: Duration = Duration::from_millis(100);

/// A process of the fleet.
pub(super) struct Keeper<A: Actor> {
    pub(super) locks: Addr<LockManager>,
    pub(super) names: Names,
    pub(super) partitions: u32,
    pub(super) member: Member,
    /// The pauses before it joins again are in it.
    pub(super) candidacy: Candidacy,
    pub(super) factory: Factory<A>,
    pub(super) places: Arc<Places<A>>,
    pub(super) stage: Stage,
    pub(super) standing: BTreeMap<u32, Standing>,
    /// The members at the last change, and the place among them of the owner of each partition.
    pub(super) shares: (Vec<Member>, Rc<[usize]>),
    /// The number of the look whose answer counts.
    look: u64,
    /// The senders of `Drain` that wait for its end.
    pub(super) draining: Vec<oneshot::Sender<()>>,
}

/// The stage of the membership.
pub(super) enum Stage {
    /// No member, and it does not want to be one.
    Out,
    /// Its leases are asked for, or will be after a pause.
    Joining(SpawnHandle),
    /// A member.
    In { membership: Membership, watch: SpawnHandle },
    /// No member any more. The lease of its name is kept until its partitions are given up.
    Leaving { _named: Option<Lease> },
}

impl<A: Actor<Context = SingletonContext<A>>> Keeper<A> {
    pub(super) fn new(
        locks: Addr<LockManager>,
        (candidacy, names): (Candidacy, Names),
        partitions: u32,
        member: Member,
        factory: Factory<A>,
    ) -> Self {
        Self {
            locks,
            names,
            partitions,
            member,
            candidacy,
            factory,
            places: Arc::new(Places::new()),
            stage: Stage::Out,
            standing: BTreeMap::new(),
            shares: Default::default(),
            look: 0,
            draining: Vec::new(),
        }
    }

    /// Asks for the leases of a member, if it is none.
    pub(super) fn join(&mut self, ctx: &mut Context<Self>) {
        let requests = self.names.requests(&self.member, self.partitions, &self.candidacy);
        let requests = requests.map(|request| request.events(ctx.address().recipient()));
        let joined = join(self.locks.clone(), requests, self.partitions).into_actor(self).map(|answer, this, ctx| {
            if !matches!(this.stage, Stage::Joining(pending) if pending == ctx.handle()) {
                return;
            }
            match answer {
                Ok(membership) => this.joined(membership, ctx),
                Err(NotJoined::Refused(error)) => this.refused(&error, ctx),
                Err(NotJoined::Unseen(error)) => this.not_joined(&error, ctx),
                Err(NotJoined::OtherCount(others)) => {
                    this.leave_all(ctx);
                    let again_in = this.join_later(ctx);
                    let (resource, own) = (&this.names.members, this.partitions);
                    tracing::error!(%resource, own, others, ?again_in, "other members have another number of partitions; not joining");
                }
            }
        });
        self.stage = Stage::Joining(ctx.spawn(joined));
    }

    fn not_joined(&mut self, error: &dyn Error, ctx: &mut Context<Self>) {
        let again_in = self.join_later(ctx);
        tracing::warn!(resource = %self.names.members, ?again_in, error = one_line(error), "could not join");
    }

    /// Joins after a pause, which is another one for each member: two that refuse each other must not meet again and again.
    fn join_later(&mut self, ctx: &mut Context<Self>) -> Duration {
        let pause = self.candidacy.pauses.next().mul_f64(0.5 + self.member.spread(self.look) / 2.0);
        self.stage = Stage::Joining(ctx.run_later(pause, |this, ctx| {
            if matches!(this.stage, Stage::Joining(pending) if pending == ctx.handle()) {
                this.join(ctx);
            }
        }));
        pause
    }

    fn joined(&mut self, membership: Membership, ctx: &mut Context<Self>) {
        // What no term could keep is refused before anybody gives anything up for it.
        if let Err(invalid) = self.candidacy.check_budget(membership.ttl()) {
            return self.refused(&invalid.into(), ctx);
        }
        let end = membership.end().into_actor(self);
        let watch = ctx.spawn(end.map(|end, this, ctx| match end {
            _ if !matches!(this.stage, Stage::In { watch, .. } if watch == ctx.handle()) => {}
            End::Lost(reason) => {
                tracing::warn!(resource = %this.names.members, member = %this.member.name, %reason, "membership lost");
                // Others may take all partitions now, and one with another number of them may join.
                this.leave_all(ctx);
                this.join_later(ctx);
            }
            End::WantedBack => this.drain(ctx),
        }));
        self.candidacy.pauses.reset();
        self.stage = Stage::In { membership, watch };
        self.look(ctx);
    }

    fn refused(&mut self, error: &AcquireError, ctx: &mut Context<Self>) {
        let (resource, reason) = (self.names.members.clone(), one_line(error));
        match error {
            AcquireError::ShuttingDown => self.end(ctx),
            _ if !self.locks.connected() => self.end(ctx),
            AcquireError::Invalid(_) | AcquireError::Store(StoreError::Unsupported { .. }) => {
                tracing::error!(%resource, error = reason, "cannot be a member with this request; joining no more");
                self.stage = Stage::Out;
                self.leave_all(ctx);
                self.finish_drain();
            }
            _ => self.not_joined(error, ctx),
        }
    }

    /// Looks at who is there, now and then again and again. The answer to an earlier look does not count any more.
    pub(super) fn look(&mut self, ctx: &mut Context<Self>) {
        self.look += 1;
        let look = self.look;
        let answer = inspect(&self.locks, &self.names.members, TOLD_AT_MOST);
        ctx.spawn(answer.into_actor(self).map(move |answer, this, ctx| {
            if look != this.look {
                return;
            }
            match this.saw(answer, ctx) {
                Some(pause) => drop(ctx.run_later(pause, move |this, ctx| {
                    if look == this.look {
                        this.look(ctx);
                    }
                })),
                None => this.end(ctx),
            }
        }));
    }

    /// Returns the pause until the next look; `None` if the lock manager has gone.
    fn saw(&mut self, answer: Result<Inspection, InspectError>, ctx: &mut Context<Self>) -> Option<Duration> {
        let every = self.candidacy.look_every;
        match answer {
            Ok(inspection) => {
                self.meet(&inspection, ctx);
                let first = inspection.holders.iter().map(|holder| holder.remaining).min().unwrap_or(every);
                Some(every.min((first + AFTER_AN_END).max(SHORTEST_LOOK)))
            }
            Err(_) if !self.locks.connected() => None,
            Err(error) => {
                tracing::debug!(resource = %self.names.members, error = one_line(&error), "could not see the members");
                self.go_on_leaving(ctx);
                Some(every)
            }
        }
    }

    /// Goes on with a drain, which ends whatever the store tells, by the members that were seen last.
    fn go_on_leaving(&mut self, ctx: &mut Context<Self>) {
        if matches!(self.stage, Stage::Leaving { .. }) {
            let members = self.places.members();
            self.settle(&members, ctx);
        }
    }

    fn meet(&mut self, inspection: &Inspection, ctx: &mut Context<Self>) {
        let (told, total) = (inspection.holders.len() as u64, inspection.total);
        if total > told {
            // Each member would compute shares from other names.
            tracing::error!(resource = %self.names.members, total, told, "more members than a store tells; nothing moves");
            return self.go_on_leaving(ctx);
        }
        let members = announced(inspection, self.partitions);
        self.settle(&members, ctx);
        if self.places.meet(members) {
            tracing::debug!(resource = %self.names.members, "other members");
        }
    }

    /// Leaves the fleet: its partitions are given to others one by one.
    pub(super) fn drain(&mut self, ctx: &mut Context<Self>) {
        self.stage = match mem::replace(&mut self.stage, Stage::Out) {
            Stage::In { membership, .. } => {
                tracing::info!(resource = %self.names.members, member = %self.member.name, "leaves the fleet");
                Stage::Leaving { _named: Some(membership.named) }
            }
            Stage::Joining(pending) => {
                ctx.cancel_future(pending);
                Stage::Leaving { _named: None }
            }
            other => other,
        };
        self.look(ctx);
        self.finish_drain();
    }

    pub(super) fn finish_drain(&mut self) {
        if matches!(self.stage, Stage::Leaving { .. } | Stage::Out) && self.standing.is_empty() {
            self.stage = Stage::Out;
            // A sender that has gone needs no answer.
            self.draining.drain(..).for_each(|drained| _ = drained.send(()));
        }
    }

    /// Ends with the lock manager. Its elections end by themselves.
    pub(super) fn end(&mut self, ctx: &mut Context<Self>) {
        self.stage = Stage::Out;
        ctx.stop();
    }
}
