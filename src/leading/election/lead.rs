//! The lead of one term: its lease, the end that comes near, and the release.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use actix::Addr;
use tokio::time::{sleep, timeout};

use super::Demotion;
use crate::{
    core::{LeaseStatus, one_line},
    lease::{Lease, Release},
    manager::LockManager,
    store::StoreError,
};

/// The lead of one term. Dropping it gives the lead up, whoever else still has the lease.
pub(super) struct Lead {
    pub(super) lease: Arc<Lease>,
    pub(super) budget: Duration,
    pub(super) locks: Addr<LockManager>,
}

impl Lead {
    /// Waits until the term has to end: the lease is lost, somebody wants it back, or its validity lasts no longer than the
    /// budget.
    pub(super) fn ends(&self) -> impl Future<Output = Demotion> + use<> {
        let (lease, budget) = (Arc::clone(&self.lease), self.budget);
        let budget = if planted!("a leader has no time to finish") { Duration::ZERO } else { budget };
        async move {
            let mut lost = pin!(lease.lost());
            let mut wanted_back = pin!(lease.revoke_requested());
            loop {
                if let LeaseStatus::Lost(reason) = lease.status() {
                    return Demotion::Lost(reason);
                }
                let left = lease.remaining().saturating_sub(budget);
                if left.is_zero() {
                    return Demotion::Expiring;
                }
                tokio::select! {
                    biased;
                    reason = &mut lost => return Demotion::Lost(reason),
                    Some(request) = &mut wanted_back => return Demotion::Revoked(request),
                    () = sleep(left) => {}
                }
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
