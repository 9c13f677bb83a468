//! The servers behind a store: one, the master that sentinels name, or a cluster.

use std::sync::Arc;

use futures_util::StreamExt;
use redis::Pipeline;

use crate::store::{
    Notifications, StoreError,
    redis::net::{
        call::{Call, CallAnswer},
        cluster::Cluster,
        connection::Connection,
        endpoint::{Endpoint, Sentinels},
        options::RedisOptions,
        urls::NamedServers,
    },
};

/// Clones share their connections.
#[derive(Clone)]
pub(crate) enum Topology {
    One(Arc<Connection>),
    Cluster(Cluster),
}

impl Topology {
    /// Returns the servers that are named, each greeted with this.
    pub(crate) fn new(named: NamedServers, greeting: Pipeline, options: &RedisOptions) -> Self {
        let endpoint = match named {
            NamedServers::One(server) => Endpoint::Fixed(server),
            NamedServers::Sentinel { sentinels, service, nodes } => {
                let sentinels = Sentinels::new(sentinels, service, nodes, options.connect_timeout);
                Endpoint::Master(Arc::new(sentinels))
            }
            NamedServers::Cluster { seeds, nodes } => {
                return Self::Cluster(Cluster::new(seeds, nodes, greeting, options));
            }
        };
        Self::One(Arc::new(Connection::new(endpoint, Arc::new(greeting), options)))
    }

    /// Returns the same servers, on connections of their own.
    pub(crate) fn clone_connections(&self) -> Self {
        match self {
            Self::One(connection) => Self::One(Arc::new(connection.clone_connections())),
            Self::Cluster(cluster) => Self::Cluster(cluster.clone_connections()),
        }
    }

    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    pub(crate) async fn send(&self, call: &Call) -> Result<CallAnswer, StoreError> {
        match self {
            Self::One(connection) => connection.send(call).await,
            // In a box, so that the future of a call to one server stays small.
            Self::Cluster(cluster) => Box::pin(cluster.send(call)).await,
        }
    }

    /// Returns one connection to each server that has keys of its own.
    pub(crate) async fn each(&self) -> Result<Vec<Arc<Connection>>, StoreError> {
        match self {
            Self::One(connection) => Ok(vec![Arc::clone(connection)]),
            Self::Cluster(cluster) => cluster.masters().await,
        }
    }

    /// Returns the notifications on these channels, received on connections of their own.
    pub(crate) fn notifications(&self, channels: Vec<String>) -> Notifications {
        match self {
            Self::One(connection) => connection.subscriber(channels).notifications().boxed(),
            Self::Cluster(cluster) => cluster.notifications(channels).boxed(),
        }
    }
}
