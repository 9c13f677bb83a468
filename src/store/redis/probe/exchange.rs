//! Questions to one server and their answers, each exchange with a bound on its time.

use std::time::Duration;

use redis::{
    AsyncConnectionConfig, Client, ErrorKind, Pipeline, RedisError, Value, aio::MultiplexedConnection,
};
use tokio::time::timeout;

use crate::{
    core::rough,
    store::{
        StoreError,
        redis::{
            net::errors,
            probe::{Answer, Table},
        },
    },
};

/// An exchange with one server, on a connection that is used for questions alone.
pub(super) struct Exchange {
    connection: MultiplexedConnection,
    within: Duration,
}

impl Exchange {
    pub(super) async fn open(
        client: &Client,
        connect_within: Duration,
        answer_within: Duration,
    ) -> Result<Self, StoreError> {
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let opening = client.get_multiplexed_async_connection_with_config(&config);
        match timeout(connect_within, opening).await {
            Ok(Ok(connection)) => Ok(Self { connection, within: answer_within }),
            Ok(Err(error)) => Err(errors::before_sending(error)),
            Err(_) => Err(StoreError::unavailable(format!("no connection within {}", rough(connect_within)))),
        }
    }

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
            Ok(Err(error)) => Err(errors::before_sending(error)),
            Err(_) => Err(StoreError::unavailable(format!("no answer within {}", rough(within)))),
        }
    }
}

/// Returns the next of these answers.
pub(super) fn next(answers: &mut impl Iterator<Item = Value>) -> Value {
    answers.next().unwrap_or(Value::Nil)
}

/// Decodes an answer, unless the server refused.
pub(super) fn read<T: redis::FromRedisValue>(answer: Value) -> Answer<T> {
    let answer = match answer {
        Value::ServerError(error) => return Err(words(&error.into())),
        answer => answer,
    };
    redis::from_redis_value(answer).map_err(|_| "the answer makes no sense".to_owned())
}

/// Decodes an answer without which nothing can be done. Its error tells a refusal of the server from a failure.
pub(super) fn needed<T: redis::FromRedisValue>(answer: Value) -> Result<T, StoreError> {
    match answer {
        Value::ServerError(error) => {
            let error = RedisError::from(error);
            Err(match errors::before_sending(error.clone()) {
                StoreError::Denied { .. } => StoreError::Denied { reason: words(&error) },
                other => other,
            })
        }
        answer => read(answer).map_err(StoreError::unavailable),
    }
}

/// Decodes lines of `name:value`.
pub(super) fn lines(answer: Value) -> Answer<Table> {
    let text: String = read(answer)?;
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    Ok(fields.map(|(name, value)| (name.to_owned(), value.trim_end().to_owned())).collect())
}

/// Returns the words of the server in an error.
pub(super) fn words(error: &RedisError) -> String {
    match (error.kind(), error.code(), error.detail()) {
        (ErrorKind::Server(_) | ErrorKind::Extension, Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    }
}
