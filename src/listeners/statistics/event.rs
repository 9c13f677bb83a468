//! The events that are counted.

use std::time::Duration;

use crate::core::LossReason;

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

/// An event that is counted, in each place that counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CountedEvent {
    Requested,
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
