//! Keeps an actor alive: a panic, or a stop that nobody asked for, starts it again.
//!
//! [`actix::Supervisor`] does not survive a panic. This one polls the actor's context inside `catch_unwind` and
//! restarts it, so the mailbox, its queued messages and every `Addr` survive. A program built with `panic = "abort"`
//! has no supervision: there a panic ends the process, and leases end with their TTL.

use std::{any::Any, future::poll_fn, panic::AssertUnwindSafe, pin::Pin, time::Duration};

use actix::{Actor, Context, Supervised, dev::ContextFut};
use futures_util::FutureExt;

/// How an actor died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// It panicked, in a handler, a timer, or a future of its context.
    Panicked(String),
    /// It stopped unasked.
    Stopped,
}

/// Runs an actor until it stops after `is_done` has become true, and starts it again after every other death, at the
/// pause that `died` answers. The value of the actor survives; its timers and futures do not.
pub(crate) async fn supervise<A>(
    mut context: ContextFut<A, Context<A>>,
    is_done: impl Fn() -> bool,
    mut died: impl FnMut(Death) -> Duration,
) where
    A: Actor<Context = Context<A>> + Supervised,
{
    loop {
        let life = poll_fn(|cx| Pin::new(&mut context).poll(cx));
        // After a panic the actor's fields may be half changed; `Supervised::restarting` is where it repairs them.
        let death = match AssertUnwindSafe(life).catch_unwind().await {
            Ok(()) => Death::Stopped,
            Err(panic) => Death::Panicked(message_of(panic.as_ref())),
        };
        if is_done() {
            return;
        }
        tokio::time::sleep(died(death)).await;
        if is_done() || !restart(&mut context) {
            return;
        }
    }
}

/// Restarts the context; a panic in `restarting` counts as one more death, at the next poll.
fn restart<A>(context: &mut ContextFut<A, Context<A>>) -> bool
where
    A: Actor<Context = Context<A>> + Supervised,
{
    std::panic::catch_unwind(AssertUnwindSafe(|| context.restart())).unwrap_or(true)
}

/// What a panic said.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}

/// The pause before the next restart: doubled with each death in a row, up to a maximum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacing {
    first: Duration,
    longest: Duration,
    in_a_row: u32,
}

impl Pacing {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            in_a_row: 0,
        }
    }

    /// The actor has shown that it works.
    pub(crate) const fn well(&mut self) {
        self.in_a_row = 0;
    }

    /// The pause after one more death.
    pub(crate) fn next(&mut self) -> Duration {
        let doubled = self
            .first
            .saturating_mul(1_u32.checked_shl(self.in_a_row).unwrap_or(u32::MAX));
        self.in_a_row = self.in_a_row.saturating_add(1);
        doubled.min(self.longest)
    }
}
