//! The partitions that a process stands for: its share, and what it has not yet given to others.

use std::{rc::Rc, sync::Arc};

use actix::{Actor, ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::{sync::oneshot, time::Instant};

use super::{
    Member,
    keeper::{Keeper, Stage},
    share::{Share, Standing},
    shares::shares,
};
use crate::{
    leading::election::{Leave, Singleton, SingletonContext, elect},
    request::Inspect,
};

impl<A: Actor<Context = SingletonContext<A>>> Keeper<A> {
    /// Stands for what is its share, and gives to others what is theirs.
    pub(super) fn settle(&mut self, members: &[Member], ctx: &mut Context<Self>) {
        let own = members.iter().position(|member| member.name == self.member.name);
        let shares = match (&self.stage, own) {
            (Stage::In { agrees: true, .. }, Some(_)) => self.shares_of(members),
            (Stage::Leaving { .. }, _) => Rc::default(),
            _ => return,
        };
        let others = members.iter().any(|member| member.name != self.member.name);
        for partition in 0..self.partitions {
            let is_own = own.is_some() && shares.get(partition as usize).copied() == own;
            match self.standing.get_mut(&partition) {
                None if is_own => self.stand(partition),
                Some(standing) if is_own => standing.foreign_since = None,
                Some(standing) if !standing.leaves && !planted!("an owner keeps the share of another") => {
                    let since = *standing.foreign_since.get_or_insert_with(Instant::now);
                    self.give(partition, others.then_some(since), ctx);
                }
                _ => {}
            }
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

    fn stand(&mut self, partition: u32) {
        let (factory, places) = (Rc::clone(&self.factory), Arc::clone(&self.places));
        let candidacy = self.names.candidacy(partition, &self.member, &self.candidacy);
        let actor = Singleton::new(
            &candidacy,
            move || factory(partition),
            move |actor| places.lives(partition, actor),
        );
        let share = Share { partition, actor: Rc::new(actor), places: Arc::clone(&self.places) };
        match elect(&self.locks, candidacy, share) {
            Ok(election) => drop(
                self.standing.insert(partition, Standing { election, foreign_since: None, leaves: false }),
            ),
            Err(error) => {
                tracing::error!(resource = %self.names.members, partition, %error, "cannot stand for a partition")
            }
        }
    }

    /// Gives up a partition that is the share of another member `since` then, or that nobody else would have. What this process
    /// owns is kept until somebody waits for it: a member that is frozen has a share, and does not take it. One that has not
    /// come for it in a TTL, and is a member all the same, waits where the store does not see it.
    fn give(&mut self, partition: u32, since: Option<Instant>, ctx: &mut Context<Self>) {
        let (Some(lease), Some(since)) = (self.places.lease(partition), since) else {
            return self.leave(partition, ctx);
        };
        if since.elapsed() >= lease.ttl() || planted!("an owner gives up what nobody comes for") {
            return self.leave(partition, ctx);
        }
        let look = self.locks.send(Inspect::new(lease.resource().as_bytes()).limit(1));
        ctx.spawn(look.into_actor(self).map(move |answer, this, ctx| {
            let is_waited_for = matches!(answer, Ok(Ok(inspection)) if inspection.waiting > 0);
            let is_foreign =
                this.standing.get(&partition).is_some_and(|standing| standing.foreign_since.is_some());
            if is_waited_for && is_foreign {
                this.leave(partition, ctx);
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
