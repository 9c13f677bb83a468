//! How a store fails, and what the caller may believe then.

use std::{error::Error, sync::Arc, time::Duration};

use super::NodeFailure;
use crate::protocol::{Mode, readable_debug, rough};

/// Whether a verb that failed may have been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// It was certainly not executed, and will not be.
    NotExecuted,
    /// It may have been executed, or may be later. Give the token back, or repeat the verb.
    Unknown,
}

/// What went wrong underneath.
pub type Source = Arc<dyn Error + Send + Sync>;

/// A verb that has no certain answer, or that can never be granted.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No answer in time. The verb may be executed, now or later.
    #[error("{} did not answer within {}; the outcome is unknown", server.as_deref().unwrap_or("the store"), rough(*within))]
    TimedOut {
        /// How long it was waited for.
        within: Duration,
        /// The address of the server that was asked, if it was one.
        server: Option<Arc<str>>,
    },
    /// The connection broke, or the answer made no sense, after the request was sent. The verb may have been executed.
    #[error("the store's answer was lost ({doing}); the outcome is unknown")]
    Lost {
        /// What was going on.
        doing: String,
        /// What went wrong underneath, if anything is known of it.
        #[source]
        source: Option<Source>,
    },
    /// The store could not be reached, or said that it cannot serve at the moment. Nothing was executed; it may be
    /// worth while to try again.
    #[error("the store is not available: {reason}")]
    Unavailable {
        /// What the store, or the network, said.
        reason: String,
        /// What went wrong underneath.
        #[source]
        source: Option<Source>,
    },
    /// The store has no memory left for a new holder. Nothing was executed. Renewing and releasing still work.
    #[error("the store is full: {reason}")]
    Full {
        /// What the store said.
        reason: String,
    },
    /// The store refuses this client: wrong password, missing rights, wrong certificate. Nothing was executed, and
    /// nothing will be until somebody changes the configuration.
    #[error("the store denies access: {reason}")]
    Denied {
        /// What the store said, without any password.
        reason: String,
    },
    /// The server is of another kind than the URL says, or does not have the database that it names. Nothing was executed,
    /// and nothing will be until somebody changes the configuration.
    #[error("store.url does not fit the server: {reason}")]
    Misconfigured {
        /// What does not fit, and what to use instead.
        reason: String,
    },
    /// The resource is in use with another capacity. Nothing was executed.
    #[error(
        "asked for {asked}, but the resource is in use as {used}; all its users must name the same capacity"
    )]
    CapacityMismatch {
        /// What was asked.
        asked: Mode,
        /// What one of the holders has.
        used: Mode,
    },
    /// The owner would wait for itself: it holds the resource in a way that conflicts with what it asks. Nothing was
    /// executed.
    #[error(
        "asked for {asked}, but the same owner holds it as {held} and would wait for itself; release that first"
    )]
    Deadlock {
        /// What was asked.
        asked: Mode,
        /// What the owner has.
        held: Mode,
    },
    /// The store does not have what was asked for, in whatever state it is. Nothing was sent.
    #[error("this store has no {asked}: {reason}")]
    Unsupported {
        /// What was asked for.
        asked: String,
        /// Why the store does not have it, and what to use instead.
        reason: String,
    },
    /// Too few nodes of a quorum have a say. What some of them did is given back, as far as they can be reached.
    #[error("no majority: {needed} of {of} nodes are needed{}", NodeFailure::list(failures))]
    NoQuorum {
        /// How many nodes make a majority.
        needed: usize,
        /// How many nodes there are.
        of: usize,
        /// Those that have no say, and why.
        failures: Vec<NodeFailure>,
        /// Whether the verb may have been executed on a majority all the same.
        certainty: Certainty,
    },
    /// Fewer replicas than were asked for confirmed in time what the master did. An acquisition that is `undone` holds
    /// nothing. A renewal is never undone: the lease is valid until the end that it had before.
    #[error("only {reached} of {wanted} replicas confirmed it in time{}", if *undone { ", so it was given back" } else { "" })]
    Unacknowledged {
        /// How many replicas must confirm.
        wanted: u32,
        /// How many did.
        reached: u32,
        /// Whether what the master did was certainly taken back.
        undone: bool,
        /// What the master said instead of a number, if it did.
        #[source]
        source: Option<Source>,
    },
    /// What stands in the store under this name was not written by this library. Nothing was changed.
    #[error("the store holds something foreign: {reason}; use another prefix, or remove it")]
    Corrupt {
        /// What was found.
        reason: String,
    },
}

impl StoreError {
    /// Whether the verb may have been executed.
    pub const fn certainty(&self) -> Certainty {
        match self {
            Self::TimedOut { .. } | Self::Lost { .. } | Self::Unacknowledged { undone: false, .. } => {
                Certainty::Unknown
            }
            Self::NoQuorum { certainty, .. } => *certainty,
            Self::Unavailable { .. }
            | Self::Full { .. }
            | Self::Denied { .. }
            | Self::Misconfigured { .. }
            | Self::CapacityMismatch { .. }
            | Self::Deadlock { .. }
            | Self::Unsupported { .. }
            | Self::Unacknowledged { undone: true, .. }
            | Self::Corrupt { .. } => Certainty::NotExecuted,
        }
    }

    /// Whether the same verb may succeed later without anybody changing anything.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::TimedOut { .. }
            | Self::Lost { .. }
            | Self::Unavailable { .. }
            | Self::Full { .. }
            | Self::NoQuorum { .. }
            | Self::Unacknowledged { .. } => true,
            Self::Denied { .. }
            | Self::Misconfigured { .. }
            | Self::CapacityMismatch { .. }
            | Self::Deadlock { .. }
            | Self::Unsupported { .. }
            | Self::Corrupt { .. } => false,
        }
    }

    /// A short name for counters and logs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::TimedOut { .. } => "timed_out",
            Self::Lost { .. } => "lost",
            Self::Unavailable { .. } => "unavailable",
            Self::Full { .. } => "full",
            Self::Denied { .. } => "denied",
            Self::Misconfigured { .. } => "misconfigured",
            Self::CapacityMismatch { .. } => "capacity_mismatch",
            Self::Deadlock { .. } => "deadlock",
            Self::Unsupported { .. } => "unsupported",
            Self::NoQuorum { .. } => "no_quorum",
            Self::Unacknowledged { .. } => "unacknowledged",
            Self::Corrupt { .. } => "corrupt",
        }
    }
}

readable_debug!(StoreError);
