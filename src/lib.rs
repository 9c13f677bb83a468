//! lib
#![forbid(unsafe_code)]

pub mod actor;
pub mod protocol;
pub mod store;
pub mod world;

pub use self::{
    actor::{
        Acquire, AcquireError, Drained, ForceRelease, Inspect, InspectError, IsHeld, Lease, LeaseChange, LeaseEvent,
        LeaseLost, List, LockManager, LockManagerBuilder, ReadLock, Release, ReleaseError, Released, Renew, RenewError,
        Request, Settings, Shutdown, StartError, Statistics, Stats, WriteLock,
    },
    protocol::{
        Backoff, Fence, Invalid, Jitter, LossReason, Mode, Moment, Owner, ResourceName, Standing, Token, TokenPrefix,
    },
    store::{MemoryStore, RedisStore, Store, StoreError},
};
