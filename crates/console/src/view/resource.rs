//! A resource, with those who hold it and wait for it.

use std::num::NonZeroU32;

use leasehold::{Inspection, ResourceName};
use serde::Serialize;
use utoipa::ToSchema;

use super::party::{HolderView, WaiterView};

/// A resource, as one look at it has found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ResourceView {
    /// The name, encoded as in the keys of the store.
    pub resource: String,
    /// True if somebody holds it, and false if it is free or only kept closed.
    pub held: bool,
    /// The number of all holders.
    pub total: u64,
    /// The number of all waiters; `None` where the store keeps no queues.
    pub waiting: Option<u64>,
    /// The holders that the store told, those that end first.
    pub holders: Vec<HolderView>,
    /// The waiters that the store told, the first of the queue.
    pub waiters: Vec<WaiterView>,
    /// The number of permits that was set, if one was.
    pub capacity: Option<u32>,
}

impl ResourceView {
    /// Returns the view of what an inspection has found.
    pub fn of(name: &ResourceName, inspection: &Inspection) -> Self {
        let Inspection { holders, total, waiting, waiters, capacity } = inspection;
        let holders: Vec<HolderView> = holders.iter().map(HolderView::from).collect();
        // Such a store, the plain layout, has neither fences nor times.
        let is_plain =
            |holder: &HolderView| holder.is_holding() && holder.fence.is_none() && holder.age.is_none();
        let keeps_no_queue = *waiting == 0 && holders.iter().any(is_plain);
        Self {
            resource: name.encoded(),
            held: *total > holders.len() as u64 || holders.iter().any(HolderView::is_holding),
            total: *total,
            waiting: (!keeps_no_queue).then_some(*waiting),
            waiters: WaiterView::all(waiters),
            capacity: capacity.map(NonZeroU32::get),
            holders,
        }
    }

    /// Returns the number of waiters; zero where the store keeps no queues.
    pub fn queue(&self) -> u64 {
        self.waiting.unwrap_or_default()
    }

    /// Returns true if nobody holds it, keeps it closed or waits for it.
    pub fn is_free(&self) -> bool {
        self.total == 0 && self.queue() == 0
    }

    /// Returns the holder that leads, if this is an election: the first that holds, and not only keeps it closed.
    pub fn leader(&self) -> Option<&HolderView> {
        self.holders.iter().find(|holder| holder.is_holding())
    }

    /// Returns the role that its holders and waiters tell, as those of an election do.
    pub fn role(&self) -> Option<&str> {
        let holders = self.holders.iter().map(|holder| &holder.who);
        let mut all = holders.chain(self.waiters.iter().map(|waiter| &waiter.who));
        all.find_map(|who| who.metadata.get("role")).map(String::as_str)
    }

    /// Returns true if its holders and waiters say that they are candidates of an election, or of a schedule.
    pub fn is_election(&self) -> bool {
        matches!(self.role(), Some("election" | "schedule"))
    }
}
