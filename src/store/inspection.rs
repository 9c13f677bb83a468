//! The holders of a resource, as a store reports them.

use std::time::Duration;

use crate::{
    core::{Fence, Mode, Owner, ResourceName, TokenPrefix},
    store::Metadata,
};

/// A holder of a resource, or one that keeps it closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The first digits of its token.
    pub token: TokenPrefix,
    /// The share of the resource that it takes.
    pub mode: Mode,
    /// The state of the holder: it holds the resource, or only keeps it closed.
    pub state: HolderState,
    /// The owner that may re-enter, if any.
    pub owner: Option<Owner>,
    /// Its fencing number.
    pub fence: Option<Fence>,
    /// The time until its end. For [`HolderState::Closed`], the time until the resource opens.
    pub remaining: Duration,
    /// The metadata that the holder supplied.
    pub metadata: Metadata,
}

/// The state of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderState {
    /// It holds.
    Holding,
    /// It no longer holds, but keeps the resource closed by its lock delay or by its minimum hold.
    Closed,
}

/// The holders of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The holders that end first, in the order of their end, at most as many as requested.
    pub holders: Vec<Holder>,
    /// The number of all holders.
    pub total: u64,
    /// The number of waiters in the queue.
    pub waiting: u64,
}

/// The resources that are not free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The names, in order.
    pub resources: Vec<ResourceName>,
    /// True if these are all the names. False if the limit was reached.
    pub complete: bool,
}
