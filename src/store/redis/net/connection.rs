//! The connection to one server: opened when it is needed, shared by all, opened again when it broke.
//!
//! The client library has a manager that reconnects, but it does not say whether a failed verb was sent, it keeps
//! a refused password for good, and it cannot be told to drop a connection that answers out of turn. All three
//! matter here.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use redis::{Client, Pipeline, RedisError, RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::{Instant, timeout};

use crate::{
    core::rough,
    store::{
        StoreError,
        redis::net::{
            dial::{address, dial},
            endpoint::Endpoint,
            errors,
            failure::Failure,
            idle,
            opening::opened_at,
            options::RedisOptions,
            silence::Silence,
            subscriber::Listener,
            urls::Node,
        },
    },
};

/// A request, which knows how to send itself and which answers are its own.
pub(crate) trait Request: Sync {
    /// Sends it and waits for the answer.
    fn send(&self, connection: &mut MultiplexedConnection)
    -> impl Future<Output = RedisResult<Value>> + Send;

    /// Returns true if this is an answer to this request, and not to another one.
    fn is_answered_by(&self, answer: &Value) -> bool;

    /// Returns the slot of a cluster that all its keys are in; `None` for a request that any node can answer.
    fn slot(&self) -> Option<u16> {
        None
    }

    /// Sends it to a node that is still receiving the slot, and waits for the answer.
    fn send_asking(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> impl Future<Output = RedisResult<Value>> + Send {
        self.send(connection)
    }
}

/// An answer, and whether it took more than one try.
pub(crate) struct Answered {
    pub(crate) value: Value,
    /// True if an earlier try of the same request was sent and lost: it may have been executed.
    pub(crate) repeated: bool,
}

pub(crate) struct Connection {
    endpoint: Endpoint,
    greeting: Arc<Pipeline>,
    connect_timeout: Duration,
    response_timeout: Duration,
    link: Arc<Mutex<Link>>,
    /// Held by the request that looks whether an idle connection is still there. The others wait in their order.
    looking: tokio::sync::Mutex<()>,
}

type Opening = Shared<BoxFuture<'static, Result<Opened, StoreError>>>;

#[derive(Clone)]
struct Opened {
    connection: MultiplexedConnection,
    /// The address of the server.
    address: Arc<str>,
    /// The master that the sentinels named for it.
    master: Option<Node>,
}

/// The current connection, open or opening.
#[derive(Default)]
struct Link {
    /// The number of the connection, so that one that broke is given up once and not its successor as well.
    generation: u64,
    opening: Option<Opening>,
    silence: Silence,
    /// The time of the last answer.
    heard: Option<Instant>,
}

impl Link {
    fn answered(&mut self) {
        self.silence.answered();
        self.heard = Some(Instant::now());
    }
}

impl Connection {
    /// Creates a connection that begins with this `greeting`. A server that is full, asks for a password or speaks
    /// something else accepts a connection and says so afterwards; the greeting shows that before a verb is sent.
    pub(crate) fn new(endpoint: Endpoint, greeting: Arc<Pipeline>, options: &RedisOptions) -> Self {
        let &RedisOptions { connect_timeout, response_timeout, .. } = options;
        let (link, looking) = Default::default();
        Self { endpoint, greeting, connect_timeout, response_timeout, link, looking }
    }

    /// Returns another connection to the same server.
    pub(crate) fn clone_connections(&self) -> Self {
        let &Self { ref endpoint, ref greeting, connect_timeout, response_timeout, .. } = self;
        let (endpoint, greeting) = (endpoint.clone(), Arc::clone(greeting));
        let (link, looking) = Default::default();
        Self { endpoint, greeting, connect_timeout, response_timeout, link, looking }
    }

    /// Returns a listener to these channels, on connections of its own.
    pub(crate) fn listener(&self, channels: Vec<String>) -> Listener {
        Listener::new(self.endpoint.clone(), channels, self.connect_timeout + self.response_timeout)
    }

    /// Sends a request that may be executed twice without harm.
    ///
    /// A request that finds the connection gone is sent once more at once. One that got no answer in time is not: that
    /// would double the wait.
    pub(crate) async fn send(&self, request: &impl Request) -> Result<Answered, StoreError> {
        let lost = match self.attempt(request).await {
            Ok(value) => return Ok(Answered { value, repeated: false }),
            Err(Failure::Gone(error)) => error,
            Err(other) => return Err(self.alone(other)),
        };
        match self.attempt(request).await {
            Ok(value) => Ok(Answered { value, repeated: true }),
            // Whatever the second try reports, the first may have been executed.
            Err(_) => Err(lost),
        }
    }

    /// Returns the number of the current connection, counted from 0. A request that is sent afterwards goes out on this
    /// one or a later one.
    pub(crate) async fn number(&self) -> Result<u64, StoreError> {
        self.open().await.map(|(generation, _)| generation)
    }

    /// Sends a request that must not be executed twice.
    pub(crate) async fn send_once(&self, request: &impl Request) -> Result<Value, StoreError> {
        self.attempt(request).await.map_err(|failure| self.alone(failure))
    }

    /// Returns the error of a request that this server alone should have executed.
    fn alone(&self, failure: Failure) -> StoreError {
        match failure {
            Failure::Elsewhere { .. } => errors::at(&format!("{:?}", self.endpoint), errors::of_a_cluster()),
            other => other.into_error(),
        }
    }

    /// Sends a request, once.
    pub(crate) async fn attempt(&self, request: &impl Request) -> Result<Value, Failure> {
        let (generation, Opened { mut connection, address, .. }) =
            self.open().await.map_err(Failure::Unreachable)?;
        let (sent, within) = (Instant::now(), self.response_timeout);
        let Ok(outcome) = timeout(within, request.send(&mut connection)).await else {
            // The connection is kept: what is sent on it next (the release of the token) is executed after this request.
            self.unanswered(generation, sent);
            return Err(Failure::Other(StoreError::TimedOut { within, server: Some(address) }));
        };
        match outcome {
            Ok(answer) if request.is_answered_by(&answer) => {
                self.answered(generation);
                if errors::is_of_a_replica(&answer) {
                    self.give_up(generation);
                }
                Ok(answer)
            }
            Ok(_) => {
                self.give_up(generation);
                let doing = format!("{address}: the connection gave the answer to another request");
                Err(Failure::Other(StoreError::reply_lost(doing)))
            }
            Err(error) => {
                self.answered(generation);
                if errors::wants_new_connection(&error) {
                    self.give_up(generation);
                }
                Err(Failure::of(error, &address))
            }
        }
    }

    fn answered(&self, generation: u64) {
        let mut link = lock(&self.link);
        if link.generation == generation {
            link.answered();
        }
    }

    /// Records a call without an answer. After some of them another connection is opened in the background, and
    /// takes the place of this one. If it does not open, the server is as silent as the connection, and nothing
    /// changes.
    fn unanswered(&self, generation: u64, sent: Instant) {
        let mut link = lock(&self.link);
        if link.generation != generation || !link.silence.unanswered(sent, Instant::now()) {
            return;
        }
        drop(link);
        let opening = open(self.endpoint.clone(), Arc::clone(&self.greeting), self.connect_timeout);
        let link = Arc::clone(&self.link);
        tokio::spawn(async move {
            let Ok(opened) = opening.clone().await else { return };
            let mut link = lock(&link);
            if link.generation == generation && link.silence.is_long() {
                tracing::warn!(server = %opened.address, "a connection that answers no more was replaced");
                let silence = link.silence.of_successor();
                let generation = generation + 1;
                *link = Link { generation, opening: Some(opening), silence, heard: None };
            }
        });
    }

    /// Returns the current connection to the current server.
    async fn open(&self) -> Result<(u64, Opened), StoreError> {
        let (generation, opened) = self.opened().await?;
        if !self.endpoint.has_moved(opened.master.as_ref()) {
            return Ok((generation, opened));
        }
        self.give_up(generation);
        self.opened().await
    }

    /// Returns the current connection, or a new one if this was idle and is not there any more. Those that come meanwhile go
    /// on in their order.
    async fn opened(&self) -> Result<(u64, Opened), StoreError> {
        let (generation, opened) = self.current().await?;
        if self.idle(generation).is_none() {
            return Ok((generation, opened));
        }
        let turn = self.looking.lock().await;
        // Another request may have looked in the meantime.
        if let Some(idle) = self.idle(generation) {
            if idle::is_there(opened.connection, idle, self.response_timeout / 2).await {
                self.answered(generation);
            } else {
                tracing::debug!(server = %opened.address, "a connection that was idle had ended");
                self.give_up(generation);
            }
        }
        drop(turn);
        self.current().await
    }

    /// Returns the time for which this connection was idle, if that is so long that it is not trusted. With a request that has no
    /// answer it is not idle, and [`Silence`] decides.
    fn idle(&self, generation: u64) -> Option<Duration> {
        let link = lock(&self.link);
        let heard = link.heard.filter(|_| link.generation == generation && !link.silence.has_begun());
        heard.map(|heard| heard.elapsed()).filter(|idle| *idle >= idle::LOOKED_AT)
    }

    /// Returns the current connection. All who come while it is being opened wait for the same attempt.
    async fn current(&self) -> Result<(u64, Opened), StoreError> {
        let (generation, opening) = {
            let mut link = lock(&self.link);
            let start = || open(self.endpoint.clone(), Arc::clone(&self.greeting), self.connect_timeout);
            let opening = link.opening.get_or_insert_with(start).clone();
            (link.generation, opening)
        };
        opening.await.map(|opened| (generation, opened)).inspect_err(|_| self.give_up(generation))
    }

    /// Gives up a connection: the next request opens a new one. Requests in flight on the old one keep it until they
    /// are done.
    fn give_up(&self, generation: u64) {
        let mut link = lock(&self.link);
        if link.generation == generation {
            *link = Link { generation: generation + 1, ..Link::default() };
        }
    }
}

fn lock(link: &Mutex<Link>) -> MutexGuard<'_, Link> {
    // Nothing under this lock panics half-way, so what a panic elsewhere left behind is whole.
    link.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a connection in a task of its own, so that a caller that gives up does not stop it for the others.
fn open(endpoint: Endpoint, greeting: Arc<Pipeline>, within: Duration) -> Opening {
    let task = tokio::spawn(async move {
        match timeout(within, find_and_connect(&endpoint, &greeting)).await {
            Ok(connected) => connected,
            Err(_) => {
                Err(StoreError::unavailable(format!("{endpoint:?}: no connection within {}", rough(within))))
            }
        }
    });
    let opening = async move {
        let ended = |_| Err(StoreError::unavailable("the task that opens the connection ended"));
        task.await.unwrap_or_else(ended)
    };
    opening.boxed().shared()
}

async fn find_and_connect(endpoint: &Endpoint, greeting: &Pipeline) -> Result<Opened, StoreError> {
    let found = endpoint.find().await?;
    let connection = opened_at(&found.client, connect(endpoint, &found.client, greeting)).await?;
    let address = address(&found.client).into();
    Ok(Opened { connection, address, master: found.master })
}

async fn connect(
    endpoint: &Endpoint,
    client: &Client,
    greeting: &Pipeline,
) -> RedisResult<MultiplexedConnection> {
    let mut connection = dial(client).await?;
    endpoint.check(&mut connection).await?;
    match greeting.exec_async(&mut connection).await {
        Ok(()) => Ok(connection),
        Err(error) => Err(first_of_many(error)),
    }
}

/// Returns the first error of a batch: it shows the server's code, which the error of the whole batch does not.
fn first_of_many(error: RedisError) -> RedisError {
    let errors = error.clone().into_server_errors();
    errors.and_then(|errors| errors.first().map(|(_, first)| first.clone().into())).unwrap_or(error)
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("to", &self.endpoint).finish_non_exhaustive()
    }
}
