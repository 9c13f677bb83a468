//! The leases of one HTTP request, which the middleware and the extractors share.

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::pin,
    rc::Rc,
    task::{Context, Poll},
};

use actix::Addr;
use futures_util::{FutureExt, future::LocalBoxFuture};

use crate::{
    core::{LeaseStatus, LossReason},
    lease::{Lease, LeaseLostError},
    manager::LockManager,
    manager::with_lock::WithLockError,
    request::Acquire,
};

/// The leases of one HTTP request. A clone is another handle to them.
#[derive(Clone)]
pub(crate) struct Holdings(Rc<HeldLeases>);

struct HeldLeases {
    locks: Addr<LockManager>,
    leases: RefCell<Vec<Watched>>,
}

/// A lease, and the future that completes when it is over.
struct Watched {
    lease: Rc<Lease>,
    over: LocalBoxFuture<'static, LossReason>,
}

impl Holdings {
    /// Creates the holdings of a request that has no lease yet.
    pub(crate) fn new(locks: Addr<LockManager>) -> Self {
        Self(Rc::new(HeldLeases { locks, leases: RefCell::default() }))
    }

    pub(crate) async fn acquire(&self, asked: Acquire) -> Result<Rc<Lease>, WithLockError> {
        let lease = Rc::new(self.0.locks.send(asked).await??);
        let over = lease.lost().boxed_local();
        self.0.leases.borrow_mut().push(Watched { lease: Rc::clone(&lease), over });
        Ok(lease)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.leases.borrow().is_empty()
    }

    /// Releases all of it, unless the handler has put a lease elsewhere.
    pub(crate) fn release(&self) {
        // Not while it is borrowed: a drop is somebody else's code.
        let leases = self.0.leases.take();
        drop(leases);
    }

    /// Runs `work` while all that is held holds, what is acquired on the way included. When a lease is lost, `work` is
    /// dropped.
    pub(crate) async fn while_held<T>(&self, work: impl Future<Output = T>) -> Result<T, LeaseLostError> {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(lost) = self.poll_lost(cx) {
                return Poll::Ready(Err(lost));
            }
            let before = self.0.leases.borrow().len();
            match work.as_mut().poll(cx) {
                Poll::Ready(done) => Poll::Ready(Ok(done)),
                // The new ones do not wake this task yet.
                Poll::Pending if self.0.leases.borrow().len() > before => self.poll_lost(cx).map(Err),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Returns the first lease that is over. The clock is read at each poll: timers stop while the machine is suspended.
    pub(crate) fn poll_lost(&self, cx: &mut Context<'_>) -> Poll<LeaseLostError> {
        for Watched { lease, over } in self.0.leases.borrow_mut().iter_mut() {
            let reason = match lease.status() {
                LeaseStatus::Lost(reason) => reason,
                LeaseStatus::Released => LossReason::Released,
                LeaseStatus::Held | LeaseStatus::AtRisk => match over.poll_unpin(cx) {
                    Poll::Ready(reason) => reason,
                    Poll::Pending => continue,
                },
            };
            return Poll::Ready(LeaseLostError { resource: lease.resource().clone(), reason });
        }
        Poll::Pending
    }
}
