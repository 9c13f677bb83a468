//! The renewer: one small actor for each lease, from its first renewal on, which sends the manager timed `Renew` messages.
//!
//! Most leases are released before their first renewal, and never have one. The messages are sent at ticks, so that the manager
//! finds those of many leases in one turn, and they travel to the store in one batch. Nobody answers them: a renewal that is
//! confirmed changes the lease, and the renewer is told of one that was missed. It holds nothing that must survive it: all that it
//! knows is in the [`LeaseShared`]. When it dies, it is restarted and goes on from that state.

use std::{rc::Rc, sync::Arc, time::Duration};

use actix::{
    Actor, ActorContext, AsyncContext, Context, Handler, Message, SpawnHandle, Supervised, WeakAddr,
};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    core::{Doubling, jitter},
    lease::{LeaseShared, ManagerLink, Renew},
    listeners::{About, LockEvent},
    runtime::{
        env::{Draw, Random},
        reactor,
        supervisor::{Death, supervise},
    },
};

/// The minimum time between two attempts to renew a lease, however little is left of it.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// The parts that all renewers of a manager share.
pub(crate) struct Renewers {
    pub(crate) manager: Arc<ManagerLink>,
    pub(crate) random: Arc<dyn Random>,
    /// The pauses before a renewer that died is restarted.
    pub(crate) pauses: Doubling,
}

pub(crate) struct RenewerHandle {
    // A whole address would take 140 bytes.
    address: WeakAddr<Renewer>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Missed;

/// The actor that sends `Renew` for one lease until the lease is over.
struct Renewer {
    lease: Arc<LeaseShared>,
    all: Rc<Renewers>,
    interval: Duration,
    /// The timer that counts. Those before it do nothing.
    timer: SpawnHandle,
    /// The jitter of the pause if the last renewal is missed.
    jitter: f64,
}

impl RenewerHandle {
    /// Has the lease renewed again soon: a renewal was missed.
    pub(crate) fn missed(&self) {
        if let Some(renewer) = self.address.upgrade() {
            renewer.do_send(Missed);
        }
    }
}

impl Renewers {
    /// Starts the renewer of a lease, and restarts it when it dies. `None` if the lease is not renewed by itself.
    pub(crate) fn start(self: &Rc<Self>, lease: &Arc<LeaseShared>) -> Option<RenewerHandle> {
        let interval = lease.terms.plan.interval?;
        let (lease, all, timer) = (Arc::clone(lease), Rc::clone(self), SpawnHandle::default());
        let (state, ends_with) = (Arc::clone(&lease), Arc::clone(&lease));
        let renewer = Renewer { lease, all, interval, timer, jitter: 0.0 };
        let (all, mut deaths, mut renewals_at_death) = (Rc::clone(self), 0_u32, 0);
        let died = move |death: Death| {
            let made = {
                let renewals = &mut state.present().renewals;
                // If it cannot be kept alive, that will be the reason of the loss.
                renewals.renewer_died();
                renewals.made()
            };
            if made > renewals_at_death {
                deaths = 0;
            }
            renewals_at_death = made;
            state.listeners.tell(About::default(), LockEvent::RenewerRestarted);
            let most = (state.remaining() / 4).max(all.pauses.first());
            let pause = jitter(all.pauses.after(deaths).min(most), all.random.draw(Draw::Restart));
            deaths = deaths.saturating_add(1);
            tracing::warn!(
                resource = %state.hold().resource, token = %state.hold().token.prefix(), ?death, ?pause,
                "the renewer died; starting it again"
            );
            pause
        };
        let context = Context::new();
        let address = context.address().downgrade();
        let is_done = move || ends_with.is_over() || planted!("a renewer that died is not started again");
        let life = supervise(Box::new(context.into_future(renewer)), is_done, died);
        Some(RenewerHandle { address, _task: AbortOnDropHandle::new(actix_rt::spawn(life)) })
    }
}

impl Renewer {
    fn wait(&mut self, pause: Duration, ctx: &mut Context<Self>) {
        self.timer = ctx.run_later(pause, Self::renew);
    }

    /// Sends the message, unless the lease has been renewed meanwhile: by its holder, or together with its set.
    fn renew(&mut self, ctx: &mut Context<Self>) {
        if ctx.handle() != self.timer {
            return;
        }
        self.jitter = self.all.random.draw(Draw::Renewal);
        if self.lease.is_over() {
            return ctx.stop();
        }
        let now = self.lease.clock.now();
        let due = self.lease.renewal_due(now).unwrap_or_default();
        if !due.is_zero() {
            // When the answer to one on its way has come, the next one counts from then.
            self.wait(due.min(self.interval), ctx);
        } else if self.lease.may_renew() {
            self.all.manager.renew.do_send(Renew { due: Some(now), ..Renew::of(&self.lease) });
            let next = self.lease.renewal_after(now).unwrap_or(now);
            self.wait(next.remaining(now), ctx);
        } else {
            self.wait_to_retry(ctx);
        }
    }

    fn wait_to_retry(&mut self, ctx: &mut Context<Self>) {
        let misses = self.lease.present().missed_in_a_row.saturating_sub(1);
        let pause = after_misses(misses, self.interval, self.lease.remaining());
        self.wait(jitter(pause, self.jitter), ctx);
    }
}

impl Actor for Renewer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if !reactor::is_missing() {
            let due = self.lease.renewal_due(self.lease.clock.now()).unwrap_or_default();
            // The answer to a renewal that its holder made may be on its way.
            self.wait(due.min(self.interval), ctx);
        }
    }
}

impl Supervised for Renewer {}

impl Handler<Missed> for Renewer {
    type Result = ();

    fn handle(&mut self, _: Missed, ctx: &mut Self::Context) {
        // Otherwise an outage would gather them.
        ctx.cancel_future(self.timer);
        self.wait_to_retry(ctx);
    }
}

/// Returns the pause after a miss that follows so many others: short at first, then longer, always within what is left of the lease.
fn after_misses(misses: u32, interval: Duration, left: Duration) -> Duration {
    let growing = Doubling::new((interval / 16).max(SHORTEST_PAUSE), interval);
    growing.after(misses).min(left / 4).max(SHORTEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_after_misses_double_within_the_interval_and_within_what_is_left() {
        let pause = |missed, left| after_misses(missed, secs(16), secs(left));
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 100].map(|missed| pause(missed, 1_000).as_secs()),
            [1, 2, 4, 8, 16, 16, 16]
        );
        assert_eq!(pause(4, 8), secs(2));
        assert_eq!(pause(4, 0), SHORTEST_PAUSE);
        assert_eq!(after_misses(0, SHORTEST_PAUSE, secs(1)), SHORTEST_PAUSE);
    }

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }
}
