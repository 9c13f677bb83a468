//! The words of a server that closes a connection which it has just accepted.
//!
//! In protected mode, or without room for another client, Redis says why and closes the connection. What was sent to it
//! meanwhile breaks the connection, and the client library tells of that alone. So a second connection is opened, on which
//! nothing is sent, and what the server says on it is read. Over TLS nothing is read.

use std::time::Duration;

use redis::{Client, ConnectionAddr, ErrorKind, RedisError, Value};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    net::TcpStream,
    time::timeout,
};

/// The time that the words may take. A server that has nothing to say waits for a command.
const WITHIN: Duration = Duration::from_millis(100);
/// The greatest length of the words in bytes. Those of protected mode have about a thousand.
const MOST: u64 = 4_096;

/// Returns the error by which the server refuses connections, if it does, and otherwise the error with which the opening of
/// a connection by this client has ended.
pub(crate) async fn or_refusal(error: RedisError, client: &Client) -> RedisError {
    let is_broken = error.is_connection_dropped() && !error.is_connection_refusal();
    // The client library takes whatever answers a password for a refusal of the password.
    if !is_broken && error.kind() != ErrorKind::AuthenticationFailed {
        return error;
    }
    match timeout(WITHIN, said(client.get_connection_info().addr())).await {
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
    BufReader::new(stream.take(MOST)).read_until(b'\n', &mut line).await.ok()?;
    Some(line)
}
