//! The renewer: one small actor for each lease, from its first renewal on, which sends the manager timed `Renew` messages.
//!
//! Most leases are released before their first renewal, and never have one. The messages are sent at ticks, so that the manager
//! finds those of many leases in one turn, and they travel to the store in one batch. A renewer holds nothing that must survive
//! it: all that it knows is in the [`LeaseShared`]. When it dies, it is restarted and goes on from that state. Its task ends
//! with its handle, which the record of the lease has.

use std::{rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, AsyncContext, Context, Supervised, WrapFuture};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

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

/// The parts that all renewers of a manager share.
pub(crate) struct Renewers {
    pub(crate) manager: Arc<ManagerLink>,
    pub(crate) random: Arc<dyn Random>,
    /// The pauses before a renewer that died is restarted.
    pub(crate) pauses: Doubling,
}

/// The actor that sends `Renew` for one lease until the lease is over.
struct Renewer {
    lease: Arc<LeaseShared>,
    all: Rc<Renewers>,
    interval: Duration,
}

impl Renewers {
    /// Starts the renewer of a lease, and restarts it when it dies. `None` if the lease is not renewed by itself.
    pub(crate) fn start(self: &Rc<Self>, lease: &Arc<LeaseShared>) -> Option<AbortOnDropHandle<()>> {
        let interval = lease.plan.interval?;
        let renewer = Renewer { lease: Arc::clone(lease), all: Rc::clone(self), interval };
        let (ends_with, state, all) = (Arc::clone(lease), Arc::clone(lease), Rc::clone(self));
        let (mut pauses, mut renewals_at_death) = (self.pauses, 0);
        let died = move |death: Death| {
            if state.renewals() > renewals_at_death {
                pauses.reset();
            }
            renewals_at_death = state.renewals();
            state.renewer_died();
            state.stats.renewer_restarted();
            let most = (state.remaining() / 4).max(pauses.first());
            let pause = jitter(pauses.next().min(most), all.random.draw(Draw::Restart));
            tracing::warn!(
                resource = %state.hold().resource, token = %state.hold().token.prefix(), ?death, ?pause,
                "the renewer died; starting it again"
            );
            pause
        };
        let context = Box::new(Context::new().into_future(renewer));
        let is_done = move || ends_with.is_over() || planted!("a renewer that died is not started again");
        let life = supervise(context, is_done, died);
        Some(AbortOnDropHandle::new(actix_rt::spawn(life)))
    }
}

impl Actor for Renewer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if reactor::is_missing() {
            return;
        }
        // One future for its whole life: a timer for each renewal, and a future for each answer, would cost more than all
        // else. When it ends, the actor has nothing to do, and stops.
        let renewals = renew_until_over(Arc::clone(&self.lease), Rc::clone(&self.all), self.interval);
        ctx.spawn(renewals.into_actor(self));
    }
}

impl Supervised for Renewer {}

/// Sends the message whenever the renewal is due, and again after a miss.
async fn renew_until_over(lease: Arc<LeaseShared>, all: Rc<Renewers>, interval: Duration) {
    let (mut pause, mut missed_in_a_row) = (until_due(&lease), 0);
    loop {
        sleep(pause).await;
        // Drawn before the message is sent: a draw that panics leaves no answer behind that nobody waits for.
        let draw = all.random.draw(Draw::Renewal);
        if lease.is_over() {
            return;
        }
        // It is not, if its holder has renewed it meanwhile, or it was renewed together with its set.
        if until_due(&lease).is_zero() {
            let permitted = lease.may_renew();
            let answer = if permitted { Some(all.manager.renew.send(Renew::of(&lease)).await) } else { None };
            match answer {
                Some(Ok(Ok(_))) => missed_in_a_row = 0,
                Some(Ok(Err(RenewError::Lost { .. } | RenewError::NotFound))) => return,
                // It may be permitted later. Or the store did not confirm it, or the manager was being restarted.
                None | Some(Ok(Err(RenewError::Store(_))) | Err(_)) => {
                    pause = jitter(after_misses(missed_in_a_row, interval, lease.remaining()), draw);
                    missed_in_a_row += 1;
                    continue;
                }
            }
        }
        pause = until_due(&lease);
    }
}

fn until_due(lease: &LeaseShared) -> Duration {
    lease.renewal_due(lease.clock.now()).unwrap_or_default()
}

/// Returns the pause after one more miss: short at first, then longer, always within what is left of the lease.
fn after_misses(missed_in_a_row: u32, interval: Duration, left: Duration) -> Duration {
    let first = (interval / 16).max(SHORTEST_PAUSE);
    let grown = first.saturating_mul(1 << missed_in_a_row.min(8));
    grown.min(interval).min(left / 4).max(SHORTEST_PAUSE)
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
