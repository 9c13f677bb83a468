//! The servers behind a store: one, the master that sentinels name, or a cluster.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
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
        watch::Watch,
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

    /// Returns the same servers, on connections of their own. On one server `watch` is told of changes.
    pub(crate) fn clone_connections(&self, watch: Option<Arc<Watch>>) -> Self {
        match self {
            Self::One(connection) => Self::One(Arc::new(connection.clone_connections(watch))),
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

    /// Returns the doubts of this watch, which is told of changes on these connections.
    pub(crate) fn doubts(&self, watch: Arc<Watch>) -> Notifications {
        let Self::One(connection) = self else { return stream::empty().boxed() };
        let connection = Arc::clone(connection);
        let number = move || {
            let connection = Arc::clone(&connection);
            async move { connection.number().await }
        };
        watch.doubts(number).boxed()
    }
}
