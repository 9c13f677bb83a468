//! The audience of an election: one whose recipients have all died does not lead, and one that nobody needs ends.

use std::{mem, time::Duration};

use actix::{AsyncContext, Context, Recipient};

use super::{Demotion, Election, ElectionEvent};
use crate::runtime::reactor;

/// The interval between two looks at who is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Returns true if one of these actors lives.
pub(super) fn is_heard(recipients: &[Recipient<ElectionEvent>]) -> bool {
    recipients.iter().any(Recipient::connected)
}

impl Election {
    /// Begins to stand, and to watch who is told. Where the program ends already there is nothing to begin.
    pub(super) fn begin(&mut self, ctx: &mut Context<Self>) {
        if reactor::is_missing() {
            return;
        }
        ctx.run_interval(LOOK_EVERY, Self::look_at_audience);
        self.start_looking(ctx);
        self.stand(ctx);
    }

    /// Returns true if there were recipients, and all of them have died.
    pub(super) fn is_deserted(&self) -> bool {
        let tells = &self.candidacy.tells;
        !tells.is_empty() && !is_heard(tells)
    }

    pub(super) fn tell(&self, event: &ElectionEvent) {
        self.candidacy.tells.iter().for_each(|to| to.do_send(event.clone()));
    }

    fn look_at_audience(&mut self, ctx: &mut Context<Self>) {
        let does_nothing = self.is_idle() && !self.stands;
        if !self.locks.connected() {
            // A candidate that waits for something hears of the same by that.
            if self.is_idle() {
                self.end("the lock manager has gone", ctx);
            }
        } else if self.is_deserted() {
            self.leave(ctx);
        } else if does_nothing && !ctx.connected() && !self.looking.is_wanted() {
            self.end("nobody hears of it, or can tell it to stand", ctx);
        }
    }

    /// Gives up the lead or the place in the queue, as nobody would work as the leader, and ends.
    pub(super) fn leave(&mut self, ctx: &mut Context<Self>) {
        if mem::take(&mut self.stands) {
            tracing::warn!(resource = %self.name, "all recipients of an election have died; standing no more");
        }
        self.withdraw(ctx);
        self.step_down(Demotion::Resigned, ctx);
        if self.is_idle() {
            self.end("all recipients have died", ctx);
        }
    }
}
