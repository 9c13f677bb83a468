//! The opening of a connection, and the address that it leads to.

use redis::{AsyncConnectionConfig, Client, RedisResult, aio::MultiplexedConnection};

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
