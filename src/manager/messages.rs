//! The messages that a manager handles, each with the method that answers it.

use actix::{Handler, MessageResult, ResponseActFuture, ResponseFuture};

#[cfg(feature = "actix-web")]
use crate::request::queries::IsLocal;
use crate::{
    core::InvalidValue,
    lease::{Lease, LeaseSet, Release, ReleaseError, Released},
    manager::{
        LockManager,
        trace::{BeginTrace, EndTrace},
    },
    request::{
        AcquireAll, AcquireError, Drained, Inspect, InspectError, IsHeld, Leases, List, Ready, Request,
        Revoke, RevokeError, Revoked, SetTuning, Shutdown, Stats, Tuning,
        queries::UseRegister,
        tuning::{AskLoad, Load, Sample},
    },
    runtime::responder::DeferredReply,
    store::{Inspection, Listing, Register, StoreError},
};

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
    Release => release_for -> DeferredReply<Result<Released, ReleaseError>>;
    Revoke => revoke -> ResponseFuture<Result<Revoked, RevokeError>>;
    Inspect => inspect -> DeferredReply<Result<Inspection, InspectError>>;
    IsHeld => is_held -> DeferredReply<Result<bool, InspectError>>;
    List => list -> DeferredReply<Result<Listing, InspectError>>;
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
}
