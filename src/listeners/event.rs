//! The events of requests and leases, of which the listeners hear, and the class that each is of.

use std::time::Duration;

use crate::core::{InvalidValue, LossReason, Mode, Moment, ResourceName, Token, ensure};

/// The class of requests that came when there were enough classes.
pub(super) const OTHER: &str = "other";

/// The class of requests that have none, in metrics.
pub(super) const NONE: &str = "none";

/// A class of requests, by its place among the classes of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class(pub(super) u8);

impl Class {
    /// Checks the name of a class, which becomes a label of metrics.
    pub(crate) fn check(name: &str) -> Result<(), InvalidValue> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_.:-".contains(&b);
        let is_label = (1..=64).contains(&name.len()) && name.bytes().all(plain);
        let allowed = "1 to 64 of A-Z a-z 0-9 _ . : -, and neither none nor other";
        ensure(is_label && ![OTHER, NONE].contains(&name), "class", format_args!("{name:?}"), allowed)
    }

    pub(super) const fn place(self) -> usize {
        self.0 as usize
    }
}

/// The request or lease that an event is about, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About {
    pub(crate) token: Option<Token>,
    pub(crate) class: Option<Class>,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestEnd {
    Granted,
    Refused,
    TimedOut,
    Cancelled,
    Failed(&'static str),
}

impl RequestEnd {
    /// Returns a short name for logs and metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed(kind) => kind,
        }
    }
}

/// A request that is valid, and has room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted<'a> {
    pub(crate) resource: &'a ResourceName,
    pub(crate) mode: Mode,
    pub(crate) at: Moment,
    pub(crate) wait: Duration,
    /// True if the number of its attempts is limited.
    pub(crate) counts_attempts: bool,
}

/// An event that the listeners hear of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LockEvent<'a> {
    Requested(Option<Admitted<'a>>),
    Attempted,
    Ended {
        end: RequestEnd,
        attempts: u32,
        waited: Duration,
        /// True if the request left its wait to the settings.
        by_default: bool,
    },
    Renewed {
        near_miss: bool,
        /// The time from when the renewal was due until it was confirmed, if it was due.
        lag: Option<Duration>,
        /// The validity that was left when it was confirmed.
        left: Duration,
    },
    Missed,
    Releasing {
        held_for: Duration,
    },
    /// A release that had begun is confirmed, or the TTL has ended the lease.
    Released,
    Lost {
        reason: LossReason,
        held_for: Duration,
    },
    /// A release that had begun found that the lease had been lost before.
    FoundLost(LossReason),
    RenewerRestarted,
    ManagerRestarted,
    Reclaimed,
}
