//! A server and its locks: run and shut down together, and checked for health.

use std::{fmt, io, time::Duration};

use actix::Addr;
use actix_http::{Request, Response};
use actix_service::{IntoServiceFactory, Service, ServiceFactory};
use actix_web::{
    Error, HttpResponse, HttpServer,
    body::MessageBody,
    dev::{AppConfig, Server},
    web::Data,
};

use super::errors::AsProblem;
use crate::{
    manager::{LockManager, with_lock::WithLockError},
    request::{Drained, Ready, Shutdown, queries::IsLocal},
};

/// Runs a server until it is asked to stop, and then shuts its lock manager down, so that no lock stays behind.
///
/// The signals are those of actix-web. After SIGTERM the server takes no new requests, and its handlers finish, within
/// `HttpServer::shutdown_timeout`. After SIGINT (Ctrl-C) and SIGQUIT nobody is waited for:
/// what is held then is lost to its holder (who is told), and released. A second signal is not heeded.
///
/// Give it the server before `run`. By itself, a server that handles a signal ends its actix system, and with it the lock
/// manager, leases and all; this function handles the signals instead. For the same reason do not use
/// `HttpServer::system_exit` or `HttpServer::shutdown_signal` with it.
///
/// ```no_run
/// use actix_web::{App, HttpServer, web::Data};
/// use leasehold::{Config, web::serve};
///
/// #[actix_web::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let locks = Config::load()?.start()?;
///     let data = Data::new(locks.clone());
///     let server = HttpServer::new(move || App::new().app_data(data.clone()));
///     let drained = serve(server.bind("127.0.0.1:8080")?, locks).await?;
///     println!("stopped; locks taken away: {}", drained.revoked);
///     Ok(())
/// }
/// ```
///
/// # Errors
/// The error of the server, of the signals, or of a lock manager that was gone already. The lock manager is shut down in
/// each of these cases.
///
/// # Cancel safety
/// Not cancel safe: a server whose future is dropped stops, and the lock manager goes on.
pub async fn serve<F, I, S, B>(
    server: HttpServer<F, I, S, B>,
    locks: Addr<LockManager>,
) -> io::Result<Drained>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    S::Service: 'static,
    <S::Service as Service<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    let served = until_stopped(server.disable_signals().run(), async |_| {}).await;
    let drained = locks.send(Shutdown { drain: Duration::ZERO }).await;
    served?;
    drained.map_err(io::Error::other)
}

/// Runs a server until it ends, or until a signal has stopped it. Before its workers stop, it accepts nothing more and runs this, which
/// is told whether the handlers may finish.
pub(super) async fn until_stopped(
    mut server: Server,
    before_it_stops: impl AsyncFnOnce(bool),
) -> io::Result<()> {
    let handle = server.handle();
    let gracefully = tokio::select! {
        ended = &mut server => return ended,
        gracefully = asked_to_stop() => gracefully?,
    };
    let stopping = async {
        handle.pause().await;
        before_it_stops(gracefully).await;
        handle.stop(gracefully).await;
    };
    // The handle works while the server is polled.
    let (served, ()) = tokio::join!(server, stopping);
    served
}

/// Completes with a signal that asks the process to end: true if the handlers may finish.
#[cfg(unix)]
async fn asked_to_stop() -> io::Result<bool> {
    use actix_rt::signal::unix::{SignalKind, signal};

    let [mut interrupt, mut quit, mut terminate] =
        [signal(SignalKind::interrupt())?, signal(SignalKind::quit())?, signal(SignalKind::terminate())?];
    tokio::select! {
        _ = terminate.recv() => Ok(true),
        _ = interrupt.recv() => Ok(false),
        _ = quit.recv() => Ok(false),
    }
}

/// Completes with a signal that asks the process to end: true if the handlers may finish.
#[cfg(not(unix))]
async fn asked_to_stop() -> io::Result<bool> {
    actix_rt::signal::ctrl_c().await?;
    Ok(false)
}

/// The answer of a manager whose store is in memory.
const ALONE: &str = "ready\nlocks are in the memory of this process, and exclude nobody outside of it\n";

/// Answers whether the locks can be had: 200 if the manager is [`Ready`], else 503 with a problem document.
///
/// It is a handler: `route("/health", get().to(health))`, with `app_data(Data::new(locks))`. It is a readiness check: a
/// server that is not ready should get no requests, and need not be restarted. A second line says so if the locks are in
/// the memory of this process, and exclude nobody else.
pub async fn health(locks: Data<Addr<LockManager>>) -> HttpResponse {
    match ready(&locks).await {
        Ok(is_local) => {
            let body = if is_local { ALONE } else { "ready\n" };
            HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(body)
        }
        Err(error) => {
            tracing::debug!(%error, "not ready");
            error.problem().of_health().response(&error)
        }
    }
}

/// Returns true if the locks are those of this process alone.
async fn ready(locks: &Addr<LockManager>) -> Result<bool, WithLockError> {
    locks.send(Ready).await??;
    Ok(locks.send(IsLocal).await?)
}
