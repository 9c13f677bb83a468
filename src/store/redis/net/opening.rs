//! The opening of a connection, and the meaning of its failure: one reading for all who connect.

use redis::{Client, RedisResult};

use crate::store::{
    StoreError,
    redis::net::{dial::address, errors, plain_port, words},
};

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
        () = plain_port::answers(info) => Err(errors::without_tls()),
    }
}

/// Opens something on a connection by this client. The error begins with the address.
pub(crate) async fn opened_at<T>(
    client: &Client,
    opening: impl Future<Output = RedisResult<T>>,
) -> Result<T, StoreError> {
    opened(client, opening).await.map_err(|error| errors::at(&address(client), error))
}
