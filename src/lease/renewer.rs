//! The renewer: one small actor for each lease of which a renewal was missed.
//!
//! It sends the manager timed `Renew` messages until one is confirmed.
//!
//! Renewals that go well need none: those of a tick are one message of the lease monitor, which starts the renewer when one is
//! not confirmed. So a lease that is only kept has no actor, no task and no timer of its own. A renewer holds nothing that
//! must survive it. All that it knows is in the [`LeaseShared`]. When it dies, it is restarted and goes on from that state.

use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};

use actix::{
    Actor, ActorContext, ActorFutureExt, AsyncContext, Context, MailboxError, Supervised, WrapFuture,
};

use crate::{
    core::{Doubling, jitter},
    lease::{Renew, RenewError, messages::ManagerLink, shared::LeaseShared},
    runtime::{
        env::{Draw, Random},
        reactor,
        supervisor::{Death, supervise},
    },
};

/// The minimum time between two attempts to renew a lease, however little is left of it.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// The actor that sends `Renew` for one lease until that is confirmed, or the lease is over.
pub(crate) struct Renewer {
    lease: Arc<LeaseShared>,
    manager: Arc<ManagerLink>,
    random: Arc<dyn Random>,
    interval: Duration,
    missed_in_a_row: u32,
    rests: Rc<Cell<bool>>,
}

impl Renewer {
    /// Leaves the lease to the monitor again.
    fn rest(&self, ctx: &mut Context<Self>) {
        self.lease.leave_to_monitor();
        self.rests.set(true);
        ctx.stop();
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
            return self.rest(ctx);
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
            Ok(Ok(_)) => self.rest(ctx),
            Ok(Err(RenewError::Lost { .. } | RenewError::NotFound)) => ctx.stop(),
            // The store did not confirm it, or the manager was being restarted.
            Ok(Err(_)) | Err(_) => self.retry(ctx),
        }
    }
}

impl Actor for Renewer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if !reactor::is_missing() {
            self.retry(ctx);
        }
    }
}

impl Supervised for Renewer {}

/// Runs the renewer of a lease until it rests or the lease is over, and restarts it when it dies.
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
    let rests = Rc::new(Cell::new(false));
    let renewer = Renewer {
        lease: Arc::clone(&lease),
        manager,
        random,
        interval,
        missed_in_a_row: 0,
        rests: Rc::clone(&rests),
    };
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
    let is_done = move || rests.get() || lease.is_over();
    // Boxed: each future around it would have room for it twice, and blocks of that size are slow to allocate.
    let life = Box::pin(supervise(Box::new(context.into_future(renewer)), is_done, died));
    async move {
        let _address = address;
        life.await;
    }
}
