//! A lease: what its holder has in hand, what keeps it alive, and what ends it.
//!
//! Read in this order: [`Lease`] (the handle), `shared` (the state that the handle, the renewer and the manager share),
//! `cooldown` (the moment at which its resource opens afterwards), `monitor` (watches the end of every lease and starts
//! renewers), `renewer`, [`LeaseSet`] (several leases with one handle).

mod cooldown;
mod errors;
mod events;
mod handle;
pub(crate) mod messages;
pub(crate) mod monitor;
mod renewer;
pub(crate) mod set;
pub(crate) mod shared;
pub(crate) mod terms;

pub use self::{
    errors::{LeaseLostError, LeaseSetLostError, ReleaseError, ReleaseSetError, RenewError},
    events::{LeaseChange, LeaseEvent},
    handle::Lease,
    messages::{Release, Released, Renew},
    set::LeaseSet,
};
