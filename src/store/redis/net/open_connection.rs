//! An open connection: greeted, and logged in again when there are new credentials.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{Pipeline, RedisError, aio::MultiplexedConnection};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    core::Doubling,
    store::{
        StoreError,
        redis::{
            credentials::{CredentialsProvider, KnownCredentials},
            net::{
                address::NodeAddress,
                endpoint::Endpoint,
                opening::{address, dial, opened_at},
                server::is_of_rights,
                watch::Watch,
            },
        },
    },
};

#[derive(Clone)]
pub(super) struct OpenConnection {
    pub(super) connection: MultiplexedConnection,
    pub(super) address: Arc<str>,
    /// The master that the sentinels named for it.
    pub(super) master: Option<NodeAddress>,
    /// With a provider of credentials.
    pub(super) login: Option<Arc<Login>>,
}

/// The login of a connection. A task keeps it up for as long as this is there.
pub(super) struct Login {
    provider: CredentialsProvider,
    /// The version of its credentials.
    version: Arc<AtomicU64>,
    within: Duration,
    _keeper: AbortOnDropHandle<()>,
}

impl Login {
    pub(super) fn keep_up(
        connection: MultiplexedConnection,
        (provider, known): (CredentialsProvider, KnownCredentials),
        address: Arc<str>,
        within: Duration,
    ) -> Self {
        let version = Arc::new(AtomicU64::new(known.version));
        let keeping = keep(connection, provider.clone(), Arc::clone(&version), address, within);
        Self { provider, version, within, _keeper: AbortOnDropHandle::new(tokio::spawn(keeping)) }
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Returns true if another login may do better than that with this version, which was refused.
    pub(super) async fn may_help(&self, version: u64, refusal: &RedisError) -> bool {
        let latest = timeout(self.within, self.provider.asked_after(Instant::now())).await;
        !is_of_rights(refusal) || matches!(latest, Ok(Ok(latest)) if latest.version != version)
    }
}

pub(super) async fn connect(
    endpoint: &Endpoint,
    greeting: &Pipeline,
    within: Duration,
    watch: Option<&Arc<Watch>>,
) -> Result<OpenConnection, StoreError> {
    let (server, master) = endpoint.find().await?;
    let open = |client| async move {
        let mut connection = match watch {
            None => dial(&client).await?,
            Some(watch) => watch.dial(&client).await?,
        };
        endpoint.check(&mut connection).await?;
        greeting.exec_async(&mut connection).await.map_err(first_of_many)?;
        Ok(connection)
    };
    let (connection, known) = opened_at(&server, server.open(open)).await?;
    let address: Arc<str> = address(&server).into();
    let keep_up = |known| Arc::new(Login::keep_up(connection.clone(), known, Arc::clone(&address), within));
    let login = known.map(keep_up);
    Ok(OpenConnection { connection, address, master, login })
}

/// Returns the first error of a batch: it shows the server's code, which the error of the whole batch does not.
fn first_of_many(error: RedisError) -> RedisError {
    let errors = error.clone().into_server_errors();
    errors.and_then(|errors| errors.first().map(|(_, first)| first.clone().into())).unwrap_or(error)
}

/// Logs in each time that there are new credentials. While the server refuses them, the connection keeps the login that it has.
async fn keep(
    mut connection: MultiplexedConnection,
    provider: CredentialsProvider,
    version: Arc<AtomicU64>,
    address: Arc<str>,
    within: Duration,
) {
    let mut pauses = Doubling::new(Duration::from_millis(10), Duration::from_secs(1));
    let mut told = 0;
    loop {
        let newer = provider.newer_than(version.load(Ordering::Relaxed)).await;
        let login = newer.credentials.command();
        match timeout(within, login.exec_async(&mut connection)).await {
            Ok(Ok(())) => {
                version.store(newer.version, Ordering::Relaxed);
                pauses.reset();
                provider.note_accepted();
                tracing::debug!(server = %address, "logged in with new credentials");
                continue;
            }
            // The next call finds it gone, and opens another one.
            Ok(Err(error)) if error.is_io_error() => return,
            Ok(Err(error)) if std::mem::replace(&mut told, newer.version) != newer.version => {
                let error = super::errors::before_sending(error);
                tracing::warn!(server = %address, %error, "new credentials are refused; the login before stays");
            }
            _ => {}
        }
        sleep(pauses.next()).await;
    }
}
