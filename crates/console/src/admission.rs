//! The way in, which every request to the console takes, and what the browser is told of each answer.

use actix_web::{
    Error,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue, REFERRER_POLICY,
        X_CONTENT_TYPE_OPTIONS,
    },
    middleware::Next,
    web::Data,
};

use super::{
    failure::Failure,
    guard::{self, Guard},
    pages,
};

/// Lets a request in if the guard does, and tells the browser what the answer may do: nothing but to show itself.
pub(super) async fn admit(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let mut response = match admitted(&request) {
        Ok(()) => next.call(request).await?.map_into_boxed_body(),
        Err(failure) => {
            let answer = pages::refused(request.request(), failure);
            request.into_response(answer)
        }
    };
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
        connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer` a browser would send a form with the origin `null`.
        (REFERRER_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
        (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

fn admitted(request: &ServiceRequest) -> Result<(), Failure> {
    let Some(guard) = request.app_data::<Data<Guard>>() else { return Err(Failure::gone()) };
    let request = request.request();
    guard.check_host(request)?;
    guard.check_site(request).inspect_err(|failure| {
        // Any page can send as many that only read as it likes, and the audit is not theirs to fill.
        if !request.method().is_safe() {
            guard::refused(request, failure);
        }
    })?;
    if pages::is_open(request) {
        return Ok(());
    }
    let read = guard.check_reader(request);
    // A browser that has not signed in is no news; whoever shows a wrong token, or one that is over, is.
    read.inspect_err(|failure| {
        if guard::has_credentials(request) {
            guard::refused(request, failure)
        }
    })
}
