//! The errors of requests, one enum for each kind; every variant says what the caller may believe now.

use std::time::Duration;

use crate::{
    core::{InvalidValue, ResourceName, counted, exact, readable_debug, rough},
    store::{Holder, StoreError},
};

/// The reason why a request got no lease.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// A value of the request is invalid. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// Another holder has the resource. The caller certainly holds nothing.
    #[error("held by {} for another {}; gave up after {} and {}{}", name(.by), rough(*.remaining), counted((*.attempts).into(), "attempt"), rough(*.waited), likely(*.expected_wait))]
    Held {
        /// A holder that was in the way at the last attempt.
        by: Box<Holder>,
        /// The time after which the holders would have ended on their own, as of that attempt. They may renew.
        remaining: Duration,
        /// The number of waiters ahead of the caller, as last reported. `None` if it did not wait in the queue.
        ahead: Option<u64>,
        /// The number of attempts that were made.
        attempts: u32,
        /// The time that the caller waited.
        waited: Duration,
        /// The time that the caller would likely have had to wait from now on, as in
        /// [`LeaseChange::Queued`](crate::LeaseChange::Queued). `None` as long as nothing is known. A request that did not
        /// wait in the queue does not know of waiters of other managers, which come before it.
        expected_wait: Option<Duration>,
    },
    /// This resource has as many waiters as it may have. The caller certainly holds nothing, and does not wait.
    #[error("{} for it already; try again later", if *waiters == 1 { "another waits".to_owned() } else { format!("{waiters} others wait") })]
    QueueFull {
        /// The number of waiters.
        waiters: u64,
    },
    /// The manager has as many pending requests as it may have. Nothing was sent.
    #[error("the lock manager is busy: {} pending; try again later", if *pending == 1 { "1 request is".to_owned() } else { format!("{pending} requests are") })]
    Busy {
        /// The number of pending requests.
        pending: usize,
    },
    /// The store gave no certain answer, or can never grant this. The caller holds nothing that it could use. The
    /// library reclaims what the store may still grant.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The answer came after the lease that it granted had run out. The lease is released.
    #[error("granted, but the answer took longer than the ttl of {}; use a longer ttl", exact(*ttl))]
    TooLate {
        /// The TTL of the request.
        ttl: Duration,
    },
    /// One resource of a set was not granted, so none is. The caller holds nothing of the set.
    #[error("{resource}: {error}")]
    OneOfSet {
        /// The resource that was not granted.
        resource: ResourceName,
        /// The reason why it was not granted.
        #[source]
        error: Box<AcquireError>,
    },
    /// The manager is shutting down and accepts no new requests. The caller holds nothing.
    #[error("the lock manager is shutting down")]
    ShuttingDown,
    /// The manager crashed while this request was pending, and was restarted. The caller holds nothing. The library
    /// reclaims what the store may have granted. Ask again.
    #[error("the lock manager was restarted; ask again")]
    Restarted,
}

impl AcquireError {
    /// Returns a short name for counters and logs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Held { .. } => "held",
            Self::QueueFull { .. } => "queue_full",
            Self::Busy { .. } => "busy",
            Self::Store(error) => error.kind(),
            Self::TooLate { .. } => "too_late",
            Self::OneOfSet { error, .. } => error.kind(),
            Self::ShuttingDown => "shutting_down",
            Self::Restarted => "restarted",
        }
    }

    /// Returns the error itself, without the resource of a set that it is about.
    pub fn cause(&self) -> &Self {
        match self {
            Self::OneOfSet { error, .. } => error.cause(),
            error => error,
        }
    }

    /// Returns the same error as one of this resource of a set, if it is about a resource.
    pub(crate) fn of(self, resource: &ResourceName) -> Self {
        match self {
            Self::Invalid(_) | Self::Busy { .. } | Self::ShuttingDown | Self::Restarted => self,
            error => Self::OneOfSet { resource: resource.clone(), error: Box::new(error) },
        }
    }
}

/// Describes a holder in a sentence: its owner or else its token, and what it reported about its purpose and its process.
fn name(holder: &Holder) -> String {
    let known = |key: &str| holder.metadata.get(key).map(String::as_str);
    let who = match &holder.owner {
        Some(owner) => format!("owner {owner}"),
        None => format!("token {}", holder.token),
    };
    let host = known("host").map(|host| format!("host {host}"));
    let pid = known("pid").map(|pid| format!("pid {pid}"));
    let about: Vec<_> = [known("purpose").map(str::to_owned), host, pid].into_iter().flatten().collect();
    if about.is_empty() { who } else { format!("{who} ({})", about.join(", ")) }
}

/// Describes the wait that was still expected, if one was.
fn likely(expected: Option<Duration>) -> String {
    expected.map_or_else(String::new, |expected| format!(", with about {} to wait", rough(expected)))
}

/// The reason why a query about locks has no answer.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// A value of the query is invalid. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// As many queries of this kind have no answer yet as `limits.max_pending` allows. Nothing was sent.
    #[error("the lock manager is busy: {pending} queries have no answer yet; try again later")]
    Busy {
        /// The number of queries without an answer.
        pending: usize,
    },
    /// The store gave no certain answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a lock manager does not start. Starting never needs the store.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A setting is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// There is no actix system to run in. Start it inside `#[actix::main]`, `#[actix_web::main]` or a `System`. Programs without
    /// one, such as those of axum, use [`start_anywhere`](crate::start_anywhere).
    #[error(
        "no actix system is running on this thread; start the lock manager inside one, or with leasehold::start_anywhere"
    )]
    NoSystem,
    /// The thread of the arbiter could not be started.
    #[error("the arbiter of the lock manager could not be started")]
    Arbiter(#[source] std::io::Error),
}

readable_debug!(AcquireError, InspectError, StartError);

#[cfg(test)]
mod tests {
    use std::{error::Error, io, sync::Arc};

    use super::*;
    use crate::{core::LossReason, lease::ReleaseError};

    #[test]
    fn one_is_told_in_the_singular() {
        for (error, told) in [
            (AcquireError::QueueFull { waiters: 1 }, "another waits"),
            (AcquireError::QueueFull { waiters: 2 }, "2 others wait"),
            (AcquireError::Busy { pending: 1 }, "1 request is pending"),
            (AcquireError::Busy { pending: 2 }, "2 requests are pending"),
        ] {
            assert!(error.to_string().contains(told), "{error}");
        }
    }

    #[test]
    fn what_main_prints_of_an_error_can_be_read() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let source = Some(Arc::new(refused()) as _);
        let gone = StoreError::Unavailable { reason: "10.0.0.1:6379: no route".to_owned(), source };
        for (error, expected) in [
            (
                Box::<dyn Error>::from(AcquireError::from(gone.clone())),
                "AcquireError(the store is not available: 10.0.0.1:6379: no route: connection refused)",
            ),
            (
                ReleaseError::Lost { reason: LossReason::NotHeld }.into(),
                "ReleaseError(the lease was lost before it was released: the store says it is not held)",
            ),
            (
                StartError::Arbiter(refused()).into(),
                "StartError(the arbiter of the lock manager could not be started: connection refused)",
            ),
            (
                AcquireError::Invalid(InvalidValue::new("ttl", "0s", "more")).into(),
                "AcquireError(invalid ttl: 0s (allowed: more))",
            ),
        ] {
            assert_eq!(format!("{error:?}"), expected);
        }
        let (reason, source) = (refused().to_string(), Some(Arc::new(refused()) as _));
        let twice = StoreError::Unavailable { reason, source };
        assert_eq!(format!("{twice:?}"), "StoreError(the store is not available: connection refused)");
    }
}
