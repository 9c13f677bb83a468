//! The end of a manager: no new requests, time to finish, then everything is released.

use std::{cell::Cell, rc::Rc, sync::Arc};

use actix::{ActorContext, ActorFutureExt, Context, Handler, ResponseActFuture, WrapFuture};
use futures_util::future::join_all;
use tokio::sync::Notify;

use crate::{
    actor::{AcquireError, Drained, LockManager, Shutdown, ask::ask, state::LeaseState, stats::RequestEnd},
    protocol::LossReason,
    store::Store,
};

/// How far the shutdown of a manager has come.
pub(crate) struct Progress {
    begun: bool,
    all_over: Rc<Notify>,
    done: Rc<Cell<bool>>,
}

impl Progress {
    /// Running; `done` becomes true when the manager is to stop for good.
    pub(crate) fn new(done: Rc<Cell<bool>>) -> Self {
        Self { begun: false, all_over: Rc::default(), done }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// No lease is held any more.
    pub(crate) fn all_over(&self) {
        self.all_over.notify_one();
    }
}

impl Handler<Shutdown> for LockManager {
    type Result = ResponseActFuture<Self, Drained>;

    fn handle(&mut self, shutdown: Shutdown, _: &mut Context<Self>) -> Self::Result {
        self.shutdown.begun = true;
        for token in self.waiters.tokens() {
            self.refuse(token, RequestEnd::Failed("shutting_down"), AcquireError::ShuttingDown);
        }
        let held = self.leases.len();
        tracing::info!(held, drain = ?shutdown.drain, "shutting down");
        let all_over = Rc::clone(&self.shutdown.all_over);
        let drained = async move {
            if held > 0 {
                // Over the deadline: what is still held is taken away below.
                let _ = tokio::time::timeout(shutdown.drain, all_over.notified()).await;
            }
        };
        let revoked = drained.into_actor(self).then(|(), this, _| {
            let left: Vec<_> = this.leases.drain().map(|(_, lease)| lease).collect();
            revoke(Arc::clone(&this.store), left).into_actor(this)
        });
        Box::pin(revoked.map(move |(revoked, unconfirmed), this, ctx| {
            this.shutdown.done.set(true);
            ctx.stop();
            tracing::info!(revoked, unconfirmed, "shut down");
            Drained { finished: held.saturating_sub(revoked), revoked, unconfirmed }
        }))
    }
}

/// Takes leases away: first their holders are told, then the store releases them, all at once.
async fn revoke(store: Arc<dyn Store>, leases: Vec<Arc<LeaseState>>) -> (usize, usize) {
    let revoked: Vec<_> = leases.into_iter().filter(|lease| lease.lose(LossReason::ShutDown)).collect();
    let releases = revoked.iter().map(|lease| ask("release", store.release(&lease.hold, lease.closed_for())));
    let answers = join_all(releases).await;
    (revoked.len(), answers.iter().filter(|answer| answer.is_err()).count())
}
