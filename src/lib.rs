//! A distributed lock manager that actix applications embed as actors, on Redis.
//!
#![cfg_attr(feature = "doctor", doc = include_str!("../README.md"))]
//!
//! # Layout
//! `core` makes the decisions, from the time and the random numbers that it is given; `env` supplies both. [`store`]
//! defines where locks live and what every store guarantees (all of it with the feature `custom-store`). `lease` is
//! what a caller holds, `request` what a caller asks, and `manager` the actor between them and the store, with the
//! tools in `runtime`. `with_lock` is work under a lock in one statement, `fenced` writes that an overtaken holder
//! cannot make, [`election`] one leader among many processes, [`schedule`]
//! ticks that run once in a fleet, [`tuner`] settings that follow the load, and `web` what an actix-web application needs (feature
//! `actix-web`). `config` is `config.toml` as a value. `doctor` checks the deployment that a configuration leads to.
//! `tuning` predicts how settings behave under a workload (feature `tuning`).
//! `testing` is for tests: virtual time, the acceptance suite for stores, and the check of what was held.
//! `docs/architecture.md` has the whole picture.
#![doc(test(attr(deny(warnings))))]
#![forbid(unsafe_code)]
// What is public in `testing` or in `custom-store` alone is public nowhere without it.
#![cfg_attr(not(feature = "testing"), allow(unreachable_pub))]
#![cfg_attr(not(feature = "custom-store"), allow(rustdoc::private_intra_doc_links))]

#[macro_use]
mod planted;

mod config;
mod core;
#[cfg(feature = "doctor")]
pub mod doctor;
pub mod election;
mod env;
pub mod fenced;
mod lease;
mod manager;
mod request;
mod runtime;
pub mod schedule;
mod spans;
mod statistics;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tuner;
#[cfg(feature = "tuning")]
pub mod tuning;
#[cfg(feature = "actix-web")]
pub mod web;
mod with_lock;

pub use self::{
    config::{Config, ConfigError, StoreConfig, StoreUrl},
    core::{
        Backoff, Fence, InvalidValue, Jitter, LeaseStatus, LossReason, Mode, Owner, ResourceName, Token,
        TokenPrefix,
    },
    lease::{
        Lease, LeaseChange, LeaseEvent, LeaseLostError, LeaseSet, Release, ReleaseError, ReleaseSetError,
        Released, Renew, RenewError, RevokeRequested,
    },
    manager::{LockManager, LockManagerBuilder},
    request::{
        Acquire, AcquireAll, AcquireError, Drained, ForceRelease, ForceReleaseError, Inspect, InspectError,
        IsHeld, LeaseSettings, Leases, LimitSettings, List, OwnLease, OwnLeases, OwnWaiter, ReadLock, Ready,
        Request, Revoke, RevokeError, Revoked, SHORTEST_TTL, SetBackoff, SetTuning, Settings, Shutdown,
        StartError, Stats, SupervisionSettings, TunerSettings, Tuning, WaitSettings, WriteLock,
    },
    statistics::{Distribution, Statistics, Summary},
    store::{
        durability::Durability,
        error::{Certainty, StoreError},
        inspection::{Holder, HolderState, Inspection, Listing, Waiter},
        memory::MemoryStore,
        quorum::{NodeFailure, QuorumOptions, QuorumStore},
        redis::{Layout, RedisOptions, RedisStore},
    },
    with_lock::{Done, WithLock, WithLockError},
};

/// The cargo features that this build of the library has, in the order of their names.
pub const FEATURES: &[&str] = &[
    #[cfg(feature = "actix-web")]
    "actix-web",
    #[cfg(feature = "console")]
    "console",
    #[cfg(feature = "cron")]
    "cron",
    #[cfg(feature = "custom-store")]
    "custom-store",
    #[cfg(feature = "doctor")]
    "doctor",
    #[cfg(feature = "metrics")]
    "metrics",
    #[cfg(feature = "opentelemetry")]
    "opentelemetry",
    #[cfg(feature = "spans")]
    "spans",
    #[cfg(feature = "testing")]
    "testing",
    #[cfg(feature = "tls")]
    "tls",
    #[cfg(feature = "tuning")]
    "tuning",
];

/// The rules of a quorum, and what its nodes tell, for tests of both. They may change without notice.
#[doc(hidden)]
pub mod rules {
    pub use crate::{
        core::{
            AHEAD_AT_MOST, Incarnation, NotYet, Recovered, Report, Tally, Verdict, abstains_for,
            drift_allowance, granted_fence, guard_band, is_known, lessons, majority, validity_left,
        },
        store::node::AcquiredFrom,
    };
}

#[cfg(doctest)]
#[doc = include_str!("../docs/recipes.md")]
mod recipes {}

#[cfg(doctest)]
#[doc = include_str!("../docs/election.md")]
mod election_page {}

#[cfg(doctest)]
#[doc = include_str!("../docs/schedule.md")]
mod schedule_page {}

#[cfg(doctest)]
#[doc = include_str!("../docs/observability.md")]
mod observability {}

#[cfg(doctest)]
#[doc = include_str!("../docs/fences.md")]
mod fences {}

#[cfg(doctest)]
#[doc = include_str!("../docs/revoke.md")]
mod revoke_page {}

#[cfg(all(doctest, feature = "console"))]
#[doc = include_str!("../docs/console.md")]
mod console_page {}
