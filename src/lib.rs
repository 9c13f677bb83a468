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

pub mod actor;
pub mod config;
pub mod doctor;
pub mod protocol;
pub mod store;
pub mod world;

pub use self::{
    actor::{
        Acquire, AcquireAll, AcquireError, Distribution, Drained, ForceRelease, Inspect, InspectError,
        IsHeld, Lease, LeaseChange, LeaseEvent, LeaseLost, LeaseSet, List, LockManager, LockManagerBuilder,
        ReadLock, Release, ReleaseError, ReleaseSetError, Released, Renew, RenewError, Request, SetBackoff,
        SetLost, Settings, Shutdown, StartError, Statistics, Stats, WriteLock,
    },
    config::{Config, ConfigError},
    protocol::{
        Backoff, Fence, Invalid, Jitter, LossReason, Mode, Moment, Owner, ResourceName, Standing, Token,
        TokenPrefix,
    },
    store::{Holder, Inspection, Listing, MemoryStore, RedisStore, Safety, Store, StoreError},
};

#[cfg(doctest)]
#[doc = include_str!("../docs/recipes.md")]
mod recipes {}
