//! The opening of a connection, and the meaning of its failure: one reading for all who connect.

use std::{future, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, RedisResult, Value,
    aio::MultiplexedConnection,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{
    core::rough,
    store::{StoreError, redis::net::errors},
};

/// The time within which a handshake of TLS is not doubted.
const UNDOUBTED: Duration = Duration::from_millis(200);
/// The time that the words of a server that refuses a connection may take. A server that has nothing to say waits for a command.
const SAID_WITHIN: Duration = Duration::from_millis(100);
/// The greatest length of the words in bytes. Those of protected mode have about a thousand.
const MOST_SAID: u64 = 4_096;

/// Opens a connection. The caller keeps the times, and not the client library: so there is one kind of timeout.
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
                let error = or_refusal(error, client).await;
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

/// Returns the error by which the server refuses connections, if it does, and otherwise the error with which the opening of
/// a connection by this client has ended.
///
/// In protected mode, or without room for another client, Redis says why and closes the connection. What was sent to it
/// meanwhile breaks the connection, and the client library tells of that alone. So a second connection is opened, on which
/// nothing is sent, and what the server says on it is read. Over TLS nothing is read.
pub(crate) async fn or_refusal(error: RedisError, client: &Client) -> RedisError {
    let is_broken = error.is_connection_dropped() && !error.is_connection_refusal();
    // The client library takes whatever answers a password for a refusal of the password.
    if !is_broken && error.kind() != ErrorKind::AuthenticationFailed {
        return error;
    }
    match timeout(SAID_WITHIN, said(client.get_connection_info().addr())).await {
        Ok(Some(refusal)) => refusal,
        Ok(None) | Err(_) => error,
    }
}

async fn said(address: &ConnectionAddr) -> Option<RedisError> {
    let line = match address {
        ConnectionAddr::Tcp(host, port) => line(TcpStream::connect((&**host, *port)).await.ok()?).await?,
        #[cfg(unix)]
        ConnectionAddr::Unix(path) => line(tokio::net::UnixStream::connect(path).await.ok()?).await?,
        _ => return None,
    };
    match redis::parse_redis_value(&line).ok()? {
        Value::ServerError(error) => Some(error.into()),
        _ => None,
    }
}

async fn line(stream: impl AsyncRead + Unpin) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(stream.take(MOST_SAID)).read_until(b'\n', &mut line).await.ok()?;
    Some(line)
}

/// Returns the address of a server, without user and password.
pub fn address(client: &Client) -> String {
    client.get_connection_info().addr().to_string()
}
