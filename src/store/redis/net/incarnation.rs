//! The incarnation of the server that a connection leads to: asked once a connection, because a restart breaks them all.

use std::sync::{Mutex, PoisonError};

use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

use crate::store::{
    Incarnation, StoreError,
    redis::net::{
        connection::{Connection, Request},
        info::{self, Table},
    },
};

/// The incarnation that was learnt on the connection of this number.
#[derive(Clone, Debug)]
struct Learnt {
    number: u64,
    at: Instant,
    incarnation: Incarnation,
}

/// The known incarnation of the server.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Option<Learnt>>);

impl Known {
    pub(crate) async fn incarnation(&self, connection: &Connection) -> Result<Incarnation, StoreError> {
        let number = connection.number().await?;
        if let Some(known) = self.learnt().filter(|known| known.number == number) {
            let age = known.incarnation.age + known.at.elapsed();
            return Ok(Incarnation { age, ..known.incarnation });
        }
        let incarnation = ask(connection).await?;
        // Another connection may have told of another incarnation.
        if connection.number().await? == number {
            let learnt = Learnt { number, at: Instant::now(), incarnation: incarnation.clone() };
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(learnt);
        }
        Ok(incarnation)
    }

    fn learnt(&self) -> Option<Learnt> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn ask(connection: &Connection) -> Result<Incarnation, StoreError> {
    let mut server = table(connection.send(&Question::SERVER).await?.value)?;
    let id = server.remove("run_id").ok_or_else(|| senseless("no run_id"))?;
    // No decision depends on it.
    let age = info::age(&server).unwrap_or_default();
    Ok(Incarnation { id, age, durable: is_durable(connection).await })
}

/// Returns true if the server syncs an append-only file at every write. A server that the user may not ask counts as one
/// that may forget.
async fn is_durable(connection: &Connection) -> bool {
    let persistence = connection.send(&Question::PERSISTENCE).await.and_then(|answer| table(answer.value));
    if !persistence.is_ok_and(|said| info::is_append_only(&said)) {
        return false;
    }
    let fsync = connection.send(&Question::FSYNC).await;
    let fsync = fsync.map(|answer| redis::from_redis_value::<Table>(answer.value));
    fsync.is_ok_and(|said| said.is_ok_and(|said| info::syncs_always(&said)))
}

/// A question that changes nothing, with the start of its answer.
pub(super) struct Question {
    words: &'static [&'static str],
    starts: &'static str,
}

impl Question {
    const SERVER: Self = Self { words: &["INFO", "server"], starts: "# Server" };
    const PERSISTENCE: Self = Self { words: &["INFO", "persistence"], starts: "# Persistence" };
    pub(super) const CPU: Self = Self { words: &["INFO", "cpu"], starts: "# CPU" };
    const FSYNC: Self = Self { words: &["CONFIG", "GET", "appendfsync"], starts: "appendfsync" };
}

impl Request for Question {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        redis::cmd(self.words[0]).arg(&self.words[1..]).query_async(connection).await
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        match answer {
            Value::BulkString(bytes) => bytes.starts_with(self.starts.as_bytes()),
            Value::VerbatimString { text, .. } => text.starts_with(self.starts),
            Value::Array(parts) => parts.first().is_some_and(|first| self.is_answered_by(first)),
            Value::Map(entries) => entries.first().is_some_and(|(name, _)| self.is_answered_by(name)),
            _ => false,
        }
    }
}

pub(super) fn table(answer: Value) -> Result<Table, StoreError> {
    let text: String = redis::from_redis_value(answer).map_err(|_| senseless("no text"))?;
    Ok(info::table(&text))
}

pub(super) fn senseless(what: &str) -> StoreError {
    StoreError::unavailable(format!("the answer to INFO has {what}"))
}
