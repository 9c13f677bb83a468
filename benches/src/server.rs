//! A redis-server of our own, and a connection to ask it questions.

use std::{ffi::OsStr, process::Command};

use leasehold_testing::servers::RedisServer;
use redis::{Client, Connection};

use crate::Failure;

/// A server, and a connection to it. It is gone when this thread ends, so that even a killed measurement leaves nothing behind.
pub(crate) struct Server {
    server: RedisServer,
    connection: Connection,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Failure> {
        Self::under(&[])
    }

    /// Starts a server under this tool, whose words stand in front of its own.
    pub(crate) fn under(tool: &[&str]) -> Result<Self, Failure> {
        let server = RedisServer::bound_to_this_thread(tool);
        let connection = Client::open(server.url())?.get_connection()?;
        Ok(Self { server, connection })
    }

    pub(crate) const fn port(&self) -> u16 {
        self.server.port()
    }

    pub(crate) fn process(&self) -> u32 {
        self.server.process()
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    pub(crate) fn empty(&mut self) -> Result<(), Failure> {
        Ok(redis::cmd("FLUSHALL").exec(&mut self.connection)?)
    }

    /// Ends it (SIGKILL). Connections to it are refused.
    pub(crate) fn kill(&mut self) {
        self.server.kill();
    }

    /// Stops it where it stands (SIGSTOP): connections stay open and nothing is answered.
    pub(crate) fn stop(&mut self) {
        self.server.pause();
    }

    /// Has it do as little as can be by itself, which costs the more the longer a count takes.
    pub(crate) fn be_idle(&mut self) -> Result<(), Failure> {
        Ok(redis::cmd("CONFIG").arg(&["SET", "hz", "1", "dynamic-hz", "no"]).exec(&mut self.connection)?)
    }

    /// Ends it as it ends itself, and waits until it is gone.
    pub(crate) fn shut_down(mut self) -> Result<(), Failure> {
        // The end of the connection is the answer.
        let _: Result<(), _> = redis::cmd("SHUTDOWN").arg("NOSAVE").exec(&mut self.connection);
        self.server.end();
        Ok(())
    }

    /// Lets it go on after a stop.
    pub(crate) fn go_on(&mut self) {
        self.server.resume();
    }

    /// Returns the number of scripts that it was asked to run so far.
    pub(crate) fn calls(&mut self) -> Result<u64, Failure> {
        let info: String = redis::cmd("INFO").arg("commandstats").query(&mut self.connection)?;
        let calls = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        Ok(calls.and_then(|calls| calls.split(',').next()).map_or(Ok(0), str::parse)?)
    }
}

/// Returns the address of all of these servers.
pub(crate) fn url_of(servers: &[Server]) -> String {
    match servers {
        [one] => one.url(),
        several => format!("quorum://[{}]", several.iter().map(Server::url).collect::<Vec<_>>().join(",")),
    }
}

/// Creates a command whose process the system kills when this thread ends.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}
