//! The actors and what each owns: the manager, its waiters, the renewer of each lease, and the caller's handle.
//!
//! # Layout
//! Read in this order: [`Request`] (the request), `plan` (the same, validated), [`LockManager`] with `waiters`
//! (pending requests), `waiting` (the shell around the decisions about them), `attempts` and `answers`, `cohorts` and
//! `local` (requests that wait behind another one of this manager), `lane` and `lanes` (batches of operations for the
//! store), `state` and `opening` (the state of a lease, and the moment at which its resource opens afterwards), `leases`,
//! `timers`, `renewer` and `supervisor` (which keep a lease alive), [`Lease`] (the caller's handle), `verbs` (release, renew, queries), `give_back` (reclaim after an
//! unknown outcome), `shutdown`; `sets` and [`LeaseSet`] (several resources at once); `outage` (the log of outages).

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
