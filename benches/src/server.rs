//! A redis-server of our own: started on a free port, without persistence, killed at the end.

use std::{
    ffi::OsStr,
    net::TcpListener,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use redis::{Client, Connection};

use crate::Failure;

/// How long a server may take to start.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// A server, and a connection to ask it questions.
pub(crate) struct Server {
    process: Child,
    port: u16,
    connection: Connection,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Failure> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut process = command("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("setpriv of util-linux must be installed: {error}"))?;
        match connected(&mut process, port) {
            Ok(connection) => Ok(Self { process, port, connection }),
            Err(error) => {
                process.kill()?;
                process.wait()?;
                Err(error)
            }
        }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn empty(&mut self) -> Result<(), Failure> {
        Ok(redis::cmd("FLUSHALL").exec(&mut self.connection)?)
    }
}

impl Server {
    /// Ends it (SIGKILL). Connections to it are refused.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Stops it where it stands (SIGSTOP): connections stay open and nothing is answered.
    pub(crate) fn stop(&mut self) -> Result<(), Failure> {
        let sent = Command::new("kill").args(["-STOP", &self.process.id().to_string()]).status()?;
        if sent.success() { Ok(()) } else { Err("the server cannot be stopped".into()) }
    }
}

/// Creates a command whose process the system kills when this thread ends, so that even a killed measurement leaves
/// nothing behind.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

fn connected(process: &mut Child, port: u16) -> Result<Connection, Failure> {
    let client = Client::open(("127.0.0.1", port))?;
    let give_up = Instant::now() + READY_WITHIN;
    loop {
        if let Some(status) = process.try_wait()? {
            return Err(format!("redis-server does not start, is it installed? {status}").into());
        }
        match client.get_connection() {
            Ok(connection) => return Ok(connection),
            Err(error) if Instant::now() > give_up => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
