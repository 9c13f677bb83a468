//! A server as a store reaches it: the client, and who provides the credentials.

use std::{io, ops::Deref, time::Duration};

use redis::{Client, ErrorKind, RedisError, RedisResult, aio::MultiplexedConnection};
use tokio::time::{Instant, sleep};

use super::{opening::dial, options::RedisOptions};
use crate::{
    core::{Doubling, InvalidValue},
    store::redis::credentials::{CredentialsProvider, KnownCredentials},
};

/// A server. Without a provider the client has the credentials, or there are none.
#[derive(Clone)]
pub struct Server {
    client: Client,
    provider: Option<CredentialsProvider>,
    /// The time for which all credentials may be refused in a rotation.
    patience: Duration,
}

/// The credentials that something was opened with, and their provider.
pub(crate) type LoggedIn = Option<(CredentialsProvider, KnownCredentials)>;

impl Server {
    pub(crate) fn new(client: Client, options: &RedisOptions) -> Result<Self, InvalidValue> {
        let settings = client.get_connection_info().redis_settings();
        let has_own = settings.username().is_some() || settings.password().is_some();
        if let Some(provider) = options.credentials.as_ref().filter(|_| has_own) {
            let given = "given, beside a user or password in the URL or the client";
            return Err(InvalidValue::new(provider.field(), given, "one of the two"));
        }
        let patience = options.connect_timeout * 3 / 4;
        Ok(Self { client, provider: options.credentials.clone(), patience })
    }

    pub(crate) fn with(&self, client: Client) -> Self {
        Self { client, ..self.clone() }
    }

    pub(crate) async fn dial(&self) -> RedisResult<MultiplexedConnection> {
        self.open(|client| async move { dial(&client).await }).await.map(|(opened, _)| opened)
    }

    /// Opens something with the credentials of now.
    ///
    /// A rotation may reach this server before the provider, or after it. So credentials that are refused are asked for again, and
    /// the last ones and the ones before are tried in turn.
    pub(crate) async fn open<T, F>(&self, open: impl Fn(Client) -> F) -> RedisResult<(T, LoggedIn)>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let Some(provider) = &self.provider else { return Ok((open(self.client.clone()).await?, None)) };
        let mut known = provider.current(self.patience / 2).await.map_err(of_the_network)?;
        let (began, mut newest) = (Instant::now(), known.version);
        let mut pauses = Doubling::new(Duration::from_millis(10), Duration::from_millis(200));
        loop {
            let asked = Instant::now();
            let error = match open(self.client_as(&known)?).await {
                Ok(opened) => {
                    provider.note_accepted();
                    return Ok((opened, Some((provider.clone(), known))));
                }
                Err(error) if is_refusal(&error) => error,
                Err(error) => return Err(error),
            };
            let latest = provider.asked_after(asked).await.map_err(of_the_network)?;
            if latest.version <= newest {
                if is_of_rights(&error) || !provider.was_accepted() {
                    return Err(error);
                }
                if began.elapsed() > self.patience {
                    return Err(of_the_network(format_args!("it accepted a login before, and now: {error}")));
                }
                sleep(pauses.next()).await;
            }
            newest = latest.version;
            let is_tried = known.version == newest;
            known = provider.previous().filter(|_| is_tried).unwrap_or(latest);
        }
    }

    fn client_as(&self, known: &KnownCredentials) -> RedisResult<Client> {
        let info = self.client.get_connection_info().clone();
        let settings = known.credentials.within(info.redis_settings().clone());
        Client::open(info.set_redis_settings(settings))
    }
}

impl Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Returns true if a server refused the user, and did nothing else.
pub(crate) fn is_refusal(error: &RedisError) -> bool {
    match error.code() {
        Some("NOAUTH" | "WRONGPASS") => true,
        // A connection without a login may not send as many arguments, or one as long.
        Some("ERR") => {
            error.detail().is_some_and(|detail| detail.starts_with("Protocol error: unauthenticated"))
        }
        _ => error.kind() == ErrorKind::AuthenticationFailed || is_of_rights(error),
    }
}

/// Returns true if the user is known and has too few rights. A script that says so of a command within may have done something.
pub(crate) fn is_of_rights(error: &RedisError) -> bool {
    error.code() == Some("NOPERM") && !error.detail().is_some_and(|detail| detail.contains(" script"))
}

/// Returns an error that counts as one of the network, and is therefore transient.
fn of_the_network(reason: impl ToString) -> RedisError {
    io::Error::other(reason.to_string()).into()
}
