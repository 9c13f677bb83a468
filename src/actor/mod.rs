//! Who owns what: the manager, its waiters, the renewer of each lease, and the handle that a caller holds.
//!
//! # Layout
//! Read in this order: [`Request`] (what is asked), `plan` (the same, checked), [`LockManager`] with `attempts`
//! and `waiters` (who waits), `lane` and `lanes` (how verbs travel), `state` (what a lease is), `leases`, `renewer` and
//! `supervisor` (what keeps it), [`Lease`] (what the caller holds), `verbs` (release, renew, questions), `give_back` (after
//! an unknown outcome), `shutdown`.

mod ask;
mod attempts;
mod builder;
mod errors;
mod event;
mod give_back;
mod inbox;
mod lane;
mod lanes;
mod lease;
mod leases;
mod manager;
mod messages;
mod plan;
mod renewer;
mod reply;
mod request;
mod settings;
mod shutdown;
mod state;
mod stats;
mod supervisor;
mod verbs;
mod waiters;

pub use self::{
    builder::LockManagerBuilder,
    errors::{AcquireError, InspectError, LeaseLost, ReleaseError, RenewError, StartError},
    event::{LeaseChange, LeaseEvent},
    lease::Lease,
    manager::LockManager,
    messages::{
        Drained, ForceRelease, Inspect, IsHeld, List, Release, Released, Renew, SetBackoff, Shutdown, Stats,
    },
    reply::Later,
    request::{Acquire, ReadLock, Request, WriteLock, kind},
    settings::{SHORTEST_TTL, Settings},
    stats::{Distribution, Statistics},
};
