//! The places of partitions: the actors of those that this process owns, and the events of all.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use actix::{Actor, Addr, Message, Recipient};
use parking_lot::Mutex;

use super::Member;
use crate::{core::Fence, lease::Lease};

/// The place of a partition.
pub enum Place<A: Actor> {
    /// This process owns it, and this is its actor.
    ///
    /// A message that is sent while the partition is lost is answered with a `MailboxError`: it was not handled, or was begun and
    /// cut. The actor handles nothing after the validity of its lease.
    Here(Addr<A>),
    /// Another process owned it when the store was asked.
    There(Member),
    /// No member owns it: its owner has died, or it is on its way from one to another, or its actor is being started again.
    Nobody,
}

/// An event of partitions, sent to the recipients that [`Partitions::tell`](super::Partitions::tell) names.
#[derive(Clone, Debug, PartialEq, Eq, Message)]
#[rtype(result = "()")]
#[non_exhaustive]
pub enum PartitionEvent {
    /// This process owns a partition from now on. Its actor is started next.
    Owned {
        /// The number of the partition.
        partition: u32,
        /// The number that is larger for each later owner, if the store issues one.
        fence: Option<Fence>,
    },
    /// This process owns a partition no more. Its actor has stopped.
    Lost {
        /// The number of the partition.
        partition: u32,
    },
    /// The members are others than before: these, in the order of their names.
    Members(Arc<[Member]>),
}

/// What a process knows of its partitions, for all of its threads.
pub(super) struct Places<A: Actor>(Mutex<Known<A>>);

struct Known<A: Actor> {
    owned: BTreeMap<u32, Owned<A>>,
    members: Arc<[Member]>,
    audience: Vec<Recipient<PartitionEvent>>,
}

struct Owned<A: Actor> {
    lease: Arc<Lease>,
    /// That of its present life.
    actor: Option<Addr<A>>,
}

impl<A: Actor> Places<A> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Known { owned: BTreeMap::new(), members: Arc::default(), audience: Vec::new() }))
    }

    /// Returns the actor of a partition, while its lease is valid.
    pub(super) fn here(&self, partition: u32) -> Option<Addr<A>> {
        let known = self.0.lock();
        let owned = known.owned.get(&partition).filter(|owned| owned.lease.is_valid())?;
        owned.actor.clone().filter(Addr::connected)
    }

    /// Returns the lease of a partition that this process works on.
    pub(super) fn lease(&self, partition: u32) -> Option<Arc<Lease>> {
        self.0.lock().owned.get(&partition).map(|owned| Arc::clone(&owned.lease))
    }

    pub(super) fn owned(&self) -> BTreeSet<u32> {
        let known = self.0.lock();
        let valid = known.owned.iter().filter(|(_, owned)| owned.lease.is_valid());
        valid.map(|(partition, _)| *partition).collect()
    }

    pub(super) fn members(&self) -> Arc<[Member]> {
        Arc::clone(&self.0.lock().members)
    }

    /// Adds a recipient, which hears first how things stand.
    pub(super) fn add(&self, recipient: Recipient<PartitionEvent>) {
        let mut known = self.0.lock();
        recipient.do_send(PartitionEvent::Members(Arc::clone(&known.members)));
        for (partition, owned) in &known.owned {
            recipient.do_send(PartitionEvent::Owned { partition: *partition, fence: owned.lease.fence() });
        }
        known.audience.push(recipient);
    }

    pub(super) fn begin(&self, partition: u32, lease: &Arc<Lease>) {
        let mut known = self.0.lock();
        known.owned.insert(partition, Owned { lease: Arc::clone(lease), actor: None });
        known.tell(&PartitionEvent::Owned { partition, fence: lease.fence() });
    }

    /// Learns of the next life of the actor of a partition.
    pub(super) fn lives(&self, partition: u32, actor: &Addr<A>) {
        if let Some(owned) = self.0.lock().owned.get_mut(&partition) {
            owned.actor = Some(actor.clone());
        }
    }

    pub(super) fn end(&self, partition: u32) {
        let mut known = self.0.lock();
        if known.owned.remove(&partition).is_some() {
            known.tell(&PartitionEvent::Lost { partition });
        }
    }

    /// Learns who the members are. Returns true if that is news.
    pub(super) fn meet(&self, members: Vec<Member>) -> bool {
        let mut known = self.0.lock();
        if *known.members == *members {
            return false;
        }
        known.members = members.into();
        let event = PartitionEvent::Members(Arc::clone(&known.members));
        known.tell(&event);
        true
    }
}

impl<A: Actor> Known<A> {
    /// Tells those that are still there.
    fn tell(&mut self, event: &PartitionEvent) {
        self.audience.retain(Recipient::connected);
        self.audience.iter().for_each(|to| to.do_send(event.clone()));
    }
}

impl<A: Actor> fmt::Debug for Place<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(_) => f.write_str("Here"),
            Self::There(member) => f.debug_tuple("There").field(member).finish(),
            Self::Nobody => f.write_str("Nobody"),
        }
    }
}
