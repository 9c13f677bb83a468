//! A distributed lock manager that actix applications embed as actors, on Redis.
//!
#![cfg_attr(feature = "doctor", doc = include_str!("../README.md"))]
//!
//! # Layout
//! `core` makes the decisions, from the time and the random numbers that it is given; `env` supplies both. [`store`]
//! defines where locks live and what every store guarantees. `lease` is what a caller holds, `request` what a caller asks,
//! and `manager` the actor between them and the store, with the tools in `runtime`. `config` is `config.toml` as a value.
//! `doctor` checks the deployment that a configuration leads to. `docs/architecture.md` has the whole picture.
#![doc(test(attr(deny(warnings))))]
#![forbid(unsafe_code)]

#[macro_use]
mod planted;

mod config;
mod core;
#[cfg(feature = "doctor")]
pub mod doctor;
mod env;
mod lease;
mod manager;
mod request;
mod runtime;
mod statistics;
pub mod store;

pub use self::{
    config::{
        BackoffConfig, Config, ConfigError, LeaseConfig, LimitsConfig, Preset, StoreConfig, StoreUrl,
        SupervisionConfig, WaitConfig,
    },
    core::{
        Backoff, Fence, InvalidValue, Jitter, LeaseStatus, LossReason, Mode, Moment, Owner, ResourceName,
        Token, TokenPrefix,
    },
    env::{Clock, Draw, Random, RuntimeClock, SystemClock, SystemRandom},
    lease::{
        Lease, LeaseChange, LeaseEvent, LeaseLostError, LeaseSet, LeaseSetLostError, Release, ReleaseError,
        ReleaseSetError, Released, Renew, RenewError,
    },
    manager::{LockManager, LockManagerBuilder},
    request::{
        Acquire, AcquireAll, AcquireError, Drained, ForceRelease, ForceReleaseError, Inspect, InspectError,
        IsHeld, List, ReadLock, Request, SHORTEST_TTL, SetBackoff, Settings, Shutdown, StartError, Stats,
        WriteLock, kind,
    },
    runtime::responder::DeferredReply,
    statistics::{Distribution, Statistics},
    store::{
        durability::Durability,
        error::{Certainty, StoreError},
        inspection::{Holder, HolderState, Inspection, Listing},
        memory::MemoryStore,
        quorum::{NodeFailure, QuorumOptions, QuorumStore},
        redis::{Layout, RedisOptions, RedisStore, TlsFiles},
        types::Metadata,
    },
};

/// The rules of a quorum, for the exhaustive check in `tests`. They may change without notice.
#[doc(hidden)]
pub mod rules {
    pub use crate::core::{
        NotYet, Tally, Verdict, abstains_for, drift_allowance, granted_fence, guard_band, is_known, lessons,
        majority, validity_left,
    };
}

#[cfg(doctest)]
#[doc = include_str!("../docs/recipes.md")]
mod recipes {}
