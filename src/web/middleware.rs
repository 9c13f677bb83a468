//! The middleware that keeps the locks of a request until its response has been sent, and the extractor of a lock inside of it.

use std::{
    fmt,
    future::{Ready, ready},
    marker::PhantomData,
    ops::Deref,
    rc::Rc,
};

use actix::Addr;
use actix_web::{
    Error, FromRequest, HttpMessage, HttpRequest,
    body::{EitherBody, MessageBody},
    dev::{Payload, Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
    error::ErrorInternalServerError,
    http::Method,
    web::Data,
};
use futures_util::future::LocalBoxFuture;

use super::holdings::{HeldBody, Holdings};
use crate::{lease::Lease, manager::LockManager, request::Acquire};

/// The function that says which lock a request needs.
type Asks = dyn Fn(&ServiceRequest) -> Option<Acquire>;

/// Middleware that holds locks while a request is served, until its response has been sent.
///
/// It makes [`Locked`] work in the handlers that it wraps. With [`lock`](Self::lock) it also takes a lock
/// before each request of a scope:
///
/// ```
/// use std::time::Duration;
/// use actix_web::{App, dev::ServiceRequest, http::Method, web};
/// use leasehold::{Acquire, web::Locks};
///
/// let one_at_a_time = Locks::new().methods([Method::POST, Method::PUT]).lock(|request: &ServiceRequest| {
///     // Parsed as in the handler: `/carts/42`, `/carts/042` and `/carts/4%32` are one cart.
///     let id: u64 = request.match_info().load().ok()?;
///     Some(Acquire::new(format!("carts/{id}")).wait(Duration::from_secs(2)))
/// });
/// let app = App::new().service(web::scope("/carts/{id}").wrap(one_at_a_time));
/// # let _ = app;
/// ```
///
/// The address of the manager comes from the application's data: `app_data(Data::new(locks))`, with the `Addr<LockManager>` that
/// [`start`](crate::LockManagerBuilder::start) returned. Without it every request is answered with 500, and the log says so.
///
/// * **When a lock is lost**, the handler is stopped: its future is dropped at the next await, and the client is answered
///   with 503 and `outcome_unknown`. A body that is made while it is sent is cut off. A body that was complete is sent,
///   unless another middleware, or an outer `Locks` with a lock, makes it a stream.
/// * **The locks are released** when the body of the response has been handed to the connection, when actix-web drops the
///   request, or when the handler fails. It drops the request of a client that has gone at once with HTTP/2, and with
///   HTTP/1 if `HttpServer::h1_allow_half_closed(false)` is set; otherwise only when writing to the client fails. A
///   response without any body has nothing to wait for. To learn whether the lock held until the end, use
///   [`with_lock`](crate::WithLock::with_lock) in the handler instead.
/// * **A slow client keeps a lock** that was taken before it has sent its body, and until it has read the response. A
///   public application gives its requests a [`max_hold`](crate::Request::max_hold), or takes the lock in the handler when
///   the body has been read.
/// * **An inner `Locks`** holds its own locks, and those of the extractors inside of it.
#[derive(Clone, Default)]
#[must_use = "a middleware does nothing until it wraps an application or a scope"]
pub struct Locks {
    asks: Option<Rc<Asks>>,
    methods: Option<Vec<Method>>,
}

impl Locks {
    /// Returns a middleware that holds the locks of extractors, and takes none by itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the lock that this function returns before each request is served; none for `None`. A request that does not
    /// get its lock is answered as [errors](crate::web#errors-as-responses) are.
    pub fn lock(mut self, asks: impl Fn(&ServiceRequest) -> Option<Acquire> + 'static) -> Self {
        self.asks = Some(Rc::new(asks));
        self
    }

    /// Takes the lock of [`lock`](Self::lock) for these methods alone. Default: all methods.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = Some(methods.into_iter().collect());
        self
    }

    fn asked(&self, request: &ServiceRequest) -> Option<Acquire> {
        let counts = self.methods.as_ref().is_none_or(|methods| methods.contains(request.method()));
        self.asks.as_ref().filter(|_| counts)?(request)
    }
}

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locks").field("methods", &self.methods).finish_non_exhaustive()
    }
}

impl<S, B> Transform<S, ServiceRequest> for Locks
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = HoldingService<S>;
    type InitError = ();
    type Future = Ready<Result<HoldingService<S>, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        ready(Ok(HoldingService { locks: self.clone(), service: Rc::new(service) }))
    }
}

/// The service that a [`Locks`] has wrapped.
pub struct HoldingService<S> {
    locks: Locks,
    service: Rc<S>,
}

impl<S, B> Service<ServiceRequest> for HoldingService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Error>>;

    forward_ready!(service);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let (service, asked) = (Rc::clone(&self.service), self.locks.asked(&request));
        Box::pin(async move {
            let Some(locks) = request.app_data::<Data<Addr<LockManager>>>() else {
                let no_manager =
                    "there is no `Data<Addr<LockManager>>` for `Locks`; add it with `App::app_data`";
                return Ok(request.error_response(not_set_up(no_manager)).map_into_right_body());
            };
            let holdings = Holdings::new(locks.get_ref().clone());
            if let Some(asked) = asked
                && let Err(error) = holdings.acquire(asked).await
            {
                return Ok(request.error_response(error).map_into_right_body());
            }
            request.extensions_mut().insert(holdings.clone());
            let served = holdings.while_held(service.call(request)).await;
            // After an error the handler has been dropped, so that nothing runs on without the locks.
            let response =
                served.unwrap_or_else(|lost| Err(lost.into())).inspect_err(|_| holdings.release())?;
            if holdings.is_empty() {
                return Ok(response.map_into_left_body());
            }
            Ok(response.map_body(|_, body| EitherBody::right(HeldBody::new(body, holdings).boxed())))
        })
    }
}

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
/// of the middleware [`Locks`], which holds the lock.
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
            let no_middleware = "`Locked` is used outside of the middleware `Locks`; add it with `App::wrap`";
            let lease = holdings.ok_or_else(|| not_set_up(no_middleware))?.acquire(asked?).await?;
            Ok(Self { lease, key: PhantomData })
        })
    }
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

/// Returns the answer of a server that is not set up for locks, for a reason that the log tells.
fn not_set_up(reason: &str) -> Error {
    tracing::error!("{reason}");
    ErrorInternalServerError("the server is not set up for locks")
}
