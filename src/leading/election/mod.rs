//! Leader election: one candidate of many leads, for as long as it holds a lease.
//!
//! A [`Singleton`] runs an actor in one process of a fleet, and in another one when that process ends:
//!
//! ```
//! use std::time::Duration;
//! use actix::prelude::*;
//! use leasehold::election::{Singleton, SingletonContext};
//! # use leasehold::{LockManager, MemoryStore, Shutdown};
//!
//! struct Scheduler;
//!
//! impl Actor for Scheduler {
//!     type Context = SingletonContext<Self>;
//!
//!     fn started(&mut self, ctx: &mut Self::Context) {
//!         ctx.run_interval(Duration::from_secs(1), |_, ctx| println!("tick, fence {:?}", ctx.lease().fence()));
//!     }
//! }
//!
//! # #[actix::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
//! Singleton::start(&locks, "scheduler", || Scheduler)?;
//! # locks.send(Shutdown { drain: Duration::ZERO }).await?;
//! # Ok(())
//! # }
//! ```
//!
//! An [`Election`] is the part below it, for whoever wants to be told and nothing more. It is an actor that stands for the
//! lead. It tells recipients by an [`ElectionEvent`] that it leads, that it does so no more, and who else leads.
//!
//! # The life of a term
//! A term begins when a candidate is granted the lease of the election. It ends in one of two ways, and both are a [`Demotion`].
//!
//! * **In good order**, while the lease is still valid: after [`Resign`] or [`Unwell`], when the lock manager shuts down, or
//!   when no renewal was confirmed until a [`budget`](Candidacy::budget) before the end of the validity. The recipients are
//!   told, and may take up to the budget to finish; they answer when they have. Then the lease is released, and the
//!   candidate that has waited longest is granted it at once.
//! * **By a loss:** the store took the lease away, or this process was frozen until the validity was over. The recipients
//!   are told when that is known. For what they do until then there is the [fence](crate::Lease::fence).
//!
//! A leader that is well is kept: nobody is granted the lead while it is held, and candidates stand in a queue. After a loss
//! the candidate stands again by itself, after a pause that doubles with each short term.

mod actor;
mod candidacy;
mod handlers;
mod lead;
mod messages;
mod singleton;
mod term;

pub use self::{
    actor::Election,
    candidacy::Candidacy,
    messages::{Campaign, Demotion, ElectionEvent, Leader, Resign, Unwell},
    singleton::{Singleton, context::SingletonContext},
};
pub(crate) use self::{
    lead::inspect,
    messages::Leave,
    term::{TermEnd, TermWork, elect},
};
