//! Questions to one server and their answers, each exchange with a bound on its time.

use std::time::Duration;

use futures_util::FutureExt;
use redis::{ErrorKind, FromRedisValue, Pipeline, RedisError, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

use super::snapshot::ServerAnswer;
use crate::store::{
    StoreError,
    redis::net::{
        errors,
        opening::{opened, or_refusal, within},
        options::RedisOptions,
        server::Server,
    },
};

/// The settings for asking servers.
#[derive(Clone, Copy)]
pub(super) struct Probing<'a> {
    pub(super) options: &'a RedisOptions,
    pub(super) began: Instant,
    /// True if the server is a node of a cluster.
    pub(super) cluster: bool,
    /// True if sentinels name the master.
    pub(super) sentinel: bool,
}

/// An exchange with one server, on a connection that is used for questions alone.
pub(super) struct Exchange {
    server: Server,
    connection: MultiplexedConnection,
    response_timeout: Duration,
}

impl Probing<'_> {
    pub(super) async fn open(&self, server: &Server) -> Result<Exchange, StoreError> {
        let &RedisOptions { connect_timeout, response_timeout, .. } = self.options;
        let opening = within(connect_timeout, || "no connection".to_owned(), opened(server, server.dial()));
        let connection = opening.await.map_err(|error| match error {
            told @ StoreError::Misconfigured { .. } => errors::at("it", told),
            error => error,
        })?;
        Ok(Exchange { server: server.clone(), connection, response_timeout })
    }
}

impl Exchange {
    /// Sends some questions at once, and returns the answer to each: a refusal is an answer too.
    pub(super) async fn send(&mut self, mut questions: Pipeline) -> Result<Vec<Value>, StoreError> {
        questions.ignore_errors();
        let sent = questions.query_async(&mut self.connection).map(Ok);
        match within(self.response_timeout, || "no answer".to_owned(), sent).await? {
            Ok(Value::Array(answers)) => match answers.first() {
                // A user who has to give a password first is told nothing else.
                Some(Value::ServerError(error)) if error.code() == "NOAUTH" => {
                    Err(errors::before_sending(error.clone().into()))
                }
                _ => Ok(answers),
            },
            Ok(_) => Err(StoreError::unavailable("the answers make no sense")),
            // The client library may not have noticed before that the server refuses connections.
            Err(error) => Err(errors::before_sending(or_refusal(error, &self.server).await)),
        }
    }
}

pub(super) fn next(answers: &mut impl Iterator<Item = Value>) -> Value {
    answers.next().unwrap_or(Value::Nil)
}

/// Decodes an answer, unless the server refused.
pub(super) fn read<T: FromRedisValue>(answer: Value) -> ServerAnswer<T> {
    let decoded = answer.extract_error().and_then(|answer| Ok(redis::from_redis_value(answer)?));
    decoded.map_err(|error| words(&error))
}

/// Translates the error of an answer without which nothing can be done. It tells a refusal of the server from a failure.
pub(super) fn missing(error: RedisError) -> StoreError {
    match errors::before_sending(error.clone()) {
        StoreError::Denied { .. } => StoreError::Denied { reason: words(&error) },
        _ if error.kind() == ErrorKind::Parse => StoreError::unavailable(words(&error)),
        other => other,
    }
}

fn words(error: &RedisError) -> String {
    match (error.kind(), error.code(), error.detail()) {
        (ErrorKind::Server(_) | ErrorKind::Extension, Some(code), Some(detail)) => {
            format!("{code} {detail}")
        }
        (ErrorKind::Parse, ..) => "the answer makes no sense".to_owned(),
        _ => error.to_string(),
    }
}
