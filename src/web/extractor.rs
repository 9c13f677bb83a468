//! The extractor of a lock, which a handler takes as an argument.

use std::{fmt, marker::PhantomData, ops::Deref, rc::Rc};

use actix_web::{
    Error, FromRequest, HttpMessage, HttpRequest, dev::Payload, error::ErrorInternalServerError,
};
use futures_util::future::LocalBoxFuture;

use super::holdings::Holdings;
use crate::{lease::Lease, request::Acquire};

/// A kind of lock that handlers ask for with [`Locked`].
pub trait LockKey: 'static {
    /// Returns the request for the lock that this HTTP request needs: its name, and its mode, TTL and wait if they are not
    /// the default. A [`ReadLock`](crate::ReadLock) is given as `ReadLock::new(name).into()`.
    ///
    /// # Errors
    /// An error is the response to the client, for instance [`actix_web::error::ErrorBadRequest`] for a path that names
    /// nothing that can be locked.
    fn lock(request: &HttpRequest) -> Result<Acquire, Error>;
}

/// A lock that is held while a handler runs, and until its response has been sent. It is an extractor for handlers inside
/// of the middleware [`Locks`](super::Locks), which holds the lock.
///
/// It dereferences to the [`Lease`]. A client that cannot be given the lock is answered as
/// [errors](crate::web#errors-as-responses) are, and the handler does not run. When the lock is lost, the handler is stopped.
/// Moving the extractor out of the handler, into a task for instance, keeps the lock for as long.
///
/// Extractors of one handler run side by side. Two locks that are taken one by one can wait for each other in a circle: for
/// several resources use [`AcquireAll`](crate::AcquireAll) in the handler.
pub struct Locked<K> {
    lease: Rc<Lease>,
    key: PhantomData<fn() -> K>,
}

impl<K: LockKey> FromRequest for Locked<K> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let holdings = request.extensions().get::<Holdings>().cloned();
        let asked = K::lock(request);
        Box::pin(async move {
            let lease = holdings.ok_or_else(no_middleware)?.acquire(asked?).await?;
            Ok(Self { lease, key: PhantomData })
        })
    }
}

/// Returns the answer to a request outside of the middleware, which the log explains.
fn no_middleware() -> Error {
    tracing::error!("`Locked` is used outside of the middleware `Locks`; add it with `App::wrap`");
    ErrorInternalServerError("the server is not set up for locks")
}

impl<K> Deref for Locked<K> {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        &self.lease
    }
}

impl<K> fmt::Debug for Locked<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Locked").field(&self.lease).finish()
    }
}
