//! A lease: what its holder has in hand, what keeps it alive, and what ends it.
//!
//! Read in this order: [`Lease`] (the handle), `shared` (the state that the handle, the renewer and the manager share),
//! `renewals`, `renewer`, `revocation` and `wanted_back` (who wants it back, and the moment at which its resource opens
//! afterwards), [`LeaseSet`] (several with one handle), [`LeaseTicket`] (one that is handed over).

use std::sync::Arc;

mod errors;
mod events;
mod handle;
mod held;
mod messages;
mod renewals;
mod renewer;
mod revocation;
pub(crate) mod set;
mod shared;
mod ticket;
mod wanted_back;

pub use self::{
    errors::{LeaseLostError, ReleaseError, ReleaseSetError, RenewError},
    events::{LeaseChange, LeaseEvent, RevokeRequested},
    handle::Lease,
    held::{NotHeldError, assert_held},
    messages::{Release, Released, Renew},
    set::LeaseSet,
    ticket::LeaseTicket,
};
pub(crate) use self::{
    held::HeldScope,
    messages::{HandOver, ManagerLink},
    renewer::{RenewerHandle, Renewers},
    shared::{LeaseShared, LeaseTerms},
};

/// A function that returns true while the actor that a lease is bound to lives.
pub(crate) type LifeSign = Arc<dyn Fn() -> bool + Send + Sync>;
