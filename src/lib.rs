//! A distributed lock manager that actix applications embed as actors, on Redis.
//!
#![doc = include_str!("../README.md")]
//!
//! # Layout
//! [`protocol`] makes the decisions, from the time and the random numbers that it is given. [`world`] supplies both.
//! [`store`] defines where locks live and what every store guarantees. [`actor`] owns and renews leases and answers
//! requests. [`config`] is `config.toml` as a value. [`doctor`] checks the deployment that a configuration leads to.
//! Each module imports only those named before it.
#![doc(test(attr(deny(warnings))))]
#![forbid(unsafe_code)]

pub mod config;
pub mod core;
pub mod doctor;
pub mod env;
mod lease;
mod manager;
mod request;
mod runtime;
mod statistics;
pub mod store;

pub use self::{
    config::{Config, ConfigError},
    core::{
        Backoff, Fence, Invalid, Jitter, LossReason, Mode, Moment, Owner, ResourceName, Standing, Token,
        TokenPrefix,
    },
    lease::{
        Lease, LeaseChange, LeaseEvent, LeaseLost, LeaseSet, Release, ReleaseError, ReleaseSetError,
        Released, Renew, RenewError, SetLost,
    },
    manager::{LockManager, LockManagerBuilder},
    request::{
        Acquire, AcquireAll, AcquireError, Drained, ForceRelease, Inspect, InspectError, IsHeld, List,
        ReadLock, Request, SHORTEST_TTL, SetBackoff, Settings, Shutdown, StartError, Stats, WriteLock, kind,
    },
    runtime::responder::Later,
    statistics::{Distribution, Statistics},
    store::{Holder, Inspection, Listing, MemoryStore, RedisStore, Safety, Store, StoreError},
};

#[cfg(doctest)]
#[doc = include_str!("../docs/recipes.md")]
mod recipes {}
