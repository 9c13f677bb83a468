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
use redis::{
    AsyncConnectionConfig, Client, Pipeline, RedisError, RedisResult, Value, aio::MultiplexedConnection,
};
use tokio::time::timeout;

use super::{errors, inbox::Listener, options::RedisOptions};
use crate::store::StoreError;

/// What is sent: knows how to send itself, and which answers are to it.
pub(super) trait Request: Sync {
    /// Sends it and waits for the answer.
    fn send(&self, connection: &mut MultiplexedConnection)
    -> impl Future<Output = RedisResult<Value>> + Send;

    /// Whether this is an answer to this request, and not to another one.
    fn is_answered_by(&self, answer: &Value) -> bool;
}

/// An answer, and what it cost to get it.
pub(super) struct Answered {
    pub(super) value: Value,
    /// Whether an earlier try of the same request was sent and lost: it may have been executed.
    pub(super) repeated: bool,
}

pub(super) struct Connection {
    client: Client,
    greeting: Arc<Pipeline>,
    connect_timeout: Duration,
    response_timeout: Duration,
    link: Mutex<Link>,
}

type Opening = Shared<BoxFuture<'static, Result<MultiplexedConnection, StoreError>>>;

/// The connection of today, open or being opened.
#[derive(Default)]
struct Link {
    /// Counts the connections, so that one that broke is given up once and not its successor as well.
    generation: u64,
    opening: Option<Opening>,
}

enum Failure {
    /// The connection is gone; whether the request was executed is open.
    Gone(StoreError),
    Other(StoreError),
}

impl Failure {
    fn into_error(self) -> StoreError {
        match self {
            Self::Gone(error) | Self::Other(error) => error,
        }
    }
}

impl Connection {
    /// A connection that begins with this `greeting`. A server that is full, asks for a password or speaks something
    /// else lets us connect and says so afterwards; by the greeting that is known before a verb is sent.
    pub(super) fn new(client: Client, greeting: Pipeline, options: &RedisOptions) -> Self {
        let &RedisOptions { connect_timeout, response_timeout, .. } = options;
        Self {
            client,
            greeting: Arc::new(greeting),
            connect_timeout,
            response_timeout,
            link: Mutex::default(),
        }
    }

    pub(super) const fn response_timeout(&self) -> Duration {
        self.response_timeout
    }

    /// A listener to this channel, on connections of its own.
    pub(super) fn listener(&self, channel: String) -> Listener {
        Listener::new(self.client.clone(), channel, self.connect_timeout, self.response_timeout)
    }

    /// Sends a request that may be executed twice without harm.
    ///
    /// A connection that broke while idle is noticed only by the next request, so a request that finds the
    /// connection gone is sent once more at once. One that got no answer in time is not: that would double the wait.
    pub(super) async fn send(&self, request: &impl Request) -> Result<Answered, StoreError> {
        let lost = match self.attempt(request).await {
            Ok(value) => return Ok(Answered { value, repeated: false }),
            Err(Failure::Gone(error)) => error,
            Err(Failure::Other(error)) => return Err(error),
        };
        match self.attempt(request).await {
            Ok(value) => Ok(Answered { value, repeated: true }),
            // Whatever the second try says of itself, the first may have been executed.
            Err(_) => Err(lost),
        }
    }

    /// Which connection it is, counted from 0. A request that is sent afterwards goes out on this one or a later one.
    pub(super) async fn number(&self) -> Result<u64, StoreError> {
        self.open().await.map(|(generation, _)| generation)
    }

    /// Sends a request that must not be executed twice.
    pub(super) async fn send_once(&self, request: &impl Request) -> Result<Value, StoreError> {
        self.attempt(request).await.map_err(Failure::into_error)
    }

    async fn attempt(&self, request: &impl Request) -> Result<Value, Failure> {
        let (generation, mut connection) = self.open().await.map_err(Failure::Other)?;
        let within = self.response_timeout;
        let Ok(outcome) = timeout(within, request.send(&mut connection)).await else {
            // The connection is kept: what is sent on it next (giving the token back) is executed after this request.
            return Err(Failure::Other(StoreError::TimedOut { within }));
        };
        match outcome {
            Ok(answer) if request.is_answered_by(&answer) => Ok(answer),
            Ok(_) => {
                self.give_up(generation);
                let doing = "the connection gave the answer to another request".to_owned();
                Err(Failure::Other(StoreError::Lost { doing, source: None }))
            }
            Err(error) => Err(self.failed(generation, error)),
        }
    }

    fn failed(&self, generation: u64, error: RedisError) -> Failure {
        if errors::wants_new_connection(&error) {
            self.give_up(generation);
        }
        let gone = error.is_io_error();
        let error = errors::after_sending(error);
        if gone { Failure::Gone(error) } else { Failure::Other(error) }
    }

    /// The connection of today. All who come while it is being opened wait for the same attempt.
    async fn open(&self) -> Result<(u64, MultiplexedConnection), StoreError> {
        let (generation, opening) = {
            let mut link = self.link();
            let start = || open(self.client.clone(), Arc::clone(&self.greeting), self.connect_timeout);
            let opening = link.opening.get_or_insert_with(start).clone();
            (link.generation, opening)
        };
        match opening.await {
            Ok(connection) => Ok((generation, connection)),
            Err(error) => {
                self.give_up(generation);
                Err(error)
            }
        }
    }

    /// The next request opens a new connection. Requests in flight on the old one keep it until they are done.
    fn give_up(&self, generation: u64) {
        let mut link = self.link();
        if link.generation == generation {
            *link = Link { generation: generation + 1, opening: None };
        }
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        // Nothing under this lock panics half-way, so what a panic elsewhere left behind is whole.
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a connection in a task of its own, so that a caller that gives up does not stop it for the others.
fn open(client: Client, greeting: Arc<Pipeline>, within: Duration) -> Opening {
    let task = tokio::spawn(async move {
        match timeout(within, connect(&client, &greeting)).await {
            Ok(connected) => connected.map_err(errors::before_sending),
            Err(_) => Err(unavailable(format!("no connection within {within:?}"))),
        }
    });
    let opening = async move {
        let ended = |_| Err(unavailable("the task that opens the connection ended".to_owned()));
        task.await.unwrap_or_else(ended)
    };
    opening.boxed().shared()
}

async fn connect(client: &Client, greeting: &Pipeline) -> RedisResult<MultiplexedConnection> {
    // Times are kept here and not by the client library, so that there is one kind of timeout and not two.
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    match greeting.exec_async(&mut connection).await {
        Ok(()) => Ok(connection),
        Err(error) => Err(first_of_many(error)),
    }
}

/// The error of a batch does not show the server's code; the first error in it does.
fn first_of_many(error: RedisError) -> RedisError {
    let errors = error.clone().into_server_errors();
    errors.and_then(|errors| errors.first().map(|(_, first)| first.clone().into())).unwrap_or(error)
}

fn unavailable(reason: String) -> StoreError {
    StoreError::Unavailable { reason, source: None }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client knows the password: only the address is shown.
        let address = self.client.get_connection_info().addr().to_string();
        f.debug_struct("Connection").field("address", &address).finish_non_exhaustive()
    }
}
