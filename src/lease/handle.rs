//! The lease: the handle of a caller that holds a lock.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures_util::FutureExt;

use crate::{
    core::{Fence, LeaseStatus, LossReason, Mode, ResourceName, Token},
    lease::{
        HeldScope, LeaseLostError, LeaseShared, ManagerLink, Release, ReleaseError, Released, Renew,
        RenewError, RevokeRequested,
    },
    store::{Durability, Metadata, StoreError, ensure_short},
};

/// A held lock, with an end.
///
/// It is renewed until it is released, dropped or lost. **It can be lost**: when the store cannot be reached for too long, when
/// somebody takes it away by force, when the store forgets. The holder is told before anybody else can be granted the resource
/// ([`lost`](Self::lost), [`run`](Self::run), [`is_valid`](Self::is_valid)). There are three exceptions: its process is frozen, the
/// store itself took the lease away ([`LossReason::NotHeld`], told at the next renewal), or somebody did by force
/// ([`LossReason::Forced`], told at once). The [`fence`](Self::fence) guards against all of them.
///
/// Dropping a lease releases it without an answer; [`release`](Self::release) answers. `let _ = …` drops a lease at once, and
/// nobody can hold the answer to a `do_send`: it is released too. (Clippy's `let_underscore_must_use` finds the former.) A drop
/// only tells the manager. What the manager has not sent when the process ends is never sent, and the lease then ends with its TTL.
/// Therefore send [`Shutdown`](crate::Shutdown) as the last line of `main`, or release and await it.
#[must_use = "a lease that is dropped is released"]
pub struct Lease {
    pub(crate) state: Arc<LeaseShared>,
    pub(super) manager: Arc<ManagerLink>,
    durability: Durability,
    /// True if it has nothing to release when it is dropped.
    pub(super) released: bool,
}

impl Lease {
    pub(crate) const fn new(state: Arc<LeaseShared>, link: Arc<ManagerLink>, durability: Durability) -> Self {
        Self { state, manager: link, durability, released: false }
    }

    /// Releases a lease that was never handed to its caller. No minimum hold counts.
    pub(crate) fn return_unused(self) {
        self.state.hand_out(false);
    }

    /// Releases a lease under which nothing was done, as [`release`](Self::release) does: where the work could not even begin. The
    /// resource opens at once, because neither a minimum hold nor a lock delay counts.
    ///
    /// # Errors
    /// Those of [`release`](Self::release).
    ///
    /// # Cancel safety
    /// Cancel safe: the lease is released in any case.
    pub fn release_unused(self) -> impl Future<Output = Result<Released, ReleaseError>> {
        self.state.hand_out(false);
        self.release()
    }

    /// Returns the resource that is held.
    pub fn resource(&self) -> &ResourceName {
        &self.state.hold().resource
    }

    /// Returns the secret of this acquisition. Anybody who has it can release the lease.
    pub fn token(&self) -> Token {
        self.state.hold().token
    }

    /// Returns how much of the resource is held.
    pub fn mode(&self) -> Mode {
        self.state.terms.acquisition.mode
    }

    /// Returns the fencing number, which is larger than that of every earlier grant of the resource. A re-entry has
    /// the number of the first hold. `None` on stores that cannot issue one.
    pub fn fence(&self) -> Option<Fence> {
        self.state.fence
    }

    /// Returns the number of holds that the owner had of the resource when this one was granted, this one included.
    pub fn holds(&self) -> u64 {
        self.state.holds
    }

    /// Returns the number of a lease of permits: of a worker, a port, a device. It is the lowest one, from 0 on, that no other lease
    /// of permits of the resource had when this one was granted, also if this one takes several permits. It stays the same, and
    /// nobody else gets it before the lease and its lock delay are over. It is below the number of permits, unless
    /// [`SetCapacity`](crate::SetCapacity) has lowered that since.
    ///
    /// `None` in other modes, on a quorum, and if an older version has granted it or had its ticket.
    pub fn slot(&self) -> Option<u32> {
        self.state.slot
    }

    /// Returns how much the store has to lose before it forgets the grant, or a renewal that counted.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.state.terms.acquisition.ttl
    }

    /// Returns true if the lease certainly holds at this moment. Only the clock is read. `false` means that it may not hold.
    pub fn is_valid(&self) -> bool {
        self.state.is_valid_at(self.state.clock.now())
    }

    /// Returns the time for which the lease certainly holds if no renewal succeeds. Zero when it is over.
    pub fn remaining(&self) -> Duration {
        self.state.remaining()
    }

    /// Returns the status of the lease at this moment. Only the clock is read.
    pub fn status(&self) -> LeaseStatus {
        self.state.status()
    }

    /// Waits until the lease is lost, and returns the reason. It also wakes without network and without the manager,
    /// by a timer of the runtime in which it is awaited.
    ///
    /// The future borrows nothing, so that an actor can own the lease and watch it too. It does not keep the lease: when
    /// the lease is dropped or released, the future completes with [`LossReason::Released`].
    ///
    /// ```
    /// # use actix::prelude::*;
    /// # use leasehold::Lease;
    /// # #[allow(dead_code)]
    /// struct Worker {
    ///     lease: Lease,
    /// }
    ///
    /// impl Actor for Worker {
    ///     type Context = Context<Self>;
    ///
    ///     fn started(&mut self, ctx: &mut Self::Context) {
    ///         let lost = self.lease.lost();
    ///         ctx.spawn(lost.into_actor(self).map(|_reason, _, ctx| ctx.stop()));
    ///     }
    /// }
    /// ```
    ///
    /// # Cancel safety
    /// Cancel safe: every later call returns the loss too.
    pub fn lost(&self) -> impl Future<Output = LossReason> + use<> {
        let state = Arc::clone(&self.state);
        async move { state.over().await }
    }

    /// Waits until somebody wants the resource back ([`Revoke`](crate::Revoke)), and returns the reason and the time that is
    /// left to finish, counted when this completes. The lease is valid, and renewed, until it is released or taken away: finish
    /// within the grace, and release it. Whoever ignores this loses the lease with [`LossReason::Forced`].
    ///
    /// If several want it back, the request that ends first is returned. `None` when the lease is over, and nobody wanted it
    /// back. The future borrows nothing, as that of [`lost`](Self::lost).
    ///
    /// ```
    /// # use leasehold::Lease;
    /// # async fn next_step() {}
    /// # #[allow(dead_code)]
    /// async fn work(lease: &Lease) {
    ///     let mut wanted_back = std::pin::pin!(lease.revoke_requested());
    ///     loop {
    ///         tokio::select! {
    ///             _ = &mut wanted_back => break, // what is done is kept, and the next holder goes on
    ///             () = next_step() => {}
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Cancel safety
    /// Cancel safe: every later call returns the request that ends first then, with what is left of its grace.
    pub fn revoke_requested(&self) -> impl Future<Output = Option<RevokeRequested>> + use<> {
        let state = Arc::clone(&self.state);
        async move { state.until_revoke_requested(None).await }
    }

    /// Waits until somebody wants the resource back sooner than this request says, which the holder knows already. Work that
    /// needs most of its grace watches this while it finishes. `None` when the lease is over, and nobody did.
    ///
    /// # Cancel safety
    /// Cancel safe: every later call returns it too.
    pub fn revoke_requested_sooner(
        &self,
        known: &RevokeRequested,
    ) -> impl Future<Output = Option<RevokeRequested>> + use<> {
        let (state, known) = (Arc::clone(&self.state), known.clone());
        async move { state.until_revoke_requested(Some(known)).await }
    }

    /// Returns the loss, or the release, if the lease is over now.
    pub(crate) fn loss(&self) -> Option<LeaseLostError> {
        let reason = self.state.end()?;
        Some(LeaseLostError { resource: self.resource().clone(), reason })
    }

    pub(crate) fn until_lost(&self) -> impl Future<Output = LeaseLostError> + use<> {
        let resource = self.resource().clone();
        self.lost().map(|reason| LeaseLostError { resource, reason })
    }

    /// Runs `work` while the lease holds. When the lease is lost, `work` is stopped: its future is dropped at the next await.
    ///
    /// # Errors
    /// [`LeaseLostError`] when the lease was lost before `work` was done. What `work` had begun may be half done. If
    /// others must be kept from seeing that, give them the [`fence`](Self::fence).
    ///
    /// # Cancel safety
    /// The same as that of `work`. Cancelling does not release the lease.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, LeaseLostError> {
        run_until_lost(self.scope().around(work), || self.loss(), self.until_lost()).await
    }

    /// Returns the scope of code that runs under this lease.
    pub(crate) fn scope(&self) -> HeldScope {
        HeldScope::of(&self.state)
    }

    /// Returns an error if the lease is over now: for work that nothing stops, between two of its steps. Only the clock is read.
    ///
    /// # Errors
    /// [`LeaseLostError`] when the lease is over. The steps before may be done. If others must be kept from seeing them, give
    /// them the [`fence`](Self::fence).
    pub fn check(&self) -> Result<(), LeaseLostError> {
        self.loss().map_or(Ok(()), Err)
    }

    /// Runs work that blocks this thread, unless the lease is over already. Nothing stops it.
    pub(crate) fn run_blocking<T>(&self, work: impl FnOnce(&Self) -> T) -> Result<T, LeaseLostError> {
        self.check()?;
        Ok(self.scope().call(|| work(self)))
    }

    /// Reports progress of the worker: see [`Request::heartbeat`](crate::Request::heartbeat).
    pub fn heartbeat(&self) {
        self.state.heartbeat();
    }

    /// Describes the work of the holder, such as its progress. `Inspect`, `leasehold show` and the console show it beside the metadata
    /// of the request, and in place of the same keys there. A lease that was adopted has no metadata of a request.
    ///
    /// Nothing is sent, so thousands of calls a second are cheap. The latest description goes with the next renewal, within about a
    /// third of the TTL or `renew_every`, or with [`renew`](Self::renew). A lease that is over, released or handed over before that
    /// does not tell it. It is told again after a renewal without a certain answer, and after the connection for notifications broke.
    ///
    /// # Errors
    /// Nothing is changed then. [`RenewError::Invalid`] when it is longer, together with the request's, than
    /// [`metadata`](crate::Request::metadata) may be. [`RenewError::Lost`] when the lease is over. [`RenewError::Store`]
    /// (`Unsupported`) where a store issues no fences, as the plain layout: it keeps no records.
    pub fn describe<K: Into<String>, V: Into<String>>(
        &self,
        told: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), RenewError> {
        let reason = "it keeps no records of holders; on Redis use store.layout = \"full\"";
        self.fence().ok_or_else(|| StoreError::unsupported("descriptions of leases", reason))?;
        let mut metadata = Metadata::clone(&self.state.terms.acquisition.metadata);
        metadata.extend(told.into_iter().map(|(key, value)| (key.into(), value.into())));
        ensure_short(metadata.iter().filter(|(key, value)| self.manager.about.get(*key) != Some(*value)))?;
        self.state.end().map_or(Ok(()), |reason| Err(RenewError::Lost { reason }))?;
        self.state.present().described = Some((Arc::new(metadata), Some(self.state.clock.now())));
        Ok(())
    }

    /// Renews the lease now, and returns the time for which it is certainly valid. Needed only with
    /// [`no_renew`](crate::Request::no_renew).
    ///
    /// # Errors
    /// [`RenewError::Lost`] when the lease is over. It is returned at the end of the lease at the latest, even if the
    /// manager does not answer. [`RenewError::Store`] when the store gave no certain answer: the lease is then valid
    /// until the end that it had before.
    ///
    /// # Cancel safety
    /// Cancel safe: the renewal counts if it is confirmed.
    pub async fn renew(&self) -> Result<Duration, RenewError> {
        // A manager that is being restarted answers late. Waiting for it alone would not notice the loss in time.
        tokio::select! {
            biased;
            reason = self.lost() => Err(RenewError::Lost { reason }),
            answer = self.manager.renew.send(Renew::of(&self.state)) => {
                answer.unwrap_or_else(|error| Err(RenewError::Store(StoreError::unanswered("renew", error))))
            }
        }
    }

    /// Releases the lease, and returns what that did.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`] when the lease had been lost before. [`ReleaseError::Store`] when the store gave no
    /// certain answer: the lease is over for this process all the same, and the library keeps releasing it.
    ///
    /// # Cancel safety
    /// Cancel safe: the lease is released in any case.
    pub async fn release(mut self) -> Result<Released, ReleaseError> {
        let before = self.status();
        let answer = self.manager.release.send(Release::of(&self.state)).await;
        // Only an answer proves that the message was handled. A message whose sender has gone never is, and a manager
        // that panics may not have done it. In both cases `Drop` sends another.
        self.released = answer.is_ok();
        if let LeaseStatus::Lost(reason) = before {
            return Err(ReleaseError::Lost { reason });
        }
        answer.unwrap_or_else(|error| Err(ReleaseError::Store(StoreError::unanswered("release", error))))
    }
}

/// Runs `work` until it is done or the lease is lost. `loss` says whether the lease is lost now, and `lost` waits for it.
pub(super) async fn run_until_lost<T>(
    work: impl Future<Output = T>,
    loss: impl Fn() -> Option<LeaseLostError>,
    lost: impl Future<Output = LeaseLostError>,
) -> Result<T, LeaseLostError> {
    let mut work = pin!(work);
    // The clock is read at each poll: the timer of `lost` stops while the machine is suspended.
    let while_held = poll_fn(|turn| match loss() {
        Some(lost) => Poll::Ready(Err(lost)),
        None => work.as_mut().poll(turn).map(Ok),
    });
    tokio::select! {
        biased;
        lost = lost => Err(lost),
        done = while_held => done,
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.released {
            self.manager.release.do_send(Release::of(&self.state));
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}
