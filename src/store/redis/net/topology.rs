//! The servers behind a store: one, the master that sentinels name, or a cluster.

use std::{fmt, sync::Arc};

use futures_util::StreamExt;
use redis::{Pipeline, Value};

use crate::store::{
    Notifications, StoreError,
    redis::net::{
        cluster::Cluster,
        connection::{Answered, Connection, Request},
        endpoint::Endpoint,
        options::RedisOptions,
        sentinel::Sentinels,
        urls::Named,
    },
};

pub(crate) enum Topology {
    One(Arc<Connection>),
    Cluster(Cluster),
}

impl Topology {
    /// Returns the servers that are named, each greeted with this.
    pub(crate) fn new(named: Named, greeting: Pipeline, options: &RedisOptions) -> Self {
        let endpoint = match named {
            Named::One(client) => Endpoint::Fixed(client),
            Named::Sentinel { sentinels, service, nodes } => {
                let sentinels = Sentinels::new(sentinels, service, nodes, options.connect_timeout);
                Endpoint::Master(Arc::new(sentinels))
            }
            Named::Cluster { seeds, nodes } => {
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

    /// Sends a request that may be executed twice without harm.
    pub(crate) async fn send(&self, request: &impl Request) -> Result<Answered, StoreError> {
        match self {
            Self::One(connection) => connection.send(request).await,
            Self::Cluster(cluster) => cluster.send(request, true).await,
        }
    }

    /// Sends a request that must not be executed twice.
    pub(crate) async fn send_once(&self, request: &impl Request) -> Result<Value, StoreError> {
        match self {
            Self::One(connection) => connection.send_once(request).await,
            Self::Cluster(cluster) => cluster.send(request, false).await.map(|answered| answered.value),
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
            Self::One(connection) => connection.listener(channels).notifications().boxed(),
            Self::Cluster(cluster) => cluster.notifications(channels).boxed(),
        }
    }
}

impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(connection) => write!(f, "{connection:?}"),
            Self::Cluster(cluster) => write!(f, "{cluster:?}"),
        }
    }
}
