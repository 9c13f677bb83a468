//! Confirmation by replicas: a call with one `WAIT` behind it, on a connection that nobody else uses.
//!
//! `WAIT` asks about the writes of its own connection, and holds up all that comes after it there. So the connections of
//! this module are not those of the other verbs, and each carries one call at a time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use redis::{Pipeline, RedisError, RedisResult, Value, aio::MultiplexedConnection};
use tokio::{sync::Semaphore, time::timeout};

use crate::store::{
    Durability, StoreError,
    redis::{
        net::{
            connection::{Answered, Request},
            errors,
            options::RedisOptions,
            topology::Topology,
        },
        wire::{record::millis, script_call::ScriptCall},
    },
};

/// The largest number of calls that wait for replicas at a time. A manager has four batches of each verb in flight,
/// and more only while replicas are slow.
const MOST_AT_ONCE: usize = 64;

/// The sender of calls that replicas must confirm.
pub(super) struct Replicas {
    topology: Topology,
    wanted: u32,
    response_timeout: Duration,
    /// The idle connections to these servers.
    idle: Mutex<Vec<Topology>>,
    seats: Semaphore,
}

/// An answer, and its missing confirmations.
pub(super) struct Confirmed {
    pub(super) answered: Answered,
    /// The reason why the work of the master does not count.
    pub(super) shortfall: Option<Shortfall>,
}

/// A confirmation by fewer replicas than required.
pub(super) struct Shortfall {
    wanted: u32,
    reached: u32,
    /// The error that the server gave instead of a number.
    refused: Option<Arc<RedisError>>,
}

impl Shortfall {
    /// Returns the error of a request that was executed by the master, and perhaps `undone` since. A missing right to
    /// ask replicas is no shortfall: no later try would do better.
    pub(super) fn error(&self, undone: bool) -> StoreError {
        let &Self { wanted, reached, ref refused } = self;
        if let Some(refused) = refused.as_deref().filter(|_| undone)
            && let denied @ StoreError::Denied { .. } = errors::after_sending(refused.clone())
        {
            return denied;
        }
        let source = refused.clone().map(|refused| refused as _);
        StoreError::Unacknowledged { wanted, reached, undone, source }
    }
}

impl From<Answered> for Confirmed {
    /// Wraps an answer that needs no confirmation.
    fn from(answered: Answered) -> Self {
        Self { answered, shortfall: None }
    }
}

/// Splits the result of a call into the answer and the shortfall.
pub(super) fn parted(
    confirmed: Result<Confirmed, StoreError>,
) -> (Result<Value, StoreError>, Option<Shortfall>) {
    match confirmed {
        Ok(Confirmed { answered, shortfall }) => (Ok(answered.value), shortfall),
        Err(error) => (Err(error), None),
    }
}

impl Replicas {
    pub(super) fn new(topology: Topology, options: &RedisOptions) -> Self {
        let &RedisOptions { replicas_ack: wanted, response_timeout, .. } = options;
        let (idle, seats) = (Mutex::default(), Semaphore::new(MOST_AT_ONCE));
        Self { topology, wanted, response_timeout, idle, seats }
    }

    pub(super) fn durability(&self) -> Durability {
        Durability::Replicated { replicas: self.wanted }
    }

    /// Sends a call that may be executed twice without harm, and asks how many replicas have it.
    pub(super) async fn send(&self, call: &ScriptCall) -> Result<Confirmed, StoreError> {
        let &Self { wanted, response_timeout, .. } = self;
        let Ok(Ok(_seat)) = timeout(response_timeout, self.seats.acquire()).await else {
            let reason = format!("{MOST_AT_ONCE} calls wait for replicas already");
            return Err(StoreError::unavailable(reason));
        };
        // A connection is not used again if something failed on it, or if the caller has left it: a `WAIT` may still
        // hold it up.
        let connection = self.idle(Vec::pop).unwrap_or_else(|| self.topology.clone_connections());
        let request = WithWait { call, wanted, within: response_timeout / 2 };
        let Answered { value, repeated } = connection.send(&request).await.inspect_err(|error| {
            // A proxy that has forgotten one of them is likely to have forgotten all.
            if matches!(error, StoreError::TimedOut { .. }) {
                self.idle(Vec::clear);
            }
        })?;
        self.idle(|idle| idle.push(connection));
        let (value, shortfall) = request.counted(value)?;
        Ok(Confirmed { answered: Answered { value, repeated }, shortfall })
    }

    fn idle<T>(&self, change: impl FnOnce(&mut Vec<Topology>) -> T) -> T {
        // Nothing under this lock panics half-way.
        change(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A call with a `WAIT` behind it.
struct WithWait<'a> {
    call: &'a ScriptCall,
    wanted: u32,
    within: Duration,
}

impl WithWait<'_> {
    /// Sends both behind the commands that a pipeline has already.
    async fn send_behind(
        &self,
        mut pipeline: Pipeline,
        connection: &mut MultiplexedConnection,
    ) -> RedisResult<Option<(Value, Value)>> {
        // A failure of `WAIT` does not change that the call was executed.
        pipeline.add_command(self.call.command().clone()).ignore_errors();
        pipeline.cmd("WAIT").arg(self.wanted).arg(millis(self.within).max(1));
        pipeline.query_async(connection).await.map(pair)
    }

    /// Returns the answer to the call, and the shortfall.
    fn counted(&self, answers: Value) -> Result<(Value, Option<Shortfall>), StoreError> {
        let (answer, count) = pair(answers).ok_or_else(|| {
            StoreError::reply_lost("the answer makes no sense: not one for the call and one for the replicas")
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
        let answers = match self.send_behind(redis::pipe(), connection).await? {
            Some((Value::ServerError(error), _)) => {
                self.call.load_if_missing(error.into(), connection).await?;
                self.send_behind(redis::pipe(), connection).await?
            }
            answers => answers,
        };
        as_one(answers)
    }

    async fn send_asking(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        let mut asking = redis::pipe();
        asking.cmd("ASKING").ignore();
        as_one(self.send_behind(asking, connection).await?)
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        matches!(answer, Value::Array(both) if both.first().is_some_and(|answer| self.call.is_answered_by(answer)))
    }

    fn slot(&self) -> Option<u16> {
        self.call.slot()
    }
}

/// Returns both answers as one, or the error of the call.
fn as_one(answers: Option<(Value, Value)>) -> RedisResult<Value> {
    match answers.unwrap_or((Value::Nil, Value::Nil)) {
        (Value::ServerError(error), _) => Err(error.into()),
        (answer, count) => Ok(Value::Array(vec![answer, count])),
    }
}

fn pair(answers: Value) -> Option<(Value, Value)> {
    match answers {
        Value::Array(both) => <[Value; 2]>::try_from(both).ok().map(Into::into),
        _ => None,
    }
}
