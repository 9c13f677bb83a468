//! Who owns what: the manager, its waiters, the renewer of each lease, and the handle that a caller holds.
//!
//! # Layout
//! Read in this order: [`Request`] (what is asked), `plan` (the same, checked), [`LockManager`] with `waiters`, `waiting` (the
//! shell around the decisions about waiting), `attempts` and `answers`, `cohorts` and `local` (waiters behind a leader), `lane`
//! and `lanes` (how verbs travel),
//! `state` and `opening` (what a lease is, and what opens after it), `leases`, `timers`, `renewer` and `supervisor`
//! (what keeps it), [`Lease`] (what the caller holds), `verbs` (release, renew, questions), `give_back` (after an
//! unknown outcome), `shutdown`; `sets` and [`LeaseSet`] (several resources at once); `outage` (what the log says).

mod again;
mod answers;
mod ask;
mod attempts;
mod builder;
mod cohorts;
mod errors;
mod event;
mod give_back;
mod grant;
mod lane;
mod lanes;
mod lease;
mod lease_set;
mod leases;
mod local;
mod manager;
mod messages;
mod one_by_one;
mod opening;
mod outage;
mod plan;
mod renewer;
mod reply;
mod request;
mod sets;
mod settings;
mod shutdown;
mod state;
mod stats;
mod supervisor;
mod timers;
mod verbs;
mod waiters;
mod waiting;
mod wakes;

pub use self::{
    builder::LockManagerBuilder,
    errors::{
        AcquireError, InspectError, LeaseLost, ReleaseError, ReleaseSetError, RenewError, SetLost, StartError,
    },
    event::{LeaseChange, LeaseEvent},
    lease::Lease,
    lease_set::LeaseSet,
    manager::LockManager,
    messages::{
        Drained, ForceRelease, Inspect, IsHeld, List, Release, Released, Renew, SetBackoff, Shutdown, Stats,
    },
    reply::Later,
    request::{Acquire, AcquireAll, ReadLock, Request, WriteLock, kind},
    settings::{SHORTEST_TTL, Settings},
    stats::{Distribution, Statistics},
};
