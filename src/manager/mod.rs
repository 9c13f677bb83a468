//! The lock manager: the one actor that owns the store, and answers every request for a lock.
//!
//! It never awaits the store in its own context: operations travel in batches, and their results come back as happenings.
//! It therefore serves thousands of waiters, and a store that hangs holds nobody else up.
//!
//! `state` is what it has, of pieces that do not know it. All other files say what it does: `actor` has its life. Types of this
//! room are imported from here, each by one name.

mod actor;
mod adopt;
mod adoptions;
pub(crate) mod anywhere;
pub(crate) mod blocking;
mod builder;
mod dispatch;
mod draining;
mod happening;
mod messages;
mod monitor;
mod outage;
mod query;
mod record;
mod records;
mod release;
mod renew;
mod revoke;
mod sets;
mod shutdown;
mod state;
mod stream;
mod tuning;
mod waiting;
pub(crate) mod with_lock;

pub use self::{builder::LockManagerBuilder, state::LockManager};

pub(crate) use self::{
    adoptions::{Adopting, Adoptions},
    dispatch::{
        Dispatch,
        ask::{Calls, Seats, SingleCalls},
        calls::{FarEnd, HandOffCall, ReleaseCall, RenewalCall},
    },
    draining::{Draining, InFlight},
    happening::{Attempt, Happening, Happenings},
    monitor::{LeaseMonitor, next_check},
    outage::Outage,
    record::{Cause, Holding, Record, Role, WaitingRequest, is_alone, wanted, weight},
    records::Records,
    sets::{Sets, TriedAll},
    state::{Policy, Turn},
    stream::{Happened, Sources},
};
