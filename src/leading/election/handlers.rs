//! Handlers of an election: its start, its timers, and the messages to it.

use std::{fmt, time::Duration};

use actix::{Actor, AsyncContext, Context, Handler, ResponseFuture};
use tokio::sync::oneshot;

use super::{
    Campaign, Demotion, Election, Leader, Resign, Unwell,
    lead::{Leading, leader},
    messages::Leave,
};
use crate::{
    lease::{LeaseChange, LeaseEvent},
    runtime::reactor,
};

/// The interval between two looks at who is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Actor for Election {
    type Context = Context<Self>;

    /// Begins the candidacy, unless the program is ending already.
    fn started(&mut self, ctx: &mut Self::Context) {
        if reactor::is_missing() {
            return;
        }
        if !self.candidacy.is_kept {
            ctx.run_interval(LOOK_EVERY, Self::look_at_audience);
        }
        if self.looking.audience.is_there() {
            self.look(ctx);
            ctx.run_interval(self.candidacy.look_every, Self::look);
        }
        self.stand(ctx);
    }
}

impl Election {
    fn look_at_audience(&mut self, ctx: &mut Context<Self>) {
        let does_nothing = self.is_idle() && !self.candidacy.stands;
        if !self.locks.connected() {
            // A candidate that waits for something hears of the same by that.
            if self.is_idle() {
                self.end("the lock manager has gone", ctx);
            }
        } else if self.candidacy.is_in_vain() {
            self.leave(ctx);
        } else if does_nothing && !ctx.connected() && !self.looking.audience.is_there() {
            self.end("nobody hears of it, or can tell it to stand", ctx);
        }
    }
}

impl Handler<Campaign> for Election {
    type Result = ();

    fn handle(&mut self, _: Campaign, ctx: &mut Self::Context) {
        self.candidacy.stands = true;
        self.stand(ctx);
    }
}

impl Handler<Resign> for Election {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Resign, ctx: &mut Self::Context) -> Self::Result {
        self.resign(ctx);
        if self.is_idle() {
            return Box::pin(async {});
        }
        let (resigned, answer) = oneshot::channel();
        self.resigning.push(resigned);
        // Without an answer the election has ended, and with it the lead.
        Box::pin(async { answer.await.unwrap_or_default() })
    }
}

impl Handler<Leave> for Election {
    type Result = ();

    fn handle(&mut self, Leave(left): Leave, ctx: &mut Self::Context) {
        self.resigning.push(left);
        self.closing = true;
        self.resign(ctx);
        if self.is_idle() {
            self.end("its work was stopped", ctx);
        }
    }
}

impl Handler<Unwell> for Election {
    type Result = ();

    fn handle(&mut self, _: Unwell, ctx: &mut Context<Self>) {
        self.step_down(Demotion::Unwell, ctx);
    }
}

impl Handler<Leader> for Election {
    type Result = ResponseFuture<Leading>;

    fn handle(&mut self, _: Leader, _: &mut Self::Context) -> Self::Result {
        Box::pin(leader(&self.locks, &self.name))
    }
}

impl Handler<LeaseEvent> for Election {
    type Result = ();

    /// Only a shutdown has to be heard here: the term watches its lease.
    fn handle(&mut self, event: LeaseEvent, ctx: &mut Self::Context) {
        if event.change == LeaseChange::ShuttingDown {
            (self.closing, self.candidacy.stands) = (true, false);
            self.step_down(Demotion::ShuttingDown, ctx);
        }
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("name", &self.name)
            .field("stands", &self.candidacy.stands)
            .field("leads", &self.lease().is_some())
            .field("term", &self.term)
            .finish_non_exhaustive()
    }
}
