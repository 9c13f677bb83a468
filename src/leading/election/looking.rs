//! The look for other leaders: the store is asked who leads, and a change is told.

use std::{sync::Arc, time::Duration};

use actix::{
    ActorFutureExt, AsyncContext, Context, Handler, MailboxError, Recipient, ResponseFuture, WrapFuture,
};

use super::{Election, ElectionEvent, Leader, audience::is_heard};
use crate::{
    core::one_line,
    request::{Inspect, InspectError},
    store::{Holder, HolderState, Inspection, StoreError},
};

/// The other leaders, as far as they are known, and the recipients that are told of them.
pub(super) struct Looking {
    /// The pause between two looks.
    every: Duration,
    audience: Vec<Recipient<ElectionEvent>>,
    is_on_its_way: bool,
    /// The leader that was told last.
    told: Option<Holder>,
}

impl Looking {
    pub(super) const fn new(every: Duration, audience: Vec<Recipient<ElectionEvent>>) -> Self {
        Self { every, audience, is_on_its_way: false, told: None }
    }

    /// Returns true if somebody is there who is told.
    pub(super) fn is_wanted(&self) -> bool {
        is_heard(&self.audience)
    }

    /// Returns true if this is another leader than the one that was told last. An answer that is older than that is none.
    fn is_news(&self, leader: Option<&Holder>) -> bool {
        match (&self.told, leader) {
            (Some(told), Some(leader)) => told.token != leader.token && told.fence <= leader.fence,
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        }
    }
}

impl Election {
    pub(super) fn start_looking(&mut self, ctx: &mut Context<Self>) {
        if self.looking.is_wanted() {
            self.look(ctx);
            ctx.run_interval(self.looking.every, Self::look_again);
        }
    }

    /// Asks the store who leads, unless that is this candidate and was told.
    fn look_again(&mut self, ctx: &mut Context<Self>) {
        let told = self.looking.told.as_ref().map(|leader| leader.token);
        let leads = self.lease().map(|lease| lease.token().prefix());
        if leads.is_none() || leads != told {
            self.look(ctx);
        }
    }

    /// Asks the store who leads, unless it is being asked, or nobody wants to know.
    pub(super) fn look(&mut self, ctx: &mut Context<Self>) {
        if self.looking.is_on_its_way || !self.looking.is_wanted() {
            return;
        }
        self.looking.is_on_its_way = true;
        let answer = self.locks.send(Inspect::new(self.name.as_bytes()).limit(1)).into_actor(self);
        ctx.spawn(answer.map(|answer, this, _| {
            this.looking.is_on_its_way = false;
            match answer {
                Ok(Ok(inspection)) => this.seen(leader(inspection)),
                Ok(Err(error)) => {
                    tracing::debug!(resource = %this.name, error = one_line(&error), "could not see who leads");
                }
                // The end of the lock manager is seen by the look at the audience.
                Err(error) => tracing::debug!(resource = %this.name, %error, "could not see who leads"),
            }
        }));
    }

    fn seen(&mut self, leader: Option<Holder>) {
        if self.looking.is_news(leader.as_ref()) {
            self.looking.told.clone_from(&leader);
            let event = ElectionEvent::LeaderChanged { to: leader };
            self.looking.audience.iter().for_each(|to| to.do_send(event.clone()));
        }
    }
}

impl Handler<Leader> for Election {
    type Result = ResponseFuture<Result<Option<Holder>, InspectError>>;

    fn handle(&mut self, _: Leader, _: &mut Self::Context) -> Self::Result {
        let answer = self.locks.send(Inspect::new(self.name.as_bytes()).limit(1));
        Box::pin(async { Ok(leader(answer.await.map_err(no_answer)??)) })
    }
}

/// Returns the holder that leads. One that only keeps the resource closed does not.
fn leader(inspection: Inspection) -> Option<Holder> {
    inspection.holders.into_iter().find(|holder| holder.state == HolderState::Holding)
}

fn no_answer(error: MailboxError) -> InspectError {
    let doing = "leader: the lock manager gave no answer".to_owned();
    InspectError::Store(StoreError::ReplyLost { doing, source: Some(Arc::new(error)) })
}
