//! The messages that a manager handles, each with the method that answers it; after so many of them all else comes first.

use std::{future::poll_fn, task::Poll};

use actix::{
    ActorFutureExt, AsyncContext, Context, Handler, MessageResult, ResponseActFuture, ResponseFuture,
    StreamHandler, WrapFuture,
};
use futures_util::StreamExt;

#[cfg(feature = "actix-web")]
use crate::request::queries::{AskCounts, IsLocal};
use crate::{
    core::{InvalidValue, LossReason, Moment},
    lease::{HandOver, Lease, LeaseSet, Release, ReleaseError, Released},
    listeners::trace::{BeginTrace, EndTrace},
    manager::LockManager,
    request::{
        AcquireAll, AcquireError, Adopt, AdoptError, Adopted, AskLoad, Drained, Inspect, InspectError,
        IsHeld, Leases, List, Load, Ready, Request, Revoke, RevokeError, Revoked, Sample, SetCapacity,
        SetTuning, Shutdown, Stats, Tuning, UseRegister,
    },
    runtime::responder::DeferredReply,
    store::{Inspection, Listing, Register, StoreError},
};

/// The number of messages after which the other tasks of the thread have a turn: as many as a batch has operations.
const AT_ONCE: usize = 256;

/// Handles each message by the method behind it, and counts it.
macro_rules! handle {
    ($($(#[$built:meta])? $message:ty => $answer:ident $(<$kind:ident>)? -> $reply:ty;)+) => {$(
        $(#[$built])?
        impl $(<$kind: 'static>)? Handler<$message> for LockManager {
            type Result = $reply;

            fn handle(&mut self, message: $message, ctx: &mut Self::Context) -> $reply {
                self.count_message(ctx);
                self.$answer(message)
            }
        }
    )+};
}

handle! {
    Request<Kind> => acquire<Kind> -> DeferredReply<Result<Lease, AcquireError>>;
    AcquireAll => acquire_all -> DeferredReply<Result<LeaseSet, AcquireError>>;
    Adopt => adopt -> DeferredReply<Result<Lease, AdoptError>>;
    Adopted => adopted -> Result<Lease, AdoptError>;
    HandOver => hand_over -> Result<Moment, LossReason>;
    Release => release_for -> DeferredReply<Result<Released, ReleaseError>>;
    Revoke => revoke -> ResponseFuture<Result<Revoked, RevokeError>>;
    Inspect => inspect -> DeferredReply<Result<Inspection, InspectError>>;
    IsHeld => is_held -> DeferredReply<Result<bool, InspectError>>;
    List => list -> DeferredReply<Result<Listing, InspectError>>;
    SetCapacity => set_capacity -> DeferredReply<Result<(), InspectError>>;
    UseRegister => use_register -> DeferredReply<Result<Register, StoreError>>;
    Leases => leases -> MessageResult<Leases>;
    Stats => statistics -> MessageResult<Stats>;
    Ready => ready -> ResponseFuture<Result<(), AcquireError>>;
    SetTuning => set_tuning -> Result<Tuning, InvalidValue>;
    Sample => sample -> MessageResult<Sample>;
    AskLoad => ask_load -> ResponseFuture<Load>;
    BeginTrace => begin_trace -> ();
    EndTrace => end_trace -> ();
    Shutdown => shut_down -> ResponseActFuture<Self, Drained>;
    #[cfg(feature = "actix-web")]
    IsLocal => is_local -> bool;
    #[cfg(feature = "actix-web")]
    AskCounts => counts -> MessageResult<AskCounts>;
}

impl LockManager {
    /// Counts a message, and lets the connections, the timers and what has happened come first after [`AT_ONCE`] of them.
    ///
    /// actix handles messages as long as there are any. Callers who are refused at once, and ask again at once, would keep
    /// the thread from all else: no answer of the store is read, and leases are lost.
    pub(super) fn count_message(&mut self, ctx: &mut Context<Self>) {
        self.turn.messages = (self.turn.messages + 1) % AT_ONCE;
        if self.turn.messages > 0 || planted!("a flood of messages has the thread alone") {
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
