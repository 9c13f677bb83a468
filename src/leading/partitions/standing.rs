//! The partitions that a process stands for: its share, and what it has not yet given to others.

use std::{collections::BTreeSet, rc::Rc, sync::Arc};

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, WrapFuture};
use futures_util::{StreamExt, stream};
use tokio::{sync::oneshot, time::Instant};

use super::{
    Member,
    keeper::{Keeper, Stage},
    share::{Share, Standing},
    shares::shares,
    survey::AT_ONCE,
};
use crate::{
    core::ResourceName,
    leading::election::{Leave, Singleton, SingletonContext, elect, inspect},
    lease::Lease,
    manager::LockManager,
    request::Leases,
};

/// A partition that is the share of another member, and its resource.
type Moving = (u32, ResourceName);

impl<A: Actor<Context = SingletonContext<A>>> Keeper<A> {
    /// Stands for what is its share, and gives to others what is theirs.
    pub(super) fn settle(&mut self, members: &[Member], ctx: &mut Context<Self>) {
        let own = members.iter().position(|member| member.name == self.member.name);
        let (shares, counted) = match (&self.stage, own) {
            (Stage::In { membership, .. }, Some(_)) => {
                let counted = Arc::clone(&membership.counted);
                (self.shares_of(members), Some(counted))
            }
            (Stage::Leaving { .. }, _) => (Rc::default(), None),
            _ => return,
        };
        let others = members.iter().any(|member| member.name != self.member.name);
        let mut moving = Vec::new();
        for partition in 0..self.partitions {
            let counted = counted.as_ref().filter(|_| shares.get(partition as usize).copied() == own);
            match (self.standing.get_mut(&partition), counted) {
                (None, Some(counted)) => self.stand(partition, counted),
                (Some(standing), Some(_)) => standing.foreign_since = None,
                (Some(standing), None) if !standing.leaves => {
                    let since = *standing.foreign_since.get_or_insert_with(Instant::now);
                    moving.extend(self.give(partition, others.then_some(since), ctx));
                }
                _ => {}
            }
        }
        if !moving.is_empty() && !planted!("an owner keeps the share of another") {
            self.give_what_is_waited_for(moving, ctx);
        }
        self.finish_drain();
    }

    /// Returns the shares of these members, which are computed again if they are others than before.
    fn shares_of(&mut self, members: &[Member]) -> Rc<[usize]> {
        if self.shares.0 != members {
            self.shares = (members.to_vec(), shares(members, self.partitions).into());
        }
        Rc::clone(&self.shares.1)
    }

    fn stand(&mut self, partition: u32, counted: &Arc<Lease>) {
        let (factory, places) = (Rc::clone(&self.factory), Arc::clone(&self.places));
        let candidacy = self.names.candidacy(partition, &self.member, &self.candidacy);
        let actor = Singleton::new(
            &candidacy,
            move || factory(partition),
            move |actor| places.lives(partition, actor),
        );
        let (actor, places, _counted) = (Rc::new(actor), Arc::clone(&self.places), Arc::clone(counted));
        let share = Share { partition, actor, places, _counted };
        match elect(&self.locks, candidacy, share) {
            Ok(election) => drop(
                self.standing.insert(partition, Standing { election, foreign_since: None, leaves: false }),
            ),
            Err(error) => {
                tracing::error!(resource = %self.names.members, partition, %error, "cannot stand for a partition")
            }
        }
    }

    /// Gives up a partition that is the share of another member `since` then, unless this process owns it: then it is returned. It
    /// is kept until somebody waits for it, because a member that is frozen has a share and does not take it. One that leaves gives
    /// it up after a TTL, and at once if there is nobody else.
    fn give(&mut self, partition: u32, since: Option<Instant>, ctx: &mut Context<Self>) -> Option<Moving> {
        let is_leaving = matches!(self.stage, Stage::Leaving { .. });
        let is_kept = |(lease, since): &(Arc<Lease>, Instant)| !is_leaving || since.elapsed() < lease.ttl();
        match self.places.lease(partition).zip(since).filter(is_kept) {
            Some((lease, _)) if !planted!("an owner gives up what nobody comes for") => {
                Some((partition, lease.resource().clone()))
            }
            _ => {
                self.leave(partition, ctx);
                None
            }
        }
    }

    fn give_what_is_waited_for(&mut self, moving: Vec<Moving>, ctx: &mut Context<Self>) {
        let waited_for = waited_for(self.locks.clone(), moving).into_actor(self);
        ctx.spawn(waited_for.map(|waited_for, this, ctx| {
            for partition in waited_for {
                if this.standing.get(&partition).is_some_and(|standing| standing.foreign_since.is_some()) {
                    this.leave(partition, ctx);
                }
            }
        }));
    }

    fn leave(&mut self, partition: u32, ctx: &mut Context<Self>) {
        let Some(standing) = self.standing.get_mut(&partition).filter(|standing| !standing.leaves) else {
            return;
        };
        standing.leaves = true;
        let (left, answer) = oneshot::channel();
        standing.election.do_send(Leave(left));
        ctx.spawn(answer.into_actor(self).map(move |_, this, _| {
            this.standing.remove(&partition);
            this.finish_drain();
        }));
    }

    pub(super) fn leave_all(&mut self, ctx: &mut Context<Self>) {
        let all: Vec<_> = self.standing.keys().copied().collect();
        all.into_iter().for_each(|partition| self.leave(partition, ctx));
    }
}

/// Returns those of these partitions that somebody waits for, as far as that is known. Members that share a lock manager wait in it,
/// where the store does not see them.
async fn waited_for(locks: Addr<LockManager>, moving: Vec<Moving>) -> Vec<u32> {
    let own = locks.send(Leases::new().limit(10_000)).await;
    let own = own.ok().and_then(Result::ok).map(|own| own.waiting).unwrap_or_default();
    let own: BTreeSet<_> = own.into_iter().map(|waiter| waiter.resource).collect();
    let is_waited_for = async |(partition, resource): Moving| {
        let is_waited_for = own.contains(&resource)
            || inspect(&locks, &resource, 1).await.is_ok_and(|inspection| inspection.waiting > 0);
        is_waited_for.then_some(partition)
    };
    let found = stream::iter(moving).map(is_waited_for).buffer_unordered(AT_ONCE);
    found.filter_map(async |partition| partition).collect().await
}
