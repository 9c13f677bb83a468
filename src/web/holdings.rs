//! The leases of one HTTP request, which the middleware and the extractors share, and the response body that keeps them.

use std::{
    cell::RefCell,
    error::Error,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use actix::Addr;
use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    web::Bytes,
};
use futures_util::{FutureExt, future::LocalBoxFuture};

use crate::{
    lease::{HeldScope, Lease, LeaseLostError},
    manager::{LockManager, with_lock::WithLockError},
    request::Acquire,
};

/// The leases of one HTTP request. A clone is another handle to them.
#[derive(Clone)]
pub(crate) struct Holdings {
    locks: Addr<LockManager>,
    leases: Rc<RefCell<Vec<Watched>>>,
    /// The scope of the handler and of its body, which all leases join.
    scope: HeldScope,
}

/// A lease, and the future that completes when it is over.
struct Watched {
    lease: Rc<Lease>,
    over: LocalBoxFuture<'static, LeaseLostError>,
}

impl Holdings {
    /// Creates the holdings of a request that has no lease yet.
    pub(crate) fn new(locks: Addr<LockManager>) -> Self {
        Self { locks, leases: Rc::default(), scope: HeldScope::of_several(Vec::new()) }
    }

    pub(crate) async fn acquire(&self, asked: Acquire) -> Result<Rc<Lease>, WithLockError> {
        let lease = Rc::new(self.locks.send(asked).await??);
        let over = lease.until_lost().boxed_local();
        self.scope.add(Arc::clone(&lease.state));
        self.leases.borrow_mut().push(Watched { lease: Rc::clone(&lease), over });
        Ok(lease)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.leases.borrow().is_empty()
    }

    /// Releases all of it, unless the handler has put a lease elsewhere.
    pub(crate) fn release(&self) {
        // Not while it is borrowed: a drop is somebody else's code.
        drop(self.leases.take());
    }

    /// Runs `work` while all that is held holds, what is acquired on the way included. When a lease is lost, `work` is dropped.
    pub(crate) async fn while_held<T>(&self, work: impl Future<Output = T>) -> Result<T, LeaseLostError> {
        let mut work = pin!(self.scope.clone().around(work));
        poll_fn(|cx| {
            if let Poll::Ready(lost) = self.poll_lost(cx) {
                return Poll::Ready(Err(lost));
            }
            let before = self.leases.borrow().len();
            match work.as_mut().poll(cx) {
                Poll::Ready(done) => Poll::Ready(Ok(done)),
                // The new ones do not wake this task yet.
                Poll::Pending if self.leases.borrow().len() > before => self.poll_lost(cx).map(Err),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Returns the first lease that is over. The clock is read at each poll: timers stop while the machine is suspended.
    pub(crate) fn poll_lost(&self, cx: &mut Context<'_>) -> Poll<LeaseLostError> {
        for Watched { lease, over } in self.leases.borrow_mut().iter_mut() {
            let lost = lease.loss().map_or_else(|| over.poll_unpin(cx), Poll::Ready);
            if lost.is_ready() {
                return lost;
            }
        }
        Poll::Pending
    }
}

/// A body that holds locks until it is dropped: when it has been sent, or when the client has gone.
pub(crate) struct HeldBody {
    body: BoxBody,
    /// True if the body is still being made while it is sent, so that a loss of the lock has to stop it.
    is_made_on_the_way: bool,
    holdings: Holdings,
}

impl HeldBody {
    pub(crate) fn new(body: impl MessageBody + 'static, holdings: Holdings) -> Self {
        let body = body.boxed();
        let (body, is_made_on_the_way) = match body.size() {
            // As bytes it would become a body without a byte, which has another header.
            BodySize::None => (body, false),
            BodySize::Sized(_) | BodySize::Stream => match body.try_into_bytes() {
                Ok(whole) => (BoxBody::new(whole), false),
                Err(stream) => (stream, true),
            },
        };
        Self { body, is_made_on_the_way, holdings }
    }
}

impl MessageBody for HeldBody {
    type Error = Box<dyn Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.is_made_on_the_way
            && let Poll::Ready(lost) = self.holdings.poll_lost(cx)
        {
            return Poll::Ready(Some(Err(lost.into())));
        }
        self.holdings.scope.clone().call(|| Pin::new(&mut self.body).poll_next(cx))
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        // The body may still work: it ends before the locks do.
        self.body = BoxBody::new(());
        self.holdings.release();
    }
}
