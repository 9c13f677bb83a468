//! Partitions: the keys of an application in shares, each with one actor in the whole fleet.
//!
//! A key, a customer's number for instance, belongs to one of so many partitions. Each partition has an actor, which runs in
//! exactly one of the processes that have started the same [`Partitions`], the members. So what concerns a key is done by one
//! actor, one after the other, and may be kept in its memory.
//!
//! ```
//! use actix::prelude::*;
//! use leasehold::{election::SingletonContext, partitions::{Member, Partitions, Place}};
//! # use leasehold::{LockManager, MemoryStore, Shutdown};
//!
//! struct Orders(u32);
//!
//! impl Actor for Orders {
//!     type Context = SingletonContext<Self>;
//! }
//! # #[derive(Message)]
//! # #[rtype(result = "()")]
//! # struct Order;
//! # impl Handler<Order> for Orders {
//! #     type Result = ();
//! #     fn handle(&mut self, _: Order, _: &mut Self::Context) { println!("an order of partition {}", self.0) }
//! # }
//!
//! # #[actix::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
//! let member = Member::new("host-1").at("http://10.0.0.7:8080");
//! let orders = Partitions::start(&locks, "orders", 64, member, Orders)?;
//! match orders.of("customer/7").await? {
//!     Place::Here(actor) => actor.send(Order).await?,
//!     Place::There(member) => println!("ask {:?}", member.endpoint),
//!     Place::Nobody => println!("on its way from one member to another: try again"),
//! }
//! orders.drain().await; // others have its partitions now
//! # locks.send(Shutdown { drain: std::time::Duration::ZERO }).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Who owns what
//! Each partition is a resource of its own, `orders/17`, and its owner holds the lease of it. **Safety rests on that lease alone**:
//! the actor is a [singleton](crate::election::Singleton), with all that is said there of its end and of the
//! [fence](crate::Lease::fence).
//!
//! Each member holds a shared lease of `orders/members`, and looks once a second at who else does. From the list of names each
//! computes the same shares, which differ by one partition at most, and in which a member more or less moves little else.
//!
//! * **A member that joins** waits for its share. An owner gives a partition up when its look shows that it is another's and
//!   that somebody waits for it: within about a second.
//! * **A member that [drains](Partitions::drain)** is no member any more, and gives up each partition when another waits for it.
//! * **A member whose lock manager shuts down** gives up all at once. The others take them at their next look.
//! * **A member that dies, or is cut off or frozen,** is replaced when its TTL is over.
//!
//! While a partition moves nobody owns it for a moment: the time that its actor takes to stop, and the new one to start.
//!
//! # What all members have to agree on
//! The name, and the number of partitions. A process that has another number does not become a member, and logs an error, as
//! long as an actor of the others runs: what one number puts into a partition the other one puts elsewhere, and the lock of a
//! partition would not show it. A shared lease of `orders/count` does. To change the number, stop all members.
//!
//! It takes the full layout of a Redis store, because members share a lease. There are 400 members at most: with more nothing
//! moves, and an error is logged.

mod handlers;
mod keeper;
mod member;
mod membership;
mod places;
mod share;
pub(crate) mod shares;
mod standing;
mod survey;

use std::{cell::RefCell, collections::BTreeSet, fmt, rc::Rc, sync::Arc};

use actix::{Actor, Addr, Context, Recipient};
use tokio::sync::oneshot;

use self::{
    keeper::{Drain, Join, Keeper},
    member::PARTITIONS_AT_MOST,
    membership::Names,
    places::Places,
    shares::partition_of,
};
pub use self::{
    member::Member,
    places::{PartitionEvent, Place},
    survey::{PartitionOwner, Survey},
};
use crate::{
    core::{InvalidValue, ensure},
    leading::election::{Candidacy, SingletonContext, inspect},
    listeners::Class,
    manager::LockManager,
    request::InspectError,
};

/// The partitions of a fleet, as one of its processes knows them: see the [module](self).
///
/// It may be cloned, and used from every thread.
pub struct Partitions<A: Actor<Context = SingletonContext<A>>> {
    locks: Addr<LockManager>,
    names: Names,
    partitions: u32,
    places: Arc<Places<A>>,
    keeper: Addr<Keeper<A>>,
}

impl<A: Actor<Context = SingletonContext<A>>> Partitions<A> {
    /// Becomes a member, and runs the actors of its share, which `factory` makes from the number of a partition. The store need
    /// not be there yet. A member it is until the lock manager is shut down, also when all of this value are dropped.
    ///
    /// The `candidacy` is a name, or the request and the habits for each partition: TTL, [`budget`](Candidacy::budget) to stop,
    /// [`pauses`](Candidacy::pauses), [`look_every`](Candidacy::look_every). With [`observer`](Candidacy::observer) the process
    /// owns nothing until [`join`](Self::join), and knows where all is. A `member` is a name, or a [`Member`].
    ///
    /// The number of `partitions` is the same in all processes, and is the largest number of members that have work: 1 to 4,096.
    /// Ten times the number of members is a good one.
    ///
    /// # Errors
    /// [`InvalidValue`] for an invalid number, name or endpoint, a request bound to an actor, and as [`Election::start`](crate::election::Election::start).
    ///
    /// # Panics
    /// When it is called outside of a tokio `LocalSet`. Every actix arbiter is one, and the actors run in it.
    pub fn start(
        locks: &Addr<LockManager>,
        candidacy: impl Into<Candidacy>,
        partitions: u32,
        member: impl Into<Member>,
        factory: impl FnMut(u32) -> A + 'static,
    ) -> Result<Self, InvalidValue> {
        let (candidacy, member) = (candidacy.into(), member.into());
        let is_number = (1..=PARTITIONS_AT_MOST).contains(&partitions);
        ensure(is_number, "partitions", partitions, format!("1 to {PARTITIONS_AT_MOST}"))?;
        member.check()?;
        let names = Names::new(candidacy.check()?, &member)?;
        names.partition(partitions)?;
        candidacy.request.options.class.as_deref().map_or(Ok(()), Class::check)?;
        ensure(!candidacy.has_recipients(), "candidacy.tell", "a recipient", "none: see Partitions::tell")?;
        ensure(candidacy.request.options.bound_to.is_none(), "candidacy.bound_to", "an actor", "none")?;
        let factory = RefCell::new(factory);
        let factory = Rc::new(move |partition| factory.borrow_mut()(partition));
        let keeper = Keeper::new(locks.clone(), (candidacy, names.clone()), partitions, member, factory);
        let places = Arc::clone(&keeper.places);
        Ok(Self { locks: locks.clone(), names, partitions, places, keeper: Context::new().run(keeper) })
    }

    /// Returns the place of a key. See [`at`](Self::at).
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub async fn of(&self, key: impl AsRef<[u8]>) -> Result<Place<A>, InspectError> {
        self.at(self.partition_of(key)).await
    }

    /// Returns the place of a partition. What this process owns is known without a request; for all else the store is asked who
    /// owns it. It may have moved when the answer is used: who is asked for what he does not own says so, and the caller looks
    /// again.
    ///
    /// # Errors
    /// As [`Inspect`](crate::Inspect): the place is not known then. [`InvalidValue`] for a number that is too large.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn at(&self, partition: u32) -> Result<Place<A>, InspectError> {
        let allowed = || format!("less than {}", self.partitions);
        ensure(partition < self.partitions, "partition", partition, allowed())?;
        let here = || self.places.here(partition).map(Place::Here);
        if let Some(here) = here() {
            return Ok(here);
        }
        let inspection = inspect(&self.locks, &self.names.partition(partition)?, 1).await?;
        // Another process may have the same name, so the token tells whether the owner is this one, whose actor does not run.
        let own = self.places.lease(partition).map(|lease| lease.token().prefix());
        let owner = inspection.holders.iter().find(|holder| Some(holder.token) != own).and_then(Member::of);
        Ok(here().unwrap_or(owner.map_or(Place::Nobody, Place::There)))
    }

    /// Returns the number of the partition of a key: XXH3 of its bytes (64 bits, no seed) modulo the number of partitions. It
    /// never changes, also in later versions.
    pub fn partition_of(&self, key: impl AsRef<[u8]>) -> u32 {
        partition_of(key.as_ref(), self.partitions)
    }

    /// Returns the partitions that this process owns now.
    pub fn owned(&self) -> BTreeSet<u32> {
        self.places.owned()
    }

    /// Returns the members that were seen last, in the order of their names.
    pub fn members(&self) -> Arc<[Member]> {
        self.places.members()
    }

    /// Adds a recipient of events. It is told at once who the members are, and what this process owns.
    pub fn tell(&self, recipient: Recipient<PartitionEvent>) {
        self.places.add(recipient);
    }

    /// Leaves the members, and waits until this process owns nothing any more. Each partition is given up as soon as another
    /// member waits for it, and all are given up at once if there is no other. A partition that nobody comes for is given up
    /// after a TTL, also while the store is away. It takes part again after [`join`](Self::join), which ends the wait.
    ///
    /// Anybody can ask a member to do so: by a [`Revoke`](crate::Revoke) of `orders/members/host-1`.
    ///
    /// # Cancel safety
    /// The process leaves also when this future is dropped.
    pub async fn drain(&self) {
        let (drained, answer) = oneshot::channel();
        self.keeper.do_send(Drain(drained));
        // Without an answer the lock manager has gone, or the process has joined again.
        answer.await.unwrap_or_default();
    }

    /// Becomes a member again, or for the first time if it was an [observer](Candidacy::observer).
    pub fn join(&self) {
        self.keeper.do_send(Join);
    }
}

impl<A: Actor<Context = SingletonContext<A>>> Clone for Partitions<A> {
    fn clone(&self) -> Self {
        Self {
            locks: self.locks.clone(),
            names: self.names.clone(),
            partitions: self.partitions,
            places: Arc::clone(&self.places),
            keeper: self.keeper.clone(),
        }
    }
}

impl<A: Actor<Context = SingletonContext<A>>> fmt::Debug for Partitions<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitions").field("owned", &self.owned()).finish_non_exhaustive()
    }
}
