//! What a store tells about those who hold.

use std::time::Duration;

use super::Metadata;
use crate::protocol::{Fence, Mode, Owner, ResourceName, TokenPrefix};

/// One who holds (or keeps closed) a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The first digits of its token.
    pub token: TokenPrefix,
    /// How much it takes.
    pub mode: Mode,
    /// Whether it holds, or only keeps the resource closed.
    pub state: HolderState,
    /// Who re-enters, if anybody.
    pub owner: Option<Owner>,
    /// Its fencing number.
    pub fence: Option<Fence>,
    /// How long until its end; for [`HolderState::Closed`] until the resource opens.
    pub remaining: Duration,
    /// What it told about itself.
    pub metadata: Metadata,
}

/// Whether a holder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderState {
    /// It holds.
    Holding,
    /// It holds no more, but keeps the resource closed: by its lock delay, or by its minimum hold.
    Closed,
}

/// Who holds a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Those that end first, at most as many as were asked for, in order of their end.
    pub holders: Vec<Holder>,
    /// How many there are.
    pub total: u64,
    /// How many wait in the queue.
    pub waiting: u64,
}

/// The resources that are not free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// In order of name.
    pub resources: Vec<ResourceName>,
    /// Whether these are all; if not, the limit was reached.
    pub complete: bool,
}
