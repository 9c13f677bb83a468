//! The opening of a connection, and the meaning of its failure: one reading for all who connect.

use std::{future, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, RedisResult, aio::MultiplexedConnection,
};
use tokio::time::{sleep, timeout};

use crate::{
    core::rough,
    store::{
        StoreError,
        redis::net::{errors, words},
    },
};

/// The time within which a handshake of TLS is not doubted.
const UNDOUBTED: Duration = Duration::from_millis(200);

/// Opens a connection. Times are kept by the caller and not by the client library, so that there is one kind of timeout
/// and not two.
pub(crate) async fn dial(client: &Client) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// Waits for something for a limited time. `missing` is what there is not after it.
pub(crate) async fn within<T>(
    time: Duration,
    missing: impl FnOnce() -> String,
    wanted: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let late = |_| Err(StoreError::unavailable(format!("{} within {}", missing(), rough(time))));
    timeout(time, wanted).await.unwrap_or_else(late)
}

/// Opens something on a connection by this client. The error has no address.
pub(crate) async fn opened<T>(
    client: &Client,
    opening: impl Future<Output = RedisResult<T>>,
) -> Result<T, StoreError> {
    let info = client.get_connection_info();
    tokio::select! {
        opened = opening => match opened {
            Ok(opened) => Ok(opened),
            Err(error) => {
                let error = words::or_refusal(error, client).await;
                Err(errors::opening(error, info.redis_settings().db()))
            }
        },
        () = answers_without_tls(info) => Err(errors::without_tls()),
    }
}

/// Opens something on a connection by this client. The error begins with the address.
pub(crate) async fn opened_at<T>(
    client: &Client,
    opening: impl Future<Output = RedisResult<T>>,
) -> Result<T, StoreError> {
    opened(client, opening).await.map_err(|error| errors::at(&address(client), error))
}

/// Completes only if the server that this connects to over TLS answers without it. Only a `PING` is sent, and no password.
///
/// Redis takes the first message of TLS for the beginning of a command and waits for the rest. So nothing is said until
/// the time to connect is over, and that looks like a server that stalls.
async fn answers_without_tls(info: &ConnectionInfo) {
    if let ConnectionAddr::TcpTls { host, port, .. } = info.addr() {
        sleep(UNDOUBTED).await;
        if answers_ping(host, *port).await {
            return;
        }
    }
    future::pending().await
}

async fn answers_ping(host: &str, port: u16) -> bool {
    let Ok(client) = Client::open((host, port)) else { return false };
    let Ok(mut connection) = dial(&client).await else { return false };
    match redis::cmd("PING").exec_async(&mut connection).await {
        Ok(()) => true,
        // Whatever the server says, it says it without TLS.
        Err(error) => matches!(error.code(), Some("ERR" | "NOAUTH" | "DENIED" | "NOPERM" | "LOADING")),
    }
}

/// Returns the address of a server, without user and password.
pub(crate) fn address(client: &Client) -> String {
    client.get_connection_info().addr().to_string()
}
