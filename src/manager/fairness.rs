//! The turns of the manager's thread: after so many messages everything else on it comes first.

use std::{future::poll_fn, task::Poll};

use actix::{ActorFutureExt, AsyncContext, Context, StreamHandler, WrapFuture};
use futures_util::StreamExt;

use super::LockManager;

/// The number of messages after which the other tasks of the thread have a turn: as many as a batch has operations.
const AT_ONCE: usize = 256;

impl LockManager {
    /// Counts a message, and lets the connections, the timers and what has happened come first after [`AT_ONCE`] of them.
    ///
    /// actix handles messages as long as there are any. Callers who are refused at once, and ask again at once, would keep
    /// the thread from all else: no answer of the store is read, and leases are lost.
    pub(super) fn count_message(&mut self, ctx: &mut Context<Self>) {
        self.messages = (self.messages + 1) % AT_ONCE;
        if self.messages > 0 || planted!("a flood of messages has the thread alone") {
            return;
        }
        // A task of its own: a message would wake the actor, and end the pause, before the connections are polled.
        let pause = actix::spawn(tokio::task::yield_now());
        let mut sources = self.sources.clone();
        let others_come_first = async move {
            // The task neither panics nor is cancelled while the thread runs.
            let _ended = pause.await;
            poll_fn(|cx| Poll::Ready(sources.poll_next_unpin(cx))).await
        };
        // After the pause actix goes on with the messages, and not with the streams of the actor.
        ctx.wait(others_come_first.into_actor(self).map(|polled, this, ctx| {
            if let Poll::Ready(Some(happened)) = polled {
                StreamHandler::handle(this, happened, ctx);
            }
        }));
    }
}
