//! The context of a singleton's actor, in which nothing happens after the validity of its lease.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
    time::Duration,
};

use actix::{
    Actor, ActorContext, ActorFuture, ActorState, ActorStreamExt, Addr, AsyncContext, Handler, Message,
    SpawnHandle,
    dev::{AsyncContextParts, ContextFut, ContextParts, Envelope, Mailbox, OneshotSender, ToEnvelope},
    utils::IntervalFunc,
};
use tokio::time::Instant;

use crate::lease::Lease;

/// The context of an actor that a [`Singleton`](super::Singleton) runs: an `actix::Context` with the lease of its term.
///
/// The clock is read before each message is handled, before each timer goes off, and before each future of the actor is
/// polled. When the validity of the lease is over, none of that happens any more, also if the actor had blocked its thread
/// until then. Only `stopping` and `stopped` are called then, if that was not known before: they are for cleaning up, and
/// look at `ctx.lease().is_valid()` before they write.
///
/// # Exceptions
/// The context can only hold back what it polls itself: what is given to `spawn`, `wait`, `run_later`, `run_interval`,
/// `add_stream`, `notify_later`, and what a handler returns as `ResponseActFuture` or `AtomicResponse`. **It does not poll a
/// `ResponseFuture`, nor what `actix::spawn` or `tokio::spawn` was given:** these are tasks of their own, and outlive the
/// actor. Their work belongs under the lease:
///
/// ```
/// # #![allow(dead_code)]
/// # use actix::prelude::*;
/// # use leasehold::{LeaseLostError, election::SingletonContext};
/// # use std::sync::Arc;
/// # struct Reports;
/// # impl Actor for Reports {
/// #     type Context = SingletonContext<Self>;
/// # }
/// # #[derive(Message)]
/// # #[rtype(result = "Result<(), LeaseLostError>")]
/// # struct Write;
/// # async fn write() {}
/// impl Handler<Write> for Reports {
///     type Result = ResponseFuture<Result<(), LeaseLostError>>;
///
///     fn handle(&mut self, _: Write, ctx: &mut Self::Context) -> Self::Result {
///         let lease = Arc::clone(ctx.lease());
///         Box::pin(async move { lease.run(write()).await }) // stopped when the lease is lost
///     }
/// }
/// ```
///
/// A combinator that runs a whole stream in one poll, such as `ActorStreamExt::finish`, is looked at once for each poll:
/// `run_interval` and `add_stream` look before each turn.
pub struct SingletonContext<A: Actor<Context = Self>> {
    parts: ContextParts<A>,
    lease: Arc<Lease>,
}

impl<A: Actor<Context = Self>> SingletonContext<A> {
    /// Returns the life of an actor in a context of its own. It must be polled, or terminated, while the lease is valid.
    pub(super) fn life(lease: Arc<Lease>, actor: A) -> ContextFut<A, Self> {
        let mailbox = Mailbox::default();
        let parts = ContextParts::new(mailbox.sender_producer());
        ContextFut::new(Self { parts, lease }, actor, mailbox)
    }

    /// Returns the lease of the term. The actor is stopped before its validity ends.
    pub const fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    /// Returns true if nothing may happen in this context any more.
    fn is_over(&self) -> bool {
        !self.lease.is_valid() && !planted!("a singleton goes on after the validity of its lease")
    }
}

impl<A: Actor<Context = Self>> ActorContext for SingletonContext<A> {
    fn stop(&mut self) {
        self.parts.stop();
    }

    fn terminate(&mut self) {
        self.parts.terminate();
    }

    fn state(&self) -> ActorState {
        self.parts.state()
    }
}

impl<A: Actor<Context = Self>> AsyncContext<A> for SingletonContext<A> {
    fn address(&self) -> Addr<A> {
        self.parts.address()
    }

    fn spawn<F: ActorFuture<A, Output = ()> + 'static>(&mut self, future: F) -> SpawnHandle {
        self.parts.spawn(WhileHeld(Box::pin(future)))
    }

    fn wait<F: ActorFuture<A, Output = ()> + 'static>(&mut self, future: F) {
        self.parts.wait(WhileHeld(Box::pin(future)));
    }

    /// A timer that is late makes up for it in one poll, so the clock is read before each turn.
    fn run_interval<F>(&mut self, interval: Duration, task: F) -> SpawnHandle
    where
        F: FnMut(&mut A, &mut Self) + 'static,
    {
        self.spawn(IntervalFunc::new(interval, while_held(task)).finish())
    }

    fn run_interval_at<F>(&mut self, start: Instant, interval: Duration, task: F) -> SpawnHandle
    where
        F: FnMut(&mut A, &mut Self) + 'static,
    {
        self.spawn(IntervalFunc::new_at(start, interval, while_held(task)).finish())
    }

    /// Asked before each message is taken out of the mailbox.
    fn waiting(&self) -> bool {
        self.parts.waiting() || self.is_over()
    }

    fn cancel_future(&mut self, handle: SpawnHandle) -> bool {
        self.parts.cancel_future(handle)
    }
}

impl<A: Actor<Context = Self>> AsyncContextParts<A> for SingletonContext<A> {
    fn parts(&mut self) -> &mut ContextParts<A> {
        &mut self.parts
    }
}

impl<A, M> ToEnvelope<A, M> for SingletonContext<A>
where
    A: Actor<Context = Self> + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn pack(message: M, answer: Option<OneshotSender<M::Result>>) -> Envelope<A> {
        Envelope::new(message, answer)
    }
}

/// Returns a task that does nothing when the lease is over.
fn while_held<A: Actor<Context = SingletonContext<A>>>(
    mut task: impl FnMut(&mut A, &mut SingletonContext<A>) + 'static,
) -> impl FnMut(&mut A, &mut SingletonContext<A>) + 'static {
    move |actor, ctx| {
        if !ctx.is_over() {
            task(actor, ctx);
        }
    }
}

/// A future of an actor that is polled only while the lease is valid.
struct WhileHeld<F>(Pin<Box<F>>);

impl<A, F> ActorFuture<A> for WhileHeld<F>
where
    A: Actor<Context = SingletonContext<A>>,
    F: ActorFuture<A, Output = ()>,
{
    type Output = ();

    fn poll(
        mut self: Pin<&mut Self>,
        actor: &mut A,
        ctx: &mut A::Context,
        task: &mut task::Context<'_>,
    ) -> Poll<()> {
        // Nobody has to be woken: the election ends the term when the lease is over, and the actor is dropped then.
        if ctx.is_over() { Poll::Pending } else { self.0.as_mut().poll(actor, ctx, task) }
    }
}

impl<A: Actor<Context = Self>> fmt::Debug for SingletonContext<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingletonContext")
            .field("state", &self.state())
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
