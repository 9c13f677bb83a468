//! `leasehold serve`: a page for the browser, the API behind it, metrics and health.

mod metrics;
mod token;

use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::ExitCode,
};

use actix::Addr;
use actix_web::{
    App, HttpServer,
    web::{Data, get},
};
use leasehold::{
    Config, LockManager,
    web::{health, serve},
};
use leasehold_console::{Console, console};
use tracing_subscriber::filter::LevelFilter;

use self::metrics::Metrics;
use crate::{Failure, settings::Source};

/// Serves a page for the browser, its API and events, /metrics and /health
///
/// It listens on this machine alone unless --listen says otherwise. Then the token is needed for reading too, except for
/// /health. What is changed is logged on standard error, with the target `leasehold::audit`. SIGTERM and Ctrl-C end it.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold serve --store redis://127.0.0.1:6379 --token-file /etc/leasehold/token"
)]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,
    /// The address and the port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8640")]
    listen: SocketAddr,
    /// A name by which browsers reach it, beside localhost and addresses; may be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// The file of the token that allows changes [default: LEASEHOLD_CONSOLE_TOKEN; without one nothing can be changed]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Asks for the token also to read: for a proxy in front that everybody reaches. Implied by --host
    #[arg(long)]
    reading_needs_token: bool,
    /// An election that is always shown; may be repeated
    #[arg(long, value_name = "NAME")]
    election: Vec<String>,
    /// A schedule that is always shown; may be repeated
    #[arg(long, value_name = "NAME")]
    schedule: Vec<String>,
}

pub(crate) fn run(options: Options) -> Result<ExitCode, Failure> {
    let config = options.source.config()?;
    let token = token::read(options.token_file.as_deref())?;
    if token.is_none() && !options.listen.ip().is_loopback() {
        let reason = "beyond loopback a token is needed: give --token-file, or set LEASEHOLD_CONSOLE_TOKEN";
        return Err(format!("will not listen on {} without one: {reason}", options.listen).into());
    }
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .with_max_level(LevelFilter::INFO)
        .init();
    // Before the manager: what is registered earlier is told to nobody.
    let metrics = Metrics::install()?;
    actix_web::rt::System::new().block_on(serving(options, config, token, metrics))?;
    Ok(ExitCode::SUCCESS)
}

async fn serving(
    options: Options,
    config: Config,
    token: Option<String>,
    metrics: Metrics,
) -> Result<(), Failure> {
    let listener = TcpListener::bind(options.listen)
        .map_err(|error| format!("cannot listen on {}: {error}", options.listen))?;
    let bound = listener.local_addr()?;
    let locks = config.start()?;
    let console = built(&options, &locks, config, token)?;
    let (data, metrics) = (Data::new(locks.clone()), Data::new(metrics));
    let app = move || {
        App::new()
            .app_data(data.clone())
            .app_data(metrics.clone())
            .app_data(Data::new(console.clone()))
            .route("/health", get().to(health))
            .route("/metrics", get().to(metrics::metrics))
            .service(console.clone())
    };
    // Streams of events do not end by themselves, and nothing is lost with one.
    let server = HttpServer::new(app).workers(2).shutdown_timeout(1).listen(listener)?;
    println!("listening on http://{bound}/");
    serve(server, locks).await?;
    Ok(())
}

fn built(
    options: &Options,
    locks: &Addr<LockManager>,
    config: Config,
    token: Option<String>,
) -> Result<Console, Failure> {
    let mut console = console(locks.clone()).doctor(config);
    if let Some(token) = token {
        console = console.token(token);
    }
    // Another name than localhost means a proxy in front of it: who comes from there is not on this machine.
    if options.reading_needs_token || !options.host.is_empty() || !options.listen.ip().is_loopback() {
        console = console.reading_needs_token();
    }
    let console = options.host.iter().fold(console, |console, host| console.host(host));
    let console = options.election.iter().fold(console, |console, name| console.election(name));
    let console = options.schedule.iter().fold(console, |console, name| console.schedule(name));
    Ok(console.start()?)
}
