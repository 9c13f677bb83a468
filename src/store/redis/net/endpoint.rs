//! The endpoint of a connection: always the same server, or the master that the sentinels name now.

use std::{fmt, future, sync::Arc};

use redis::{Client, RedisResult, Value, aio::MultiplexedConnection};

use crate::store::{
    StoreError,
    redis::net::{address::NodeAddress, opening::address, sentinel::Sentinels},
};

#[derive(Clone)]
pub(crate) enum Endpoint {
    Fixed(Box<Client>),
    Master(Arc<Sentinels>),
}

impl Endpoint {
    /// Returns a client of the current server, and the master that the sentinels named.
    pub(crate) async fn find(&self) -> Result<(Client, Option<NodeAddress>), StoreError> {
        match self {
            Self::Fixed(client) => Ok(((**client).clone(), None)),
            Self::Master(sentinels) => {
                let master = sentinels.ask().await?;
                Ok((sentinels.nodes.client(&master)?, Some(master)))
            }
        }
    }

    /// Makes sure that the server that was found is a master: the sentinels may know less than the server itself.
    pub(crate) async fn check(&self, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        if matches!(self, Self::Fixed(_)) {
            return Ok(());
        }
        match redis::cmd("ROLE").query_async::<Vec<Value>>(connection).await?.first() {
            Some(Value::BulkString(role)) if role == b"master" => Ok(()),
            // An error of this kind counts as one of the network, and is therefore transient.
            _ => Err(std::io::Error::other("the server that the sentinels name is no master (yet)").into()),
        }
    }

    /// Returns true if the master is another one by now, as far as that is known. Asks the sentinels in the background
    /// now and then: a master that was replaced may go on answering for seconds.
    pub(crate) fn has_moved(&self, from: Option<&NodeAddress>) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Master(sentinels) => {
                sentinels.check();
                sentinels.known().as_ref() != from
            }
        }
    }

    /// Completes when the master is another one.
    pub(crate) async fn moved(&self, from: Option<&NodeAddress>) {
        match self {
            Self::Fixed(_) => future::pending().await,
            Self::Master(sentinels) => sentinels.moved(from).await,
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The client knows the password: only the address is shown.
            Self::Fixed(client) => write!(f, "{}", address(client)),
            Self::Master(sentinels) => write!(f, "{sentinels:?}"),
        }
    }
}
