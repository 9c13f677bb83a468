//! The requests to a lock manager, with their defaults, limits and errors.

pub(crate) mod acquire;
mod adopt;
mod errors;
pub(crate) mod options;
pub(crate) mod queries;
pub(crate) mod revoke;
pub(crate) mod settings;
pub(crate) mod tuning;
pub(crate) mod validated;

pub use self::{
    acquire::{Acquire, AcquireAll, ReadLock, Request, WriteLock},
    adopt::{Adopt, AdoptError},
    errors::{AcquireError, InspectError, StartError},
    queries::{
        Drained, Inspect, IsHeld, Leases, List, OwnLease, OwnLeases, OwnWaiter, Ready, SetCapacity, Shutdown,
        Stats,
    },
    revoke::{Revoke, RevokeError, Revoked},
    settings::{LeaseSettings, LimitSettings, SHORTEST_TTL, Settings, SupervisionSettings, WaitSettings},
    tuning::{SetTuning, Tuning},
};
pub(crate) use self::{
    acquire::{Options, Takes, Wait},
    adopt::Adopted,
    queries::UseRegister,
    revoke::ValidRevoke,
    tuning::{AskLoad, Load, Queue, Sample, Sampled},
    validated::ValidRequest,
};
