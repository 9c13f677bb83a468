//! What can go wrong for a caller, one enum an operation; each variant says what the caller may believe now.

use std::time::Duration;

use crate::{
    protocol::{Invalid, LossReason, ResourceName, exact, readable_debug, rough},
    store::{Holder, StoreError},
};

/// Why there is no lease.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// A value of the request cannot be right. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Somebody else holds the resource. The caller certainly holds nothing.
    #[error("held by {} for another {}; gave up after {attempts} attempts and {}", name(.by), rough(*.remaining), rough(*.waited))]
    Held {
        /// A holder that was in the way at the last attempt.
        by: Box<Holder>,
        /// How long holders had then until they end on their own; they may renew.
        remaining: Duration,
        /// How many waited ahead of the caller when it was told last; `None` if it did not wait in the queue.
        ahead: Option<u64>,
        /// How many attempts were made.
        attempts: u32,
        /// How long the caller waited.
        waited: Duration,
    },
    /// As many as may be wait for this resource already. The caller certainly holds nothing, and does not wait.
    #[error("{waiters} others wait for it already; try again later")]
    QueueFull {
        /// How many wait.
        waiters: u64,
    },
    /// The manager has as many pending requests as it may have. Nothing was sent.
    #[error("the lock manager is busy: {pending} requests are pending; try again later")]
    Busy {
        /// How many requests are pending.
        pending: usize,
    },
    /// The store gave no certain answer, or can never grant this. The caller holds nothing that it could use; what
    /// the store may still grant is given back by the library.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The answer came after the lease that it granted had run out. It is given back.
    #[error("granted, but the answer took longer than the ttl of {}; use a longer ttl", exact(*ttl))]
    TooLate {
        /// The TTL that was asked for.
        ttl: Duration,
    },
    /// This resource of several is why there is none of them. The caller holds nothing of the set.
    #[error("{resource}: {error}")]
    OneOfSet {
        /// Which one.
        resource: ResourceName,
        /// Why it was not granted.
        #[source]
        error: Box<AcquireError>,
    },
    /// The manager is shutting down and takes no new requests. The caller holds nothing.
    #[error("the lock manager is shutting down")]
    ShuttingDown,
    /// The manager crashed while this request was pending, and was started again. The caller holds nothing; what the
    /// store may have granted is given back by the library. Ask again.
    #[error("the lock manager was restarted; ask again")]
    Restarted,
}

impl AcquireError {
    /// A short name for counters and logs.
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

    /// The error itself, whichever resource of several it is about.
    pub fn cause(&self) -> &Self {
        match self {
            Self::OneOfSet { error, .. } => error.cause(),
            error => error,
        }
    }

    /// The same, if it is about a resource: of this one of several.
    pub(crate) fn of(self, resource: &ResourceName) -> Self {
        match self {
            Self::Invalid(_) | Self::Busy { .. } | Self::ShuttingDown | Self::Restarted => self,
            error => Self::OneOfSet { resource: resource.clone(), error: Box::new(error) },
        }
    }
}

/// A holder in a sentence: its owner or else its token, and what it told about its purpose and its process.
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

/// Why a lease could not be given back.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// A value of the request cannot be right. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// This token holds nothing: it was released before, it expired, or it never held. Nothing was changed.
    #[error("not the holder: this token holds nothing (it was released, or it expired)")]
    NotHolder,
    /// The lease had been lost before it was given back: work done since may have run beside that of another holder.
    /// Whatever the store still held for it has been given back.
    #[error("the lease was lost before it was released: {reason}")]
    Lost {
        /// Why it was lost.
        reason: LossReason,
    },
    /// The store gave no certain answer. The lease is over for this process; the library goes on giving it back until
    /// its end, at which it is over in any case.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a lease was not renewed.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RenewError {
    /// The lease is over. Nothing was sent, or the store said that it is not held.
    #[error("the lease is lost: {reason}")]
    Lost {
        /// Why it was lost.
        reason: LossReason,
    },
    /// This manager knows no lease of this token. Nothing was sent.
    #[error("this lock manager holds no lease of that token")]
    Unknown,
    /// The store gave no certain answer. The lease is valid until the end that it had before.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The lease was lost, and with it the right to go on.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease was lost: {reason}")]
pub struct LeaseLost {
    /// Why.
    pub reason: LossReason,
}

/// One of several leases that are held together was lost, and with it the right to go on.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the lease of {resource} was lost: {reason}")]
pub struct SetLost {
    /// Which one: the first that was found lost.
    pub resource: ResourceName,
    /// Why.
    pub reason: LossReason,
}

/// Not all of a set was given back as it should be. The set is over for this process all the same, and the library goes
/// on giving it back.
#[derive(Clone, thiserror::Error)]
#[error("of the set {} could not be given back as it should be; {}: {}", failed.len(), failed[0].0, failed[0].1)]
#[non_exhaustive]
pub struct ReleaseSetError {
    /// Each resource that was not released, and why, in the order of their names. At least one.
    pub failed: Vec<(ResourceName, ReleaseError)>,
}

/// Why a question about locks has no answer.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// A value of the question cannot be right. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The store gave no certain answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a lock manager does not start. It never needs the store for that.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A setting cannot be right.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// There is no actix system to run in: start it inside `#[actix::main]`, `#[actix_web::main]` or a `System`.
    #[error("no actix system is running on this thread; start the lock manager inside one")]
    NoSystem,
    /// The arbiter's thread could not be started.
    #[error("the arbiter of the lock manager could not be started")]
    Arbiter(#[source] std::io::Error),
}

readable_debug!(
    AcquireError,
    ReleaseError,
    RenewError,
    LeaseLost,
    SetLost,
    ReleaseSetError,
    InspectError,
    StartError,
);

#[cfg(test)]
mod tests {
    use std::{error::Error, io, sync::Arc};

    use super::*;

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
                AcquireError::Invalid(Invalid::new("ttl", "0s", "more")).into(),
                "AcquireError(invalid ttl: 0s (allowed: more))",
            ),
        ] {
            assert_eq!(format!("{error:?}"), expected);
        }
        let twice =
            StoreError::Unavailable { reason: refused().to_string(), source: Some(Arc::new(refused())) };
        assert_eq!(format!("{twice:?}"), "StoreError(the store is not available: connection refused)");
    }
}
