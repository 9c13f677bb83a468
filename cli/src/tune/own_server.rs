//! A redis-server of our own: on a free port of this machine, without persistence, ended with the command.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::Pid;

use crate::{Failure, guard::Guard};

/// The longest time that a server may take to start.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// The number of ports that are tried. Another program may take one that was free a moment ago.
const TRIES: usize = 5;

/// A server that ends when this is dropped, and also if this process is killed.
pub(crate) struct OwnServer {
    process: Child,
    guard: Option<Guard>,
    port: u16,
}

impl OwnServer {
    pub(crate) fn start() -> Result<Self, Failure> {
        let mut failure = Failure::from("no port is free");
        for _ in 0..TRIES {
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
            match Self::on(port) {
                Ok(server) => return Ok(server),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn on(port: u16) -> Result<Self, Failure> {
        let guard = Guard::start().map_err(unguarded)?;
        let process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("redis-server does not start, is it installed? {error}"))?;
        let mut server = Self { process, guard, port };
        if let Some(guard) = &mut server.guard {
            guard.watch(Pid::from_child(&server.process)).map_err(unguarded)?;
        }
        let give_up = Instant::now() + READY_WITHIN;
        while !server.answers() {
            if let Some(status) = server.process.try_wait()? {
                return Err(format!("redis-server has ended: {status}").into());
            }
            if Instant::now() > give_up {
                return Err("redis-server does not answer".into());
            }
            sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Returns the number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns true if this process answers, and no other server that has its port.
    fn answers(&self) -> bool {
        let ask = || -> redis::RedisResult<String> {
            let client = redis::Client::open(self.url())?;
            redis::cmd("INFO").arg("server").query(&mut client.get_connection()?)
        };
        ask().is_ok_and(|info| info.lines().any(|line| line == format!("process_id:{}", self.process.id())))
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        // Before it is waited for: its number is that of no other process until then.
        if let Some(guard) = self.guard.take() {
            guard.end();
        }
        let _ = self.process.wait();
    }
}

fn unguarded(error: io::Error) -> Failure {
    format!("redis-server is not guarded: sh does not start: {error}").into()
}
