//! Handlers of the keeper: its start, and the messages to it.

use actix::{Actor, Context, Handler};

use super::keeper::{Drain, Join, Keeper, Stage};
use crate::{
    leading::election::SingletonContext,
    lease::{LeaseChange, LeaseEvent},
    runtime::reactor,
};

impl<A: Actor<Context = SingletonContext<A>>> Actor for Keeper<A> {
    type Context = Context<Self>;

    /// Joins, unless it only looks on, or the program is ending already.
    fn started(&mut self, ctx: &mut Self::Context) {
        if reactor::is_missing() {
            return;
        }
        if self.candidacy.stands {
            self.join(ctx);
        }
        self.look(ctx);
    }
}

impl<A: Actor<Context = SingletonContext<A>>> Handler<Drain> for Keeper<A> {
    type Result = ();

    fn handle(&mut self, Drain(drained): Drain, ctx: &mut Self::Context) {
        self.draining.push(drained);
        self.drain(ctx);
    }
}

impl<A: Actor<Context = SingletonContext<A>>> Handler<Join> for Keeper<A> {
    type Result = ();

    fn handle(&mut self, _: Join, ctx: &mut Self::Context) {
        if matches!(self.stage, Stage::Out | Stage::Leaving { .. }) {
            self.draining.clear();
            self.join(ctx);
        }
    }
}

impl<A: Actor<Context = SingletonContext<A>>> Handler<LeaseEvent> for Keeper<A> {
    type Result = ();

    /// Only a shutdown has to be heard here: the membership watches its leases.
    fn handle(&mut self, event: LeaseEvent, ctx: &mut Self::Context) {
        if event.change == LeaseChange::ShuttingDown {
            self.end(ctx);
        }
    }
}
