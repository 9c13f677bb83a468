//! The lease of several resources: the handle of a caller that asked for all of them.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{join_all, select_all},
};

use super::{HeldScope, Lease, LeaseLostError, ReleaseSetError, handle::run_until_lost};
use crate::core::{Fence, ResourceName};

/// Several held locks with one handle: the answer to [`AcquireAll`](crate::AcquireAll).
///
/// They are renewed and released together. As soon as one of them is lost, the set is lost: [`lost`](Self::lost),
/// [`run`](Self::run) and [`is_valid`](Self::is_valid) say so under the same conditions as those of a [`Lease`]. The
/// others are held until the set is dropped or released, so that the holder has time to stop.
///
/// Dropping a set releases all of it without an answer; [`release`](Self::release) answers.
#[must_use = "a set of leases that is dropped is released"]
pub struct LeaseSet {
    /// The leases, in the order of the names of their resources.
    leases: Vec<Lease>,
}

impl LeaseSet {
    /// Returns one handle for these leases, which are renewed together from now on.
    pub(crate) fn of(leases: Vec<Lease>) -> Self {
        let tokens: Arc<[_]> = leases.iter().map(Lease::token).collect();
        for lease in &leases {
            lease.state.joined.get_or_init(|| Arc::clone(&tokens));
        }
        Self { leases }
    }

    pub(crate) fn hand_out(&self) {
        self.leases.iter().for_each(|lease| lease.state.hand_out(true));
    }

    pub(crate) fn return_unused(self) {
        self.leases.into_iter().for_each(Lease::return_unused);
    }

    /// Returns the lease of each resource, in the order of their names. With [`no_renew`](crate::Request::no_renew)
    /// each is renewed by [`Lease::renew`].
    pub fn leases(&self) -> &[Lease] {
        &self.leases
    }

    /// Returns the resources that are held, in the order of their names.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceName> {
        self.leases.iter().map(Lease::resource)
    }

    /// Returns the [`fence`](Lease::fence) of this resource. `None` if it is not part of the set, or if the store cannot issue one.
    pub fn fence(&self, resource: impl AsRef<[u8]>) -> Option<Fence> {
        let at = self.leases.binary_search_by(|lease| lease.resource().as_bytes().cmp(resource.as_ref()));
        self.leases[at.ok()?].fence()
    }

    /// Returns true if all of the set certainly holds at this moment. Only the clock is read. `false` means that it may not hold.
    pub fn is_valid(&self) -> bool {
        self.leases.iter().all(Lease::is_valid)
    }

    /// Returns the time for which all of the set certainly holds if no renewal succeeds. Zero when a part is over.
    pub fn remaining(&self) -> Duration {
        self.leases.iter().map(Lease::remaining).min().unwrap_or_default()
    }

    /// Waits until a part is lost, and returns which one and the reason: see [`Lease::lost`]. The future borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: every later call returns the loss too.
    pub fn lost(&self) -> impl Future<Output = LeaseLostError> + use<> {
        first_lost(&self.leases)
    }

    /// Runs `work` while all of the set holds. When a part is lost, `work` is stopped: its future is dropped at the next await.
    ///
    /// # Errors
    /// [`LeaseLostError`] when a part was lost before `work` was done. What `work` had begun may be half done. If others
    /// must be kept from seeing that, give them the [`fence`](Self::fence)s.
    ///
    /// # Cancel safety
    /// The same as that of `work`. Cancelling does not release the set.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, LeaseLostError> {
        let scope = HeldScope::of_several(self.leases.iter().map(|lease| Arc::clone(&lease.state)).collect());
        run_until_lost(scope.around(work), || self.leases.iter().find_map(Lease::loss), self.lost()).await
    }

    /// Reports progress of the worker: see [`Request::heartbeat`](crate::Request::heartbeat).
    pub fn heartbeat(&self) {
        self.leases.iter().for_each(Lease::heartbeat);
    }

    /// Releases all of the set, together.
    ///
    /// # Errors
    /// [`ReleaseSetError`] names each part that had been lost before, or for which the store gave no certain answer.
    /// The set is over for this process all the same, and the library keeps releasing it.
    ///
    /// # Cancel safety
    /// Cancel safe: the set is released in any case.
    pub async fn release(self) -> Result<(), ReleaseSetError> {
        let releases = self.leases.into_iter().map(|lease| async {
            let resource = lease.resource().clone();
            lease.release().await.err().map(|error| (resource, error))
        });
        let failed: Vec<_> = join_all(releases).await.into_iter().flatten().collect();
        if failed.is_empty() { Ok(()) } else { Err(ReleaseSetError { failed }) }
    }
}

/// Waits until one of these leases is lost. There must be at least one.
pub(crate) fn first_lost(leases: &[Lease]) -> impl Future<Output = LeaseLostError> + use<> {
    select_all(leases.iter().map(|lease| lease.until_lost().boxed())).map(|(lost, ..)| lost)
}

impl fmt::Debug for LeaseSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.leases).finish()
    }
}
