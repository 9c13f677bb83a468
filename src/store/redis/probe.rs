//! The way of the doctor to servers: on each a connection that is used for questions alone.
//!
//! **Invariant:** nothing here knows what is asked, or judges what is answered; the package `leasehold-doctor` does.

use std::time::Duration;

use futures_util::FutureExt;
use redis::{Pipeline, Value, aio::MultiplexedConnection};

pub use super::{
    net::{
        address::{NodeAddress, Nodes},
        belief::{MasterTerm, Opinion, questions, read as opinion},
        cluster::{
            map::{SlotRange, ranges},
            slot::SLOTS,
        },
        errors::before_sending,
        info::{age, is_append_only, number, syncs_always, table},
        opening::address,
        server::Server,
        urls::{NamedServers, named},
    },
    wire::{decode::recovered, keys::slot},
};
use super::{
    net::{
        errors,
        opening::{opened, or_refusal, within},
        options::RedisOptions,
    },
    wire::keys,
};
use crate::store::StoreError;

/// An exchange with one server.
pub struct Exchange {
    server: Server,
    connection: MultiplexedConnection,
    response_timeout: Duration,
}

impl Exchange {
    /// Opens a connection to a server.
    pub async fn open(server: &Server, options: &RedisOptions) -> Result<Self, StoreError> {
        let &RedisOptions { connect_timeout, response_timeout, .. } = options;
        let opening = within(connect_timeout, || "no connection".to_owned(), opened(server, server.dial()));
        let connection = opening.await.map_err(|error| match error {
            told @ StoreError::Misconfigured { .. } => errors::at("it", told),
            error => error,
        })?;
        Ok(Self { server: server.clone(), connection, response_timeout })
    }

    /// Sends some questions at once, and returns the answer to each: a refusal is an answer too.
    pub async fn send(&mut self, mut questions: Pipeline) -> Result<Vec<Value>, StoreError> {
        questions.ignore_errors();
        let sent = questions.query_async(&mut self.connection).map(Ok);
        match within(self.response_timeout, || "no answer".to_owned(), sent).await? {
            Ok(Value::Array(answers)) => match answers.first() {
                // A user who has to give a password first is told nothing else.
                Some(Value::ServerError(error)) if error.code() == "NOAUTH" => {
                    Err(before_sending(error.clone().into()))
                }
                _ => Ok(answers),
            },
            Ok(_) => Err(StoreError::unavailable("the answers make no sense")),
            // The client library may not have noticed before that the server refuses connections.
            Err(error) => Err(before_sending(or_refusal(error, &self.server).await)),
        }
    }
}

/// Returns the key of the record of a recovery.
pub fn recovered_key(prefix: &str) -> String {
    keys::fence(prefix, None) + "recovered"
}
