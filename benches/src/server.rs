//! A redis-server of our own: started on a free port, without persistence, killed at the end.

use std::{
    ffi::OsStr,
    net::TcpListener,
    ops::Range,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use redis::{Client, Connection};

use crate::Failure;

/// How long a server may take to start.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// How many ports are tried.
const TRIES: usize = 10;
/// The ports of servers: below those that the system gives to outgoing connections.
const PORTS: Range<u16> = 11_000..21_000;

/// A server, and a connection to ask it questions.
pub(crate) struct Server {
    process: Child,
    port: u16,
    connection: Connection,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Failure> {
        let mut failure = Failure::from("no port is free");
        // Another server may take a port that was free a moment ago.
        for port in free_ports().take(TRIES) {
            match Self::on(port) {
                Ok(server) => return Ok(server),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn on(port: u16) -> Result<Self, Failure> {
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
        self.signal("-STOP")
    }

    /// Lets it go on after a stop.
    pub(crate) fn go_on(&mut self) -> Result<(), Failure> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> Result<(), Failure> {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status()?;
        if sent.success() { Ok(()) } else { Err(format!("the server cannot be sent {signal}").into()) }
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

/// Creates a command whose process the system kills when this thread ends, so that even a killed measurement leaves
/// nothing behind.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

fn free_ports() -> impl Iterator<Item = u16> {
    let ports = (0..1000).map(|_| rand::random_range(PORTS));
    ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
}

/// Connects to this process, and to no other server that has its port.
fn connected(process: &mut Child, port: u16) -> Result<Connection, Failure> {
    let client = Client::open(("127.0.0.1", port))?;
    let give_up = Instant::now() + READY_WITHIN;
    loop {
        if let Some(status) = process.try_wait()? {
            return Err(format!("redis-server does not start, is it installed? {status}").into());
        }
        match client
            .get_connection()
            .and_then(|mut connection| Ok((process_of(&mut connection)?, connection)))
        {
            Ok((answering, connection)) if answering == process.id() => return Ok(connection),
            Ok(_) => return Err(format!("another server listens on port {port}").into()),
            Err(error) if Instant::now() > give_up => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn process_of(connection: &mut Connection) -> redis::RedisResult<u32> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("server").query(connection)?;
    Ok(info.get("process_id").unwrap_or_default())
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
