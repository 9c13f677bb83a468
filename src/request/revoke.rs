//! The request to take a resource back from its holders, with its answer and its error.

use std::{sync::Arc, time::Duration};

use actix::Message;

use crate::{
    core::{InvalidValue, ResourceName, ensure, in_range, readable_debug},
    request::LimitSettings,
    store::{LONGEST_REASON, StoreError, is_reason},
};

/// Takes a resource back from all that hold it now: they are told the reason and may finish; when the grace is over, what
/// they still hold is taken away by force, and the next waiter has it. Whoever acquires it meanwhile is left alone, also an
/// owner that re-enters what it holds.
///
/// Holders of every manager are told at once, through [`Lease::revoke_requested`](crate::Lease::revoke_requested) and
/// [`LeaseChange::RevokeRequested`](crate::LeaseChange::RevokeRequested). A holder whose notifications do not arrive at the moment
/// is told again until the grace is over, first after 20 ms, then with pauses that double up to an eighth of the grace, or to 1 s
/// if that is longer. Who loses the lease by force is told that too ([`LossReason::Forced`](crate::LossReason::Forced)).
///
/// ```
/// # use std::time::Duration;
/// use leasehold::Revoke;
/// # use leasehold::{LockManager, MemoryStore, Shutdown};
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// let revoke = Revoke::new("reports/daily").reason("a deploy needs it").grace(Duration::from_secs(10));
/// let revoked = locks.send(revoke).await??;
/// println!("{} finished, {} did not", revoked.finished, revoked.taken);
/// # locks.send(Shutdown { drain: Duration::ZERO }).await?;
/// # Ok(())
/// # }
/// ```
///
/// It is answered when none of them holds any more, at the latest shortly after the grace. It takes the full layout of a
/// Redis store.
///
/// # Without grace
/// [`Revoke::at_once`], which is a grace of zero, is an operator's last resort: it takes the resource from all its holders by
/// one command, also what keeps it closed after a loss or an early release, in any store. Nobody is asked to finish, so nobody
/// is told the reason. Holders of every manager learn of the loss at once, the first 1,000 of them; others, and those whose
/// notifications do not arrive at the moment, at their next renewal, as with the plain layout of Redis. Until they know, two
/// may believe that they hold it.
///
/// # Cancel safety
/// A revoke that the manager has begun to handle goes on if its sender goes. Before that, the message is dropped with the future
/// of `send`. If its manager is shut down, or its process ends, before the grace is over, nothing is taken away by force.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Revoked, RevokeError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Revoke {
    resource: Vec<u8>,
    reason: String,
    grace: Duration,
}

impl Revoke {
    /// Takes this resource back, with 30 s to finish, for no particular reason.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        let (resource, reason) = (resource.as_ref().to_vec(), "no reason given".to_owned());
        Self { resource, reason, grace: Duration::from_secs(30) }
    }

    /// Takes this resource away at once: without grace.
    pub fn at_once(resource: impl AsRef<[u8]>) -> Self {
        Self::new(resource).grace(Duration::ZERO)
    }

    /// Sets the reason, which the holders are told and log: one line of 1 to 200 bytes. Default: "no reason given".
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Sets the time that holders have to finish, at most `limits.max_wait`. Zero is [no grace](Self#without-grace). Default: 30 s.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    pub(crate) fn check(self, limits: &LimitSettings) -> Result<ValidRevoke, InvalidValue> {
        let resource = ResourceName::new(self.resource)?;
        in_range("grace", self.grace, Duration::ZERO, limits.max_wait)?;
        let allowed = format!("one line of 1 to {LONGEST_REASON} bytes");
        ensure(is_reason(&self.reason), "reason", self.reason.escape_debug(), allowed)?;
        Ok(ValidRevoke { resource, reason: Arc::from(self.reason), grace: self.grace })
    }
}

/// A revoke after its check.
pub(crate) struct ValidRevoke {
    pub(crate) resource: ResourceName,
    pub(crate) reason: Arc<str>,
    pub(crate) grace: Duration,
}

/// The holders that a [`Revoke`] was about, by what became of them. All are zero if nobody held the resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revoked {
    /// Holders that were gone before the grace was over: released, or ended.
    pub finished: usize,
    /// Holders that still held when the grace was over, and from which it was taken. Without grace, all that there were.
    pub taken: usize,
    /// Holders of which the store gave no certain answer when the grace was over. They may still hold. The library goes on
    /// releasing them.
    pub unconfirmed: usize,
    /// True if there may have been more holders than one revoke reaches, which is 1,000. They hold as before: send another
    /// one. Also true if more than 1,000 dead holders keep the resource closed by their lock delays, until those are over.
    pub more: bool,
}

/// The reason why a resource was not taken back.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RevokeError {
    /// A value of the request is invalid. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// The store did not say who holds the resource. Holders may have been told; nothing is taken away from them. It is safe
    /// to repeat it. Not so without grace: if the outcome is [unknown](crate::Certainty), the resource may have been taken.
    /// Look ([`Inspect`](crate::Inspect)) before repeating that: it could take it from somebody who got it since.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// As many revokes run as `limits.max_pending` allows. Nothing was sent.
    #[error("the lock manager has {running} revokes that run, as many as it may have")]
    Busy {
        /// The number of revokes that run.
        running: usize,
    },
    /// The manager shuts down. Nothing was taken away; holders may have been told.
    #[error("the lock manager is shutting down; nothing was taken away")]
    ShuttingDown,
}

readable_debug!(RevokeError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_short_line_and_a_grace_has_an_end() {
        let limits = LimitSettings::default();
        let refused = |revoke: Revoke| revoke.check(&limits).err().map(|error| error.to_string());
        let revoke = || Revoke::new("r");
        assert!(refused(revoke()).is_none());
        assert!(refused(revoke().reason("ü".repeat(100)).grace(Duration::ZERO)).is_none());
        for (revoke, expected) in [
            (revoke().reason(""), "invalid reason:  (allowed: one line of 1 to 200 bytes)"),
            (revoke().reason("a\nb"), "invalid reason: a\\nb (allowed: one line of 1 to 200 bytes)"),
            (
                revoke().reason("a\u{202e}b"),
                "invalid reason: a\\u{202e}b (allowed: one line of 1 to 200 bytes)",
            ),
            (revoke().grace(2 * limits.max_wait), "invalid grace: 2d (allowed: 0s to 1d)"),
        ] {
            assert_eq!(refused(revoke).as_deref(), Some(expected));
        }
        assert!(refused(revoke().reason("x".repeat(201))).is_some());
    }
}
