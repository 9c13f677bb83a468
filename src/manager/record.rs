//! The record of one acquisition, from its request until its release is certain.

use std::sync::Arc;

use futures_util::future::AbortHandle;

use crate::{
    core::{LeaseStatus, Mode, Wanted},
    lease::{Lease, LeaseShared, LifeSign, ReleaseError, Released, RenewerHandle},
    listeners::Unconfirmed,
    manager::InFlight,
    request::{AcquireError, ValidRequest},
    runtime::{
        batcher::{Number, Weight},
        responder::Responder,
        timer_queue::Timer,
    },
    store::{self, Durability, Grant, Hold, Refusal, StoreError},
};

/// The part of an acquisition that the engine does not decide about.
pub(crate) struct Record {
    pub(crate) hold: Hold,
    pub(crate) timer: Option<Timer>,
    pub(crate) role: Role,
}

/// The counterpart of an acquisition: who waits for it, holds it, or releases it.
pub(crate) enum Role {
    Waiting(Box<WaitingRequest>),
    Holding(Holding),
    /// A release that is not certain yet.
    Releasing {
        cause: Cause,
        _in_flight: InFlight,
    },
}

pub(crate) struct WaitingRequest {
    pub(crate) request: ValidRequest,
    pub(crate) reply: Responder<Result<Lease, AcquireError>>,
    /// The result of the last attempt.
    pub(crate) answer: Option<Result<Refusal, StoreError>>,
    /// The grant that it becomes a lease of, and how durable it is.
    pub(crate) grant: Option<(Grant, Durability)>,
    /// The error that it ends with, if it ends.
    pub(crate) failure: Option<AcquireError>,
    /// True if an attempt was taken back before it was sent.
    pub(crate) unsent: bool,
    /// True if it was told that its hold is over, before it knew that it has one.
    pub(crate) taken: bool,
    pub(crate) watch: Option<AbortHandle>,
    /// The last attempt that waited to be sent. It may have been sent since.
    pub(crate) attempt: Option<Number>,
    /// Keeps a shutdown waiting until the last answer has been handled.
    pub(crate) _in_flight: InFlight,
}

pub(crate) struct Holding {
    pub(crate) lease: Arc<LeaseShared>,
    pub(crate) bound_to: Option<LifeSign>,
    /// Its renewer, from its first renewal on.
    pub(crate) renewer: Option<RenewerHandle>,
}

/// The cause of a release, until its first answer has been told.
pub(crate) enum Cause {
    /// The end of a lease.
    Lease {
        lease: Arc<LeaseShared>,
        /// The status of the lease before.
        before: LeaseStatus,
        unconfirmed: Option<Unconfirmed>,
        reply: Responder<Result<Released, ReleaseError>>,
    },
    /// A token that this manager does not know.
    Token { reply: Responder<Result<Released, ReleaseError>> },
    /// A token that may hold or wait in the store, and that nobody wants any more. After the release of a lease without a
    /// certain answer, with what is to be confirmed.
    Reclaim(Option<Unconfirmed>),
}

impl Record {
    pub(crate) const fn new(hold: Hold, role: Role) -> Self {
        Self { hold, timer: None, role }
    }

    pub(crate) fn waiter(&mut self) -> Option<&mut WaitingRequest> {
        if let Role::Waiting(waiter) = &mut self.role { Some(waiter) } else { None }
    }

    pub(crate) fn holding(&mut self) -> Option<&mut Holding> {
        if let Role::Holding(holding) = &mut self.role { Some(holding) } else { None }
    }

    pub(crate) fn lease(&self) -> Option<&Arc<LeaseShared>> {
        if let Role::Holding(holding) = &self.role { Some(&holding.lease) } else { None }
    }

    /// Returns the weight of its release. The store releases leases of plain exclusive locks together. A waiter may have to be
    /// taken out of a queue, and of others nothing is known.
    pub(crate) fn weight_of_release(&self) -> Weight {
        match &self.role {
            Role::Releasing { cause: Cause::Lease { lease, .. }, .. } => weight(&lease.terms.acquisition),
            _ => Weight::HEAVY,
        }
    }
}

/// Returns the weight of an operation of this acquisition.
pub(crate) fn weight(acquisition: &store::Acquisition) -> Weight {
    if acquisition.is_simple() { Weight::LIGHT } else { Weight::HEAVY }
}

/// Returns true if the release of this hold frees all of the resource, so that it can be handed off.
pub(crate) fn is_alone(acquisition: &store::Acquisition) -> bool {
    acquisition.mode == Mode::Exclusive && acquisition.hold.owner.is_none()
}

/// Returns what the engine has to know of this.
pub(crate) fn wanted(acquisition: &store::Acquisition, give_up_early: bool) -> Wanted {
    let Hold { resource, token, .. } = &acquisition.hold;
    Wanted { resource: resource.clone(), token: token.prefix(), mode: acquisition.mode, give_up_early }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}
