//! The shutdown of a manager: no new requests, time to finish, then everything is released.

use std::{sync::Arc, time::Duration};

use actix::{ActorContext, ActorFutureExt, ResponseActFuture, WrapFuture};

use crate::{
    core::LossReason,
    lease::{LeaseChange, LeaseShared},
    manager::{LockManager, dispatch::ask::ask_each},
    request::{AcquireError, Drained, Shutdown},
    store::Store,
};

/// The time that the manager stays for operations in flight. A store that answers at all has answered by then.
const FAREWELL: Duration = Duration::from_secs(2);

impl LockManager {
    pub(super) fn shut_down(&mut self, shutdown: Shutdown) -> ResponseActFuture<Self, Drained> {
        let is_first = !self.shutdown.begun.send_replace(true);
        self.shutdown.running += 1;
        self.dismiss_all(&AcquireError::ShuttingDown);
        if is_first {
            self.records.leases().iter().for_each(|lease| lease.tell(LeaseChange::ShuttingDown));
        }
        let held = self.shutdown.held;
        tracing::info!(held, drain = ?shutdown.drain, "shutting down");
        self.shutdown.set_held(held);
        let mut left = self.shutdown.left.subscribe();
        let drained = async move {
            // Past the deadline: what is still held is revoked below.
            let _ = tokio::time::timeout(shutdown.drain, left.wait_for(|left| *left == 0)).await;
        };
        let revoked = drained.into_actor(self).then(|(), this, _| {
            let left = this.records.leases();
            for lease in &left {
                this.engine.forget(lease.record);
                this.records.remove(lease.record);
            }
            this.shutdown.set_held(0);
            let revoking = this.shutdown.in_flight();
            this.shutdown.in_flight.close();
            let in_flight = this.shutdown.in_flight.clone();
            let revoked = revoke(Arc::clone(&this.calls.store), left);
            let all = async move {
                let revoked = revoked.await;
                drop(revoking);
                // A reclaim after an unknown outcome may take a whole TTL, which nobody wants to wait for.
                let _ = tokio::time::timeout(FAREWELL, in_flight.wait()).await;
                revoked
            };
            all.into_actor(this)
        });
        Box::pin(revoked.map(move |(revoked, unconfirmed), this, ctx| {
            this.shutdown.running -= 1;
            if this.shutdown.running == 0 {
                this.shutdown.done.set(true);
                ctx.stop();
            }
            tracing::info!(revoked, unconfirmed, "shut down");
            Drained { finished: held.saturating_sub(revoked), revoked, unconfirmed }
        }))
    }
}

/// Revokes leases: first their holders are told, then the store releases them, all at once. Returns the number of
/// leases that were revoked, and of those whose release is unconfirmed.
async fn revoke(store: Arc<dyn Store>, leases: Vec<Arc<LeaseShared>>) -> (usize, usize) {
    let revoked: Vec<_> = leases.into_iter().filter(|lease| lease.lose(LossReason::ShutDown)).collect();
    let releases: Vec<_> =
        revoked.iter().map(|lease| (lease.hold(), lease.cooldown(lease.clock.now()))).collect();
    let answers = ask_each("release", releases.len(), || store.release_each(&releases)).await;
    (revoked.len(), answers.iter().filter(|answer| answer.is_err()).count())
}
