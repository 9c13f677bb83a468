//! Questions to one server and their answers, each exchange with a bound on its time.

use std::time::Duration;

use redis::{Client, ErrorKind, FromRedisValue, Pipeline, RedisError, Value, aio::MultiplexedConnection};
use tokio::time::{Instant, timeout};

use crate::{
    core::rough,
    store::{
        StoreError,
        redis::{
            net::{dial::dial, errors, opening::opened, options::RedisOptions, words},
            probe::Answer,
        },
    },
};

/// The settings for asking servers.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) options: &'a RedisOptions,
    pub(super) began: Instant,
    /// True if the server is a node of a cluster.
    pub(super) cluster: bool,
    /// True if sentinels name the master.
    pub(super) sentinel: bool,
}

/// An exchange with one server, on a connection that is used for questions alone.
pub(super) struct Exchange {
    client: Client,
    connection: MultiplexedConnection,
    within: Duration,
}

impl Asking<'_> {
    pub(super) async fn open(&self, client: &Client) -> Result<Exchange, StoreError> {
        let &RedisOptions { connect_timeout: within, response_timeout, .. } = self.options;
        match timeout(within, opened(client, dial(client))).await {
            Ok(Ok(connection)) => {
                Ok(Exchange { client: client.clone(), connection, within: response_timeout })
            }
            Ok(Err(told @ StoreError::Misconfigured { .. })) => Err(errors::at("it", told)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(StoreError::unavailable(format!("no connection within {}", rough(within)))),
        }
    }
}

impl Exchange {
    /// Sends some questions at once, and returns the answer to each: a refusal is an answer too.
    pub(super) async fn send(&mut self, mut questions: Pipeline) -> Result<Vec<Value>, StoreError> {
        let within = self.within;
        questions.ignore_errors();
        match timeout(within, questions.query_async(&mut self.connection)).await {
            Ok(Ok(Value::Array(answers))) => match answers.first() {
                // A user who has to give a password first is told nothing else.
                Some(Value::ServerError(error)) if error.code() == "NOAUTH" => {
                    Err(errors::before_sending(error.clone().into()))
                }
                _ => Ok(answers),
            },
            Ok(Ok(_)) => Err(StoreError::unavailable("the answers make no sense")),
            // The client library may not have noticed before that the server refuses connections.
            Ok(Err(error)) => Err(errors::before_sending(words::or_refusal(error, &self.client).await)),
            Err(_) => Err(StoreError::unavailable(format!("no answer within {}", rough(within)))),
        }
    }
}

/// Returns the next of these answers.
pub(super) fn next(answers: &mut impl Iterator<Item = Value>) -> Value {
    answers.next().unwrap_or(Value::Nil)
}

/// Decodes an answer, unless the server refused.
pub(super) fn read<T: FromRedisValue>(answer: Value) -> Answer<T> {
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

/// Returns the words of the server in an error.
fn words(error: &RedisError) -> String {
    match (error.kind(), error.code(), error.detail()) {
        (ErrorKind::Server(_) | ErrorKind::Extension, Some(code), Some(detail)) => {
            format!("{code} {detail}")
        }
        (ErrorKind::Parse, ..) => "the answer makes no sense".to_owned(),
        _ => error.to_string(),
    }
}
