//! The credentials of a user at servers, and who provides them.

mod provider;

use std::{fmt, time::Duration};

use redis::{Cmd, RedisConnectionInfo};

pub use self::provider::CredentialsProvider;
pub(crate) use self::provider::KnownCredentials;

/// A password, or a token in its place, with its user. [`Debug`](fmt::Debug) shows neither.
#[derive(Clone)]
pub struct Credentials {
    user: Option<String>,
    password: String,
    valid_for: Option<Duration>,
}

impl Credentials {
    /// Creates the credentials of the default user, without an end.
    pub fn new(password: impl Into<String>) -> Self {
        Self { user: None, password: password.into(), valid_for: None }
    }

    /// Sets the user. Default: the default user of the server.
    #[must_use]
    pub fn user(self, user: impl Into<String>) -> Self {
        Self { user: Some(user.into()), ..self }
    }

    /// Sets the time until they end. The provider is asked again after four fifths of it. Default: without an end.
    #[must_use]
    pub const fn valid_for(mut self, time: Duration) -> Self {
        self.valid_for = Some(time);
        self
    }

    /// Returns these settings of a connection, with user and password.
    pub(crate) fn within(&self, settings: RedisConnectionInfo) -> RedisConnectionInfo {
        let settings = settings.set_password(&self.password);
        self.user.iter().fold(settings, |settings, user| settings.set_username(user))
    }

    /// Returns the command by which an open connection logs in.
    pub(crate) fn command(&self) -> Cmd {
        let mut command = redis::cmd("AUTH");
        command.arg(self.user.as_deref()).arg(&self.password);
        command
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("valid_for", &self.valid_for).finish_non_exhaustive()
    }
}
