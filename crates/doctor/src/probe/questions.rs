//! Questions to servers: their settings, and the answers as values, or the reason why there is none.

use leasehold::{RedisOptions, StoreError, probe::before_sending};
use redis::{ErrorKind, FromRedisValue, RedisError, Value};
use tokio::time::Instant;

use super::snapshot::ServerAnswer;

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
    match before_sending(error.clone()) {
        StoreError::Denied { .. } => StoreError::Denied { reason: words(&error) },
        _ if error.kind() == ErrorKind::Parse => unavailable(words(&error)),
        other => other,
    }
}

pub(super) fn unavailable(reason: impl Into<String>) -> StoreError {
    StoreError::Unavailable { reason: reason.into(), source: None }
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
