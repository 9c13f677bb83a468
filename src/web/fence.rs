//! The guard of a service that others write to under a lock: requests of overtaken holders are refused.

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
    fenced::{HEADER, StaleFence, parse_header},
};

/// The largest fence of each resource that has come to this process.
///
/// It forgets at a restart, and other processes know nothing of it. What has to stand for ever is compared where it is
/// written, with [`sql`](crate::fenced::sql) for instance. A resource takes about 100 bytes, for as long as the process runs.
#[derive(Debug, Default)]
pub struct LargestFences(Mutex<HashMap<String, Fence>>);

impl LargestFences {
    /// Enters with a fence: from now on every smaller one of this resource is refused.
    ///
    /// # Errors
    /// [`StaleFence`], with the larger one.
    pub fn enter(&self, resource: &str, fence: Fence) -> Result<(), StaleFence> {
        // Nothing panics while it is locked.
        let mut largest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match largest.get_mut(resource) {
            Some(known) if fence < *known => Err(StaleFence::new(fence, Some(*known))),
            Some(known) => {
                *known = fence;
                Ok(())
            }
            None => {
                largest.insert(resource.to_owned(), fence);
                Ok(())
            }
        }
    }
}

/// The function that says what a request changes.
type Changes = dyn Fn(&ServiceRequest) -> Option<String>;

/// Middleware that refuses a request whose [fence](HEADER) is smaller than one that has been here for the same resource.
///
/// The sender adds the header `leasehold-fence` with the number of [`Lease::fence`](crate::Lease::fence). A handler reads it
/// as `web::ReqData<Fence>`, to compare it again in its database.
///
/// | Request | Answer |
/// |---|---|
/// | with a fence as large as the largest, or larger | of the handler |
/// | with a smaller one | 412, `stale_fence`; the handler does not run |
/// | without the header | 428, `fence_required` |
/// | with another text in it | 400, `invalid` |
///
/// ```
/// use std::sync::Arc;
/// use actix_web::{App, dev::ServiceRequest, web};
/// use leasehold::web::{FenceGuard, LargestFences};
///
/// // Made outside of the closure of `HttpServer::new`: all workers share it.
/// let fences = Arc::new(LargestFences::default());
/// let guard = FenceGuard::new(fences, |request: &ServiceRequest| {
///     let id: u64 = request.match_info().load().ok()?;
///     Some(format!("orders/{id}"))
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
    /// Creates a guard. The function names the resource that a request changes; what it gives `None` for needs no fence.
    pub fn new(
        fences: Arc<LargestFences>,
        changes: impl Fn(&ServiceRequest) -> Option<String> + 'static,
    ) -> Self {
        Self { fences, changes: Rc::new(changes) }
    }

    /// Lets a request in, or returns the error that answers it.
    fn enter(&self, request: &ServiceRequest) -> Result<(), Refused> {
        let Some(resource) = (self.changes)(request) else {
            return Ok(());
        };
        let header = request.headers().get(HEADER).ok_or(Refused::NoFence)?;
        let fence = parse_header(&String::from_utf8_lossy(header.as_bytes()))?;
        self.fences.enter(&resource, fence)?;
        request.extensions_mut().insert(fence);
        Ok(())
    }
}

/// The reason why a request is not served.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("no header {HEADER}")]
    NoFence,
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    #[error(transparent)]
    Stale(#[from] StaleFence),
}

impl AsProblem for Refused {
    fn problem(&self) -> Problem {
        match self {
            Self::NoFence => Problem::FENCE_REQUIRED,
            Self::Invalid(_) => Problem::INVALID,
            Self::Stale(stale) => stale.problem(),
        }
    }
}

impl fmt::Debug for FenceGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FenceGuard").finish_non_exhaustive()
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
                tracing::debug!(%refused, "a request is refused by its fence");
                let response = refused.problem().response(&refused);
                ready(Ok(request.into_response(response).map_into_right_body())).boxed_local()
            }
        }
    }
}
