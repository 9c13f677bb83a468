//! What counts only when replicas have it: a call with one `WAIT` behind it, on a connection that nobody else uses.
//!
//! `WAIT` asks about the writes of its own connection, and holds up all that comes after it there. So the connections of
//! this module are not those of the other verbs, and each carries one call at a time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use redis::{Client, RedisError, RedisResult, Value, aio::MultiplexedConnection};
use tokio::{sync::Semaphore, time::timeout};

use super::{
    call::Call,
    connection::{Answered, Connection, Request},
    options::RedisOptions,
    record::millis,
    scripts,
};
use crate::store::{Safety, StoreError};

/// How many calls wait for replicas at a time. A manager has four batches of each verb on their way, and more only while
/// replicas are slow.
const MOST_AT_ONCE: usize = 64;

/// Sends what must be confirmed by replicas.
pub(super) struct Replicas {
    client: Client,
    options: RedisOptions,
    idle: Mutex<Vec<Connection>>,
    seats: Semaphore,
}

/// An answer, and what it lacks.
pub(super) struct Confirmed {
    pub(super) answered: Answered,
    /// Why what the master did does not count.
    pub(super) shortfall: Option<Shortfall>,
}

/// Fewer replicas than must have confirmed.
pub(super) struct Shortfall {
    wanted: u32,
    reached: u32,
    /// What the server said instead of a number.
    refused: Option<Arc<RedisError>>,
}

impl Shortfall {
    /// The error of a request that was executed by the master, and perhaps `undone` since.
    pub(super) fn error(&self, undone: bool) -> StoreError {
        let &Self { wanted, reached, ref refused } = self;
        let source = refused.clone().map(|refused| refused as _);
        StoreError::Unacknowledged { wanted, reached, undone, source }
    }
}

impl From<Answered> for Confirmed {
    /// An answer that nobody needs to confirm.
    fn from(answered: Answered) -> Self {
        Self { answered, shortfall: None }
    }
}

/// The answer to a call, and what it lacks.
pub(super) fn parted(
    confirmed: Result<Confirmed, StoreError>,
) -> (Result<Value, StoreError>, Option<Shortfall>) {
    match confirmed {
        Ok(Confirmed { answered, shortfall }) => (Ok(answered.value), shortfall),
        Err(error) => (Err(error), None),
    }
}

impl Replicas {
    pub(super) fn new(client: Client, options: RedisOptions) -> Self {
        Self { client, options, idle: Mutex::default(), seats: Semaphore::new(MOST_AT_ONCE) }
    }

    pub(super) fn safety(&self) -> Safety {
        Safety::Replicated { replicas: self.options.replicas_ack }
    }

    /// Sends a call that may be executed twice without harm, and asks how many replicas have it.
    pub(super) async fn send(&self, call: &Call) -> Result<Confirmed, StoreError> {
        let RedisOptions { replicas_ack: wanted, response_timeout, .. } = self.options;
        let Ok(Ok(_seat)) = timeout(response_timeout, self.seats.acquire()).await else {
            let reason = format!("{MOST_AT_ONCE} calls wait for replicas already");
            return Err(StoreError::Unavailable { reason, source: None });
        };
        // A connection on which something failed, or that whoever asked has left, is not used again: a `WAIT` may still
        // hold it up.
        let connection = self
            .idle(Vec::pop)
            .unwrap_or_else(|| Connection::new(self.client.clone(), scripts::loading(), &self.options));
        let request = WithWait { call, wanted, within: response_timeout / 2 };
        let Answered { value, repeated } = connection.send(&request).await?;
        self.idle(|idle| idle.push(connection));
        let (value, shortfall) = request.counted(value)?;
        Ok(Confirmed { answered: Answered { value, repeated }, shortfall })
    }

    fn idle<T>(&self, change: impl FnOnce(&mut Vec<Connection>) -> T) -> T {
        // Nothing under this lock panics half-way.
        change(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A call with a `WAIT` behind it.
struct WithWait<'a> {
    call: &'a Call,
    wanted: u32,
    within: Duration,
}

impl WithWait<'_> {
    /// The answer to the call, and what it lacks.
    fn counted(&self, answers: Value) -> Result<(Value, Option<Shortfall>), StoreError> {
        let (answer, count) = pair(answers).ok_or_else(|| StoreError::Lost {
            doing: "the answer makes no sense: not one for the call and one for the replicas".to_owned(),
            source: None,
        })?;
        let (reached, refused) = match count {
            Value::Int(reached) => (u32::try_from(reached).unwrap_or(0), None),
            Value::ServerError(error) => (0, Some(Arc::new(RedisError::from(error)))),
            _ => (0, None),
        };
        let shortfall =
            (reached < self.wanted).then_some(Shortfall { wanted: self.wanted, reached, refused });
        Ok((answer, shortfall))
    }
}

impl Request for WithWait<'_> {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        let mut both = redis::pipe();
        // What `WAIT` fails with does not change that the call was executed.
        both.add_command(self.call.command().clone()).ignore_errors();
        both.cmd("WAIT").arg(self.wanted).arg(millis(self.within).max(1));
        let (answer, count) = match both.query_async(connection).await.map(pair)? {
            Some((Value::ServerError(error), _)) => {
                self.call.load_if_missing(error.into(), connection).await?;
                both.query_async(connection).await.map(pair)?
            }
            answers => answers,
        }
        .unwrap_or((Value::Nil, Value::Nil));
        match answer {
            Value::ServerError(error) => Err(error.into()),
            answer => Ok(Value::Array(vec![answer, count])),
        }
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        matches!(answer, Value::Array(both) if both.first().is_some_and(|answer| self.call.is_answered_by(answer)))
    }
}

fn pair(answers: Value) -> Option<(Value, Value)> {
    match answers {
        Value::Array(both) => <[Value; 2]>::try_from(both).ok().map(Into::into),
        _ => None,
    }
}
