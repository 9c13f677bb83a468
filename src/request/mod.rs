//! The requests to a lock manager, with their defaults, limits and errors.

pub(crate) mod acquire;
mod errors;
pub(crate) mod keys;
pub(crate) mod options;
pub(crate) mod queries;
pub(crate) mod revoke;
mod setters;
pub(crate) mod settings;
pub(crate) mod tuning;
pub(crate) mod validated;

pub(crate) use self::{
    acquire::Takes,
    options::{Options, Wait},
    queries::UseRegister,
    revoke::ValidRevoke,
    tuning::{AskLoad, Load, Queue, Sample, Sampled},
    validated::ValidRequest,
};
pub use self::{
    acquire::{Acquire, AcquireAll, ReadLock, Request, WriteLock},
    errors::{AcquireError, InspectError, StartError},
    queries::{
        Drained, Inspect, IsHeld, Leases, List, OwnLease, OwnLeases, OwnWaiter, Ready, Shutdown, Stats,
    },
    revoke::{Revoke, RevokeError, Revoked},
    settings::{LeaseSettings, LimitSettings, SHORTEST_TTL, Settings, SupervisionSettings, WaitSettings},
    tuning::{SetTuning, Tuning},
};
