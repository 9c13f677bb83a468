//! A distributed lock manager that actix applications embed as actors, on Redis.
#![forbid(unsafe_code)]

pub mod actor;
pub mod config;
pub mod protocol;
pub mod store;
pub mod world;

pub use self::{
    actor::{
        Acquire, AcquireError, Drained, ForceRelease, Inspect, InspectError, IsHeld, Lease, LeaseChange,
        LeaseEvent, LeaseLost, List, LockManager, LockManagerBuilder, ReadLock, Release, ReleaseError,
        Released, Renew, RenewError, Request, Settings, Shutdown, StartError, Statistics, Stats, WriteLock,
    },
    config::{Config, ConfigError},
    protocol::{
        Backoff, Fence, Invalid, Jitter, LossReason, Mode, Moment, Owner, ResourceName, Standing, Token,
        TokenPrefix,
    },
    store::{MemoryStore, RedisStore, Store, StoreError},
};
