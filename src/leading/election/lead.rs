//! The lead: that of one term, with its end and its release, and the look at who else has it.

use std::{future::Future, sync::Arc, time::Duration};

use actix::Addr;
use futures_util::TryFutureExt;
use tokio::time::timeout;

use super::{Demotion, ElectionEvent, messages::Audience};
use crate::{
    core::{ResourceName, one_line},
    lease::{Lease, Release},
    manager::LockManager,
    request::{Inspect, InspectError},
    store::{Holder, HolderState, Inspection, StoreError},
};

/// The lead of one term. Dropping it gives the lead up, whoever else still has the lease.
pub(super) struct Lead {
    pub(super) lease: Arc<Lease>,
    pub(super) budget: Duration,
    pub(super) locks: Addr<LockManager>,
}

impl Lead {
    /// Waits until the term has to end: the lease is lost, somebody wants it back, or its validity lasts no longer than the budget.
    pub(super) fn ends(&self) -> impl Future<Output = Demotion> + use<> {
        let (lease, budget) = (Arc::clone(&self.lease), self.budget);
        let budget = if planted!("a leader has no time to finish") { Duration::ZERO } else { budget };
        async move {
            loop {
                // Not by renewals, but also when the clock has jumped while timers stood still.
                let changed = lease.state.changed.notified();
                if let Some(reason) = lease.state.end() {
                    return Demotion::Lost(reason);
                }
                if let Some(request) = lease.state.wanted_back() {
                    return Demotion::Revoked(request);
                }
                let left = lease.remaining().saturating_sub(budget);
                if left.is_zero() {
                    return Demotion::Expiring;
                }
                let _ = timeout(left, changed).await;
            }
        }
    }

    /// Waits until those who were told have finished, but no longer than the budget allows and the lease is valid.
    pub(super) async fn finish(&self, told: impl Future<Output = ()>) {
        if planted!("the lead is given up before the work is finished") {
            return;
        }
        let finished = async {
            tokio::select! {
                biased;
                _ = self.lease.lost() => {}
                () = told => {}
            }
        };
        if timeout(self.budget, finished).await.is_err() {
            tracing::warn!(
                resource = %self.lease.resource(), budget = ?self.budget,
                "a leader has not finished in time; giving the lead up all the same"
            );
        }
    }

    /// Releases the lease, and waits for the answer. One that is lost is left to those who still have it: it is released
    /// when the last of them drops it, and has come to rest.
    pub(super) async fn give_up(self) {
        let Some(release) = self.release() else { return };
        let answer = self.locks.send(release).await;
        if let Err(error) =
            answer.unwrap_or_else(|error| Err(StoreError::unanswered("release", error).into()))
        {
            let (resource, error) = (self.lease.resource(), one_line(&error));
            tracing::debug!(%resource, error, "the release of a lead is not confirmed");
        }
    }

    /// By its token: others may have the lease too.
    fn release(&self) -> Option<Release> {
        let release = || Release::new(self.lease.resource().as_bytes(), self.lease.token());
        self.lease.is_valid().then(release)
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if let Some(release) = self.release() {
            self.locks.do_send(release);
        }
    }
}

/// The answer to the question who leads. `None` means nobody.
pub(super) type Leading = Result<Option<Holder>, InspectError>;

/// The other leaders, as far as they are known, and the recipients that are told of them.
#[derive(Default)]
pub(super) struct Looking {
    pub(super) audience: Audience,
    pub(super) is_on_its_way: bool,
    /// The leader that was told last.
    pub(super) told: Option<Holder>,
}

impl Looking {
    /// Tells who leads, if that is news.
    pub(super) fn answered(&mut self, name: &ResourceName, answer: Leading) {
        self.is_on_its_way = false;
        match answer {
            Ok(leader) if self.is_news(leader.as_ref()) => {
                self.told.clone_from(&leader);
                self.audience.tell(&ElectionEvent::LeaderChanged { to: leader });
            }
            Ok(_) => {}
            // The end of the lock manager is seen by the look at the audience.
            Err(error) => {
                tracing::debug!(resource = %name, error = one_line(&error), "could not see who leads")
            }
        }
    }

    /// Returns true if this is another leader than the one that was told last. An answer that is older than that is none.
    fn is_news(&self, leader: Option<&Holder>) -> bool {
        match (&self.told, leader) {
            (Some(told), Some(leader)) => {
                let is_older = leader.fence.is_some() && told.fence > leader.fence;
                told.token != leader.token && !is_older
            }
            (told, leader) => told.is_some() != leader.is_some(),
        }
    }
}

/// Asks the store who leads. A holder that only keeps the resource closed does not.
pub(super) fn leader(locks: &Addr<LockManager>, of: &ResourceName) -> impl Future<Output = Leading> + use<> {
    let leads = |holder: &Holder| holder.state == HolderState::Holding;
    inspect(locks, of, 1).map_ok(move |inspection| inspection.holders.into_iter().find(leads))
}

/// Asks who holds a resource, and who waits for it.
pub(crate) fn inspect(
    locks: &Addr<LockManager>,
    name: &ResourceName,
    limit: usize,
) -> impl Future<Output = Result<Inspection, InspectError>> + use<> {
    let answer = locks.send(Inspect::new(name.as_bytes()).limit(limit));
    async { answer.await.map_err(|error| StoreError::unanswered("inspect", error))? }
}
