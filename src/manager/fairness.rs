//! The turns of the manager's thread: after so many messages everything else on it comes first.

use actix::{AsyncContext, Context, WrapFuture};

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
        if self.messages == 0 && !planted!("a flood of messages has the thread alone") {
            ctx.wait(tokio::task::yield_now().into_actor(self));
        }
    }
}
