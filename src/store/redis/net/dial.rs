//! The opening of a connection, and the address that it leads to.

use redis::{AsyncConnectionConfig, Client, ConnectionAddr, RedisResult, aio::MultiplexedConnection};

/// Opens a connection. Times are kept by the caller and not by the client library, so that there is one kind of timeout
/// and not two.
pub(crate) async fn dial(client: &Client) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// Returns the address of a server, without user and password.
pub(crate) fn address(client: &Client) -> String {
    client.get_connection_info().addr().to_string()
}

/// Returns the address of a server as a URL, with the database and without user and password.
pub(crate) fn url(client: &Client) -> String {
    let info = client.get_connection_info();
    let scheme = match info.addr() {
        ConnectionAddr::TcpTls { .. } => "rediss",
        ConnectionAddr::Unix(_) => "redis+unix",
        _ => "redis",
    };
    let server = match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } if host.contains(':') => {
            format!("[{host}]:{port}")
        }
        other => other.to_string(),
    };
    let database = match (info.redis_settings().db(), info.addr()) {
        (0, _) => String::new(),
        (database, ConnectionAddr::Unix(_)) => format!("?db={database}"),
        (database, _) => format!("/{database}"),
    };
    format!("{scheme}://{server}{database}")
}
