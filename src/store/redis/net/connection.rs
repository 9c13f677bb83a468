//! The connection to one server: opened when it is needed, shared by all, opened again when it broke.
//!
//! The client library has a manager that reconnects, but it does not say whether a failed verb was sent, it keeps
//! a refused password for good, and it cannot be told to drop a connection that answers out of turn. All three
//! matter here.

use std::{fmt, pin::pin, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use redis::{Pipeline, RedisResult, Value};
use tokio::time::{Instant, timeout};

use crate::store::{
    StoreError,
    redis::net::{
        call::{Call, CallAnswer, TryFailure},
        endpoint::Endpoint,
        errors,
        open_connection::{OpenConnection, connect},
        opening::within,
        options::RedisOptions,
        server::is_refusal,
        silence::{self, Silence},
        subscriber::Subscriber,
        watch::Watch,
    },
};

/// The number of times that a call may be refused while credentials rotate.
const MOST_REFUSED: u32 = 3;

pub(crate) struct Connection {
    endpoint: Endpoint,
    greeting: Arc<Pipeline>,
    connect_timeout: Duration,
    response_timeout: Duration,
    link: Arc<Mutex<Link>>,
    /// Held by the call that looks whether an idle connection is still there. The others wait in their order.
    looking: tokio::sync::Mutex<()>,
    /// Told of changes on it, if leases are watched.
    watch: Option<Arc<Watch>>,
}

type Opening = Shared<BoxFuture<'static, Result<OpenConnection, StoreError>>>;

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.endpoint)
    }
}

/// The current connection, open or opening.
#[derive(Default)]
struct Link {
    /// The number of the connection, so that one that broke is given up once and not its successor as well.
    generation: u64,
    state: LinkState,
    silence: Silence,
}

#[derive(Default)]
enum LinkState {
    #[default]
    Closed,
    Opening(Opening),
    Open(OpenConnection),
}

impl Connection {
    /// Creates a connection that begins with this `greeting`. A server that is full, asks for a password or speaks
    /// something else accepts a connection and says so afterwards; the greeting shows that before a verb is sent.
    pub(crate) fn new(endpoint: Endpoint, greeting: Arc<Pipeline>, options: &RedisOptions) -> Self {
        let &RedisOptions { connect_timeout, response_timeout, .. } = options;
        let (link, looking) = Default::default();
        Self { endpoint, greeting, connect_timeout, response_timeout, link, looking, watch: None }
    }

    pub(crate) fn clone_connections(&self, watch: Option<Arc<Watch>>) -> Self {
        let (endpoint, greeting) = (self.endpoint.clone(), Arc::clone(&self.greeting));
        Self { endpoint, greeting, link: Arc::default(), looking: Default::default(), watch, ..*self }
    }

    pub(crate) fn subscriber(&self, channels: Vec<String>) -> Subscriber {
        Subscriber::new(self.endpoint.clone(), channels, self.connect_timeout + self.response_timeout)
    }

    /// Sends a call.
    ///
    /// A call that finds the connection gone is sent again at once, unless it must not be executed twice. One that got
    /// no answer in time is not: that would double the wait.
    pub(crate) async fn send(&self, call: &Call) -> Result<CallAnswer, StoreError> {
        let lost = match self.attempt(call, false).await {
            Ok(answer) => return Ok(answer),
            Err(TryFailure::Gone(error)) if !call.once => error,
            Err(TryFailure::Elsewhere { .. }) => {
                return Err(errors::at(&self.to_string(), errors::of_a_cluster()));
            }
            Err(other) => return Err(other.into_error()),
        };
        // Whatever the second try reports, the first may have been executed.
        let again = self.attempt(call, false).await.map_err(|_| lost)?;
        Ok(CallAnswer { repeated: true, ..again })
    }

    /// Returns the number of the current connection, counted from 0. A call that is sent afterwards goes out on this
    /// one or a later one.
    pub(crate) async fn number(&self) -> Result<u64, StoreError> {
        self.open().await.map(|(generation, _)| generation)
    }

    /// Sends a call, once. With `asking` it goes to a node that is still receiving its slot. If the server refuses the user it was not
    /// executed, and is sent again on another connection, as long as a rotation of credentials may be the reason.
    pub(crate) async fn attempt(&self, call: &Call, asking: bool) -> Result<CallAnswer, TryFailure> {
        let mut refused = 0;
        loop {
            let (generation, mut opened) = self.open().await.map_err(TryFailure::Unreachable)?;
            let version = opened.login.as_ref().map_or(0, |login| login.version());
            match (self.attempt_on(generation, &mut opened, call, asking).await, &opened.login) {
                (Err(TryFailure::Refused(_, refusal)), Some(login))
                    if refused < MOST_REFUSED && Box::pin(login.may_help(version, &refusal)).await =>
                {
                    refused += 1;
                    self.give_up(generation);
                }
                (outcome, _) => return outcome,
            }
        }
    }

    async fn attempt_on(
        &self,
        generation: u64,
        OpenConnection { connection, address, .. }: &mut OpenConnection,
        call: &Call,
        asking: bool,
    ) -> Result<CallAnswer, TryFailure> {
        let sent = pin!(call.send(connection, asking));
        let answer = self.answer_to(sent, generation, address).await?;
        if !call.is_answered_by(&answer) {
            self.give_up(generation);
            let doing = format!("{address}: the connection gave the answer to another request");
            return Err(TryFailure::Other(StoreError::reply_lost(doing)));
        }
        if is_of_a_replica(&answer) {
            self.give_up(generation);
        }
        Ok(call.answer(answer, generation))
    }

    /// Sends commands, once, on the connection of this number. Returns their answers, of which some may be errors. `None` if there is
    /// another connection, so that nothing was sent, or if all are refused, and another login may do better.
    pub(crate) async fn send_together(
        &self,
        commands: &Pipeline,
        on: u64,
    ) -> Result<Option<Vec<Value>>, TryFailure> {
        let (generation, OpenConnection { mut connection, address, login, .. }) =
            self.open().await.map_err(TryFailure::Unreachable)?;
        if generation != on && !planted!("the work of a script on the counter counts on another connection") {
            return Ok(None);
        }
        let sent = pin!(connection.send_packed_commands(commands, 0, commands.len()));
        let answers = self.answer_to(sent, generation, &address).await?;
        let is_refused = login.is_some() && answers.iter().all(is_refused);
        Ok(Some(answers).filter(|_| !is_refused))
    }

    /// Waits for the answer to what was sent on this connection, for as long as an answer may take.
    async fn answer_to<T>(
        &self,
        sent: impl Future<Output = RedisResult<T>>,
        generation: u64,
        address: &Arc<str>,
    ) -> Result<T, TryFailure> {
        let (began, within) = (Instant::now(), self.response_timeout);
        let Ok(outcome) = timeout(within, sent).await else {
            // The connection is kept: what is sent on it next (the release of the token) is executed after this call.
            self.unanswered(generation, began);
            let server = Some(Arc::clone(address));
            return Err(TryFailure::Other(StoreError::TimedOut { within, server }));
        };
        self.answered(generation);
        outcome.map_err(|error| {
            if errors::wants_new_connection(&error) {
                self.give_up(generation);
            }
            TryFailure::of(error, address)
        })
    }

    fn answered(&self, generation: u64) {
        let mut link = self.link.lock();
        if link.generation == generation {
            link.silence.answered();
        }
    }

    /// Records a call without an answer. After some of them another connection is opened in the background, and
    /// takes the place of this one. If it does not open, the server is as silent as the connection, and nothing
    /// changes.
    fn unanswered(&self, generation: u64, sent: Instant) {
        let mut link = self.link.lock();
        if link.generation != generation || !link.silence.unanswered(sent, Instant::now()) {
            return;
        }
        drop(link);
        let (opening, link) = (self.start_opening(), Arc::clone(&self.link));
        tokio::spawn(async move {
            let Ok(opened) = opening.await else { return };
            let mut link = link.lock();
            if link.generation == generation && link.silence.is_long() {
                tracing::warn!(server = %opened.address, "a connection that answers no more was replaced");
                let silence = link.silence.of_successor();
                *link = Link { generation: generation + 1, state: LinkState::Open(opened), silence };
            }
        });
    }

    /// Returns the current connection to the current server.
    async fn open(&self) -> Result<(u64, OpenConnection), StoreError> {
        let (generation, opened) = match self.in_use() {
            Some(in_use) => in_use,
            None => Box::pin(self.there()).await?,
        };
        if !self.endpoint.has_moved(opened.master.as_ref()) {
            return Ok((generation, opened));
        }
        self.give_up(generation);
        Box::pin(self.there()).await
    }

    /// Returns the current connection if it is open, and has answered a moment ago or is about to.
    fn in_use(&self) -> Option<(u64, OpenConnection)> {
        let link = self.link.lock();
        match &link.state {
            LinkState::Open(opened) if link.silence.idle().is_none() => {
                Some((link.generation, opened.clone()))
            }
            _ => None,
        }
    }

    /// Returns the current connection, or a new one if this was idle and is not there any more. Those that come meanwhile go
    /// on in their order.
    async fn there(&self) -> Result<(u64, OpenConnection), StoreError> {
        let (generation, opened) = self.current().await?;
        if self.idle(generation).is_none() {
            return Ok((generation, opened));
        }
        let turn = self.looking.lock().await;
        // Another call may have looked in the meantime.
        if let Some(idle) = self.idle(generation) {
            if silence::is_there(opened.connection, idle, self.response_timeout / 2).await {
                self.answered(generation);
            } else {
                tracing::debug!(server = %opened.address, "a connection that was idle had ended");
                self.give_up(generation);
            }
        }
        drop(turn);
        self.current().await
    }

    fn idle(&self, generation: u64) -> Option<Duration> {
        let link = self.link.lock();
        if link.generation == generation { link.silence.idle() } else { None }
    }

    /// Returns the current connection. All who come while it is being opened wait for the same attempt, but not for one that has failed.
    async fn current(&self) -> Result<(u64, OpenConnection), StoreError> {
        let (generation, opening) = {
            let mut link = self.link.lock();
            let opening = match &link.state {
                LinkState::Open(opened) => return Ok((link.generation, opened.clone())),
                LinkState::Opening(opening) if !matches!(opening.peek(), Some(Err(_))) => opening.clone(),
                _ => self.start_opening(),
            };
            link.state = LinkState::Opening(opening.clone());
            (link.generation, opening)
        };
        let opened = opening.await.inspect_err(|_| self.give_up(generation))?;
        let mut link = self.link.lock();
        if link.generation == generation {
            link.state = LinkState::Open(opened.clone());
        }
        Ok((generation, opened))
    }

    /// Gives up a connection: the next call opens a new one, and calls in flight keep the old one until they are done.
    fn give_up(&self, generation: u64) {
        let mut link = self.link.lock();
        if link.generation == generation {
            *link = Link { generation: generation + 1, ..Link::default() };
        }
    }

    /// Opens a connection in a task of its own, so that a caller that gives up does not stop it for the others.
    fn start_opening(&self) -> Opening {
        let (endpoint, greeting) = (self.endpoint.clone(), Arc::clone(&self.greeting));
        let (time, of_an_answer, watch) = (self.connect_timeout, self.response_timeout, self.watch.clone());
        let task = tokio::spawn(async move {
            let missing = || format!("{endpoint:?}: no connection");
            within(time, missing, connect(&endpoint, &greeting, of_an_answer, watch.as_ref())).await
        });
        let ended = |_| Err(StoreError::unavailable("the task that opens the connection ended"));
        async move { task.await.unwrap_or_else(ended) }.boxed().shared()
    }
}

fn is_refused(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if is_refusal(&error.clone().into()))
}

/// Returns true if a script says of any of its requests that the server is a replica. As the answer to a script this is
/// no error of the connection.
fn is_of_a_replica(answer: &Value) -> bool {
    match answer {
        Value::Array(parts) => match &parts[..] {
            [Value::BulkString(verdict), Value::BulkString(reason)] if verdict == b"error" => {
                reason.windows(8).any(|word| word == b"READONLY")
            }
            parts => parts.iter().any(is_of_a_replica),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_recognised_by_any_answer_of_a_batch() {
        let text = |text: &str| Value::BulkString(text.into());
        let answer = |reason: &str| {
            Value::Array(vec![text("7"), Value::Int(1), Value::Array(vec![text("error"), text(reason)])])
        };
        assert!(is_of_a_replica(&answer("READONLY You can't write against a read only replica.")));
        assert!(is_of_a_replica(&answer("@user_script: 5: -READONLY You can't write")));
        let with_count = |reason| Value::Array(vec![answer(reason), Value::Int(0)]);
        assert!(is_of_a_replica(&with_count("READONLY You can't write against a read only replica.")));
        assert!(!is_of_a_replica(&with_count("OOM command not allowed")));
        assert!(!is_of_a_replica(&answer("OOM command not allowed")));
        assert!(!is_of_a_replica(&Value::Array(vec![text("READONLY")])));
    }
}
