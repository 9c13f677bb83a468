//! The life of one actor in one term: run until it ends, is stopped, or the lease is over.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
};

use actix::{Actor, ActorContext};
use tokio_util::sync::CancellationToken;

use super::context::SingletonContext;
use crate::{lease::Lease, runtime::supervisor::message_of};

#[derive(Debug)]
pub(super) enum LifeEnd {
    /// The lease is over. The actor was dropped, after `stopping` and `stopped`.
    Over,
    /// It stopped: by itself, or because it was told to.
    Stopped,
    Panicked(String),
}

/// Runs an actor. When `stop` is cancelled it is stopped as by `ctx.stop()`; it may go on (`Running::Continue`) and
/// stop by itself, as long as the lease is valid.
pub(super) async fn live<A: Actor<Context = SingletonContext<A>>>(
    lease: &Arc<Lease>,
    actor: A,
    stop: &CancellationToken,
) -> LifeEnd {
    let mut life = Box::new(SingletonContext::life(Arc::clone(lease), actor));
    // Without an address an actor stops when it has nothing to do.
    let _address = life.address();
    let (mut stop, mut asked) = (pin!(stop.cancelled()), false);
    let mut began = false;
    let mut lost = pin!(lease.lost());
    let end = poll_fn(|cx| {
        let over = lost.as_mut().poll(cx).is_ready() || !lease.is_valid();
        if over {
            return Poll::Ready(LifeEnd::Over);
        }
        if !asked && stop.as_mut().poll(cx).is_ready() {
            asked = true;
            life.ctx().stop();
        }
        began = true;
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut *life).poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => Poll::Ready(LifeEnd::Stopped),
            Err(panic) => Poll::Ready(LifeEnd::Panicked(message_of(panic.as_ref()))),
        }
    })
    .await;
    if !began || matches!(end, LifeEnd::Panicked(_)) {
        // A drop would begin it, or go on with an actor that is broken.
        life.ctx().terminate();
    }
    // A drop may call `stopping` and `stopped`, which may panic.
    match (catch_unwind(AssertUnwindSafe(|| drop(life))), end) {
        (Err(panic), LifeEnd::Over | LifeEnd::Stopped) => LifeEnd::Panicked(message_of(panic.as_ref())),
        // The first panic says more than one that follows from it.
        (_, end) => end,
    }
}
