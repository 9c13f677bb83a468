//! Notices to holders: that somebody wants the resource back, and that it was taken from them.

use std::{sync::Arc, time::Duration};

use crate::core::{ResourceName, Token};
#[cfg(doc)]
use crate::store::Store;

/// The largest number of holders that one verb notifies: those that end first.
pub const NOTIFIED_AT_MOST: usize = 1_000;

/// The request of [`Store::notify_holders`].
#[derive(Clone, Debug)]
pub struct ToHolders {
    /// The resource that they hold.
    pub resource: ResourceName,
    /// The tokens to notify if they hold, at most [`NOTIFIED_AT_MOST`]. `None` stands for all that hold.
    pub among: Option<Vec<Token>>,
    /// The notice.
    pub notice: HolderNotice,
}

/// A notice to holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderNotice {
    /// Somebody wants the resource back, and takes it by force when the grace is over. It is repeated meanwhile, with the
    /// grace that is left.
    RevokeRequested {
        /// The random id of the revocation, by which repeats and copies are told.
        revocation: Token,
        /// The reason, one line of text.
        reason: Arc<str>,
        /// The time that is left to finish, in whole milliseconds.
        grace: Duration,
    },
    /// The hold is over, or is about to be released by force.
    Taken,
}

/// The certain answer to [`Store::notify_holders`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldersNotified {
    /// The tokens that hold, each of which was notified. Without an order.
    pub holders: Vec<Token>,
    /// True if no other holder was to be notified. False if there are more than [`NOTIFIED_AT_MOST`].
    pub complete: bool,
}
