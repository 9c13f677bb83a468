//! The builder of a console: its token, its names, and what it shows beside the locks.

use std::{fmt, sync::Arc};

use actix::Addr;
use leasehold::{Config, InvalidValue, LockManager, ResourceName};

use super::{console::Console, examine::Doctor, guard::Guard, shared::Shared};

/// The builder of a [`Console`].
#[must_use = "a console does nothing until it is started"]
pub struct ConsoleBuilder {
    locks: Addr<LockManager>,
    token: Option<String>,
    reading_needs_token: bool,
    hosts: Vec<String>,
    elections: Vec<Vec<u8>>,
    schedules: Vec<Vec<u8>>,
    doctor: Option<Config>,
}

impl ConsoleBuilder {
    pub(super) fn new(locks: Addr<LockManager>) -> Self {
        Self {
            locks,
            token: None,
            reading_needs_token: false,
            hosts: Vec::new(),
            elections: Vec::new(),
            schedules: Vec::new(),
            doctor: None,
        }
    }

    /// Sets the token that whoever changes something has to show: 16 to 256 printable ASCII characters. Default: none, and
    /// nothing can be changed.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Asks for the token also from whoever only reads. Default: everybody who reaches the server may read.
    pub const fn reading_needs_token(mut self) -> Self {
        self.reading_needs_token = true;
        self
    }

    /// Adds a name of the server, without port, by which browsers may reach the console. `localhost` and addresses in digits
    /// are known; other names are refused, because anybody can let a name of their own point to this machine.
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Adds an election that is always shown. Others are shown while somebody waits for them.
    pub fn election(mut self, name: impl AsRef<[u8]>) -> Self {
        self.elections.push(name.as_ref().to_vec());
        self
    }

    /// Adds a schedule that is always shown. The store tells the others by itself, as far as one walk over its names reaches.
    pub fn schedule(mut self, name: impl AsRef<[u8]>) -> Self {
        self.schedules.push(name.as_ref().to_vec());
        self
    }

    /// Sets the configuration whose deployment the doctor of the console examines. Default: none, and there is no doctor.
    /// Whoever may read may let it examine.
    pub fn doctor(mut self, config: Config) -> Self {
        self.doctor = Some(config);
        self
    }

    /// Starts the observer of the console, in the arbiter of the caller.
    ///
    /// # Errors
    /// [`InvalidValue`] for a token that is too short, reading that needs a token where there is none, and a name of an
    /// election or of a schedule that is none.
    ///
    /// # Panics
    /// When it is called outside of a tokio `LocalSet`. Every actix arbiter is one.
    pub fn start(self) -> Result<Console, InvalidValue> {
        let guard = Guard::new(self.token, self.reading_needs_token, self.hosts)?;
        let names =
            |names: Vec<Vec<u8>>| -> Result<Vec<_>, _> { names.into_iter().map(ResourceName::new).collect() };
        let (elections, schedules) = (names(self.elections)?, names(self.schedules)?);
        let mut shared = Shared::new(self.locks);
        (shared.elections, shared.schedules) = (elections, schedules);
        if let Some(config) = self.doctor {
            shared.doctor = Arc::new(Doctor::new(config));
        }
        Ok(Console::new(guard, shared))
    }
}

impl fmt::Debug for ConsoleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleBuilder").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}
