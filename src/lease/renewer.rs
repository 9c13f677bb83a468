//! The renewer: one small actor for each lease, which sends the manager timed `Renew` messages.
//!
//! It holds nothing that must survive it. All that it knows is in the [`LeaseShared`]. When it dies, it is restarted
//! and goes on from that state.

use std::{sync::Arc, time::Duration};

use actix::{
    Actor, ActorContext, ActorFutureExt, AsyncContext, Context, MailboxError, Supervised, WrapFuture,
};

use crate::{
    core::{Doubling, jitter},
    env::{Draw, Random},
    lease::{Renew, RenewError, messages::ManagerLink, shared::LeaseShared},
    runtime::supervisor::{Death, supervise},
};

/// The minimum time between two attempts to renew a lease, however little is left of it.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// The number of ticks in an interval. Leases are renewed at ticks: with 10 s, one every 39 ms.
const TICKS: u32 = 256;

/// The actor that sends `Renew` for one lease until the lease is over.
pub(crate) struct Renewer {
    lease: Arc<LeaseShared>,
    manager: Arc<ManagerLink>,
    random: Arc<dyn Random>,
    interval: Duration,
    missed_in_a_row: u32,
}

impl Renewer {
    /// Schedules the next renewal, counted from the moment at which the last confirmed request was sent.
    fn schedule(&mut self, ctx: &mut Context<Self>) {
        let mut pause = jitter(self.interval, self.random.draw(Draw::Renewal));
        if self.lease.set().first().is_some_and(|first| *first != self.lease.hold().token) {
            // The first of a set takes the others along. They check a little later whether it did.
            pause += self.interval / 8;
        }
        let now = self.lease.clock.now();
        // Renewals at the same tick travel together.
        let due = (self.lease.confirmed() + pause).on_tick(self.interval / TICKS);
        ctx.run_later(due.remaining(now), Self::renew);
    }

    fn since_confirmed(&self) -> Duration {
        self.lease.confirmed().elapsed(self.lease.clock.now())
    }

    /// Retries after a miss: soon, then less often, always within what is left of the lease.
    fn retry(&mut self, ctx: &mut Context<Self>) {
        let first = (self.interval / 16).max(SHORTEST_PAUSE);
        let grown = first.saturating_mul(1 << self.missed_in_a_row.min(8));
        let pause = grown.min(self.interval).min(self.lease.remaining() / 4).max(SHORTEST_PAUSE);
        self.missed_in_a_row += 1;
        ctx.run_later(jitter(pause, self.random.draw(Draw::Renewal)), Self::renew);
    }

    fn renew(&mut self, ctx: &mut Context<Self>) {
        if self.lease.is_over() {
            return ctx.stop();
        }
        if self.since_confirmed() < self.interval / 2 {
            return self.schedule(ctx);
        }
        if !self.lease.may_renew() {
            return self.retry(ctx);
        }
        let answer = self.manager.renew.send(Renew::of(&self.lease));
        ctx.spawn(answer.into_actor(self).map(|answer, this, ctx| this.answered(answer, ctx)));
    }

    fn answered(
        &mut self,
        answer: Result<Result<Duration, RenewError>, MailboxError>,
        ctx: &mut Context<Self>,
    ) {
        match answer {
            Ok(Ok(_)) => {
                self.missed_in_a_row = 0;
                self.schedule(ctx);
            }
            Ok(Err(RenewError::Lost { .. } | RenewError::NotFound)) => ctx.stop(),
            // The store did not confirm it, or the manager was being restarted.
            Ok(Err(_)) | Err(_) => self.retry(ctx),
        }
    }
}

impl Actor for Renewer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.schedule(ctx);
    }
}

impl Supervised for Renewer {}

/// Runs the renewer of a lease, and restarts it when it dies. The lease decides when it is over.
pub(crate) fn renewing(
    interval: Duration,
    lease: Arc<LeaseShared>,
    manager: Arc<ManagerLink>,
    random: Arc<dyn Random>,
    mut pauses: Doubling,
) -> impl Future<Output = ()> + use<> {
    let context = Context::new();
    // Without an address, the context would stop as soon as it has nothing to do.
    let address = context.address();
    let random_of_pauses = Arc::clone(&random);
    let state = Arc::clone(&lease);
    let renewer = Renewer { lease: Arc::clone(&lease), manager, random, interval, missed_in_a_row: 0 };
    let (mut renewals_at_death, shortest) = (0, pauses.first());
    let died = move |death: Death| {
        if state.renewals() > renewals_at_death {
            pauses.reset();
        }
        renewals_at_death = state.renewals();
        state.renewer_died();
        state.stats.renewer_restarted();
        let pause = jitter(
            pauses.next().min((state.remaining() / 4).max(shortest)),
            random_of_pauses.draw(Draw::Restart),
        );
        tracing::warn!(
            resource = %state.hold().resource, token = %state.hold().token.prefix(), ?death, ?pause,
            "the renewer died; starting it again"
        );
        pause
    };
    let life = supervise(Box::new(context.into_future(renewer)), move || lease.is_over(), died);
    async move {
        let _address = address;
        life.await;
    }
}
