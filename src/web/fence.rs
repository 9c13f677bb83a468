//! The guard of a service that others write to under a lock: late requests of overtaken holders are refused.

use std::{
    collections::HashMap,
    fmt,
    future::{Ready, ready},
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

use actix_web::{
    Error, HttpMessage,
    body::EitherBody,
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
};
use futures_util::{FutureExt, TryFutureExt, future::LocalBoxFuture};

use super::{errors::AsProblem, problem::Problem};
use crate::{
    core::{Fence, InvalidValue},
    guarded::fenced::{HEADER, StaleFenceError, parse_header},
};

/// The largest fence of each resource that has come to this process, for a [`FenceGuard`].
///
/// It forgets at a restart, and other processes know nothing of it.
#[derive(Debug)]
pub struct LargestFences {
    limit: usize,
    largest: Mutex<HashMap<String, Fence>>,
}

impl LargestFences {
    /// Returns an empty memory of at most so many resources. One takes about 100 bytes. When it is full, requests about further
    /// ones are answered with 503.
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, largest: Mutex::default() }
    }

    /// Enters with a fence: from now on every smaller one of this resource is refused.
    fn enter(&self, resource: String, fence: Fence) -> Result<(), Refused> {
        // Nothing panics while it is locked.
        let mut largest = self.largest.lock().unwrap_or_else(PoisonError::into_inner);
        if largest.len() >= self.limit && !largest.contains_key(&resource) {
            return Err(Refused::Full(self.limit));
        }
        let known = largest.entry(resource).or_insert(fence);
        if fence < *known {
            return Err(StaleFenceError::new(fence, Some(*known)).into());
        }
        *known = fence;
        Ok(())
    }
}

impl Default for LargestFences {
    /// Returns an empty memory of at most 100,000 resources.
    fn default() -> Self {
        Self::with_limit(100_000)
    }
}

/// The function that says what a request changes.
type Changes = dyn Fn(&ServiceRequest) -> Result<Option<String>, Error>;

/// Middleware that refuses a request whose [fence](HEADER) is smaller than one that has come to this process for the same
/// resource.
///
/// It refuses early, and refuses what comes late. It does not stop a request that is already inside: with a slow body, or a
/// handler that awaits, an older request can still write after a newer one. A handler whose write must never be overtaken
/// compares again where it writes, with [`sql`](crate::fenced::sql) for instance. It reads the fence as `web::ReqData<Fence>`.
///
/// The sender adds the header `leasehold-fence` with the number of [`Lease::fence`](crate::Lease::fence). A request that nobody
/// has authenticated must not come here: one with the largest number of all would keep everybody else out. In actix-web the
/// middleware that is wrapped last runs first.
///
/// | Request | Answer |
/// |---|---|
/// | with a fence as large as the largest, or larger | of the handler |
/// | with a smaller one | 412, `stale_fence`; the handler does not run |
/// | without the header | 428, `fence_required` |
/// | with another text in it, or with two headers | 400, `invalid` |
///
/// ```
/// use std::sync::Arc;
/// use actix_web::{App, dev::ServiceRequest, error::ErrorNotFound, http::Method, web};
/// use leasehold::web::{FenceGuard, LargestFences};
///
/// // Made outside of the closure of `HttpServer::new`: all workers share it.
/// let fences = Arc::new(LargestFences::default());
/// let guard = FenceGuard::new(fences, |request: &ServiceRequest| {
///     if request.method() == Method::GET {
///         return Ok(None);
///     }
///     let id: u64 = request.match_info().query("id").parse().map_err(ErrorNotFound)?;
///     Ok(Some(format!("orders/{id}")))
/// });
/// let app = App::new().service(web::scope("/orders/{id}").wrap(guard));
/// # let _ = app;
/// ```
#[derive(Clone)]
#[must_use = "a middleware does nothing until it wraps an application or a scope"]
pub struct FenceGuard {
    fences: Arc<LargestFences>,
    changes: Rc<Changes>,
}

impl FenceGuard {
    /// Creates a guard. The function names the resource that a request changes; a request for which it returns `None` needs no
    /// fence. An error is the answer to the client.
    pub fn new(
        fences: Arc<LargestFences>,
        changes: impl Fn(&ServiceRequest) -> Result<Option<String>, Error> + 'static,
    ) -> Self {
        Self { fences, changes: Rc::new(changes) }
    }

    /// Lets a request in, or returns the error that answers it.
    fn enter(&self, request: &ServiceRequest) -> Result<(), Error> {
        let Some(resource) = (self.changes)(request)? else {
            return Ok(());
        };
        let fence = fence_of(request)?;
        self.fences.enter(resource, fence)?;
        request.extensions_mut().insert(fence);
        Ok(())
    }
}

fn fence_of(request: &ServiceRequest) -> Result<Fence, Refused> {
    let mut headers = request.headers().get_all(HEADER);
    let header = headers.next().ok_or(Refused::NoFence)?;
    if headers.next().is_some() {
        return Err(InvalidValue::new(HEADER, "two headers", "one header").into());
    }
    Ok(parse_header(&String::from_utf8_lossy(header.as_bytes()))?)
}

/// The reason why a request is not served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("no header {HEADER}")]
    NoFence,
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    #[error(transparent)]
    Stale(#[from] StaleFenceError),
    #[error("the fences of {0} resources are remembered, and there is no room for more")]
    Full(usize),
}

impl AsProblem for Refused {
    fn problem(&self) -> Problem {
        match self {
            Self::NoFence => Problem::FENCE_REQUIRED,
            Self::Invalid(_) => Problem::INVALID,
            Self::Stale(stale) => stale.problem(),
            Self::Full(_) => Problem::UNAVAILABLE,
        }
    }
}

impl fmt::Debug for FenceGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FenceGuard").field("limit", &self.fences.limit).finish_non_exhaustive()
    }
}

impl<S, B> Transform<S, ServiceRequest> for FenceGuard
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: 'static,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = Guarded<S>;
    type InitError = ();
    type Future = Ready<Result<Guarded<S>, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        ready(Ok(Guarded { guard: self.clone(), service }))
    }
}

/// The service that a [`FenceGuard`] has wrapped.
pub struct Guarded<S> {
    guard: FenceGuard,
    service: S,
}

impl<S, B> Service<ServiceRequest> for Guarded<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: 'static,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Error>>;

    forward_ready!(service);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        match self.guard.enter(&request) {
            Ok(()) => self.service.call(request).map_ok(ServiceResponse::map_into_left_body).boxed_local(),
            Err(refused) => {
                tracing::debug!(%refused, "a request is refused before its handler");
                ready(Ok(request.error_response(refused).map_into_right_body())).boxed_local()
            }
        }
    }
}
