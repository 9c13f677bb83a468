//! A redis-server of a test's own: a process on a free port, with a clock that can be moved.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use redis::{Connection, Value};
use tempfile::TempDir;

use super::{clock::WallClock, ports::Port};
use crate::{process::Process, waiting::until};

/// A running redis-server without persistence, killed when dropped.
#[derive(Debug)]
pub struct RedisServer {
    directory: TempDir,
    port: Port,
    /// The program, with what stands before the arguments.
    program: Vec<String>,
    arguments: Vec<String>,
    clock: Option<WallClock>,
    process: Process,
}

impl RedisServer {
    /// Starts a server and waits until it answers.
    pub fn start() -> Self {
        Self::installed(&[], None)
    }

    /// Starts a server with these command line arguments besides the usual ones.
    pub fn with_args(arguments: &[&str]) -> Self {
        Self::installed(arguments, None)
    }

    /// Starts a server whose wall clock [`advance`](Self::advance) can move.
    pub fn with_clock() -> Self {
        Self::installed(&[], Some(()))
    }

    /// Starts a server with these command line arguments and a clock that [`advance`](Self::advance) can move.
    pub fn with_clock_and_args(arguments: &[&str]) -> Self {
        Self::installed(arguments, Some(()))
    }

    /// Starts another program than the installed redis-server, with a clock that [`advance`](Self::advance) can move.
    pub fn of(program: &Path) -> Self {
        Self::launch(&[program.to_str().expect("a path in UTF-8")], &[], Some(()))
    }

    /// Starts a server that the system kills when the thread that calls this ends, even if its process is killed. Needs `setpriv`
    /// of util-linux. The words of a `tool` that it runs under, such as a profiler, stand in front of its own.
    pub fn bound_to_this_thread(tool: &[&str]) -> Self {
        let program = [&["setpriv", "--pdeathsig", "KILL", "--"], tool, &["redis-server"]].concat();
        Self::launch(&program, &[], None)
    }

    fn installed(arguments: &[&str], clock: Option<()>) -> Self {
        let arguments: Vec<_> =
            ["--enable-debug-command", "local"].iter().chain(arguments).copied().collect();
        Self::launch(&["redis-server"], &arguments, clock)
    }

    fn launch(program: &[&str], arguments: &[&str], clock: Option<()>) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let clock = clock.map(|()| WallClock::new());
        let [program, arguments] =
            [program, arguments].map(|words| words.iter().map(ToString::to_string).collect::<Vec<_>>());
        // Another program may take a port that was free a moment ago: the server then ends at once, and another is tried.
        for _ in 0..20 {
            let port = Port::reserve();
            let mut process = spawn(&program, directory.path(), port.number(), &arguments, clock.as_ref());
            if wait_until_ready(directory.path(), &mut process) {
                return Self { directory, port, program, arguments, clock, process };
            }
        }
        let log = fs::read_to_string(directory.path().join("log")).unwrap_or_default();
        panic!("redis-server does not start: {log}");
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }

    /// Returns the number of its process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// The port of the server, on 127.0.0.1.
    pub const fn port(&self) -> u16 {
        self.port.number()
    }

    /// The URL of the server for a user with a password.
    pub fn url_for(&self, user: &str, password: &str) -> String {
        format!("redis://{user}:{password}@127.0.0.1:{}", self.port())
    }

    /// Moves the server's wall clock forward.
    pub fn advance(&self, by: Duration) {
        self.clock().advance(by);
    }

    /// Sets the server's wall clock back.
    pub fn set_back(&self, by: Duration) {
        self.clock().set_back(by);
    }

    /// Lets the server's writes to files fail as on a full disk, or not. It is one that was started with a clock.
    pub fn fill_disk(&self, is_full: bool) {
        self.clock().fill_disk(is_full);
    }

    /// Sets the time that a server with a clock waits until what it wrote has reached the disk.
    pub fn slow_disk(&self, by: Duration) {
        self.clock().slow_disk(by);
    }

    /// Stops the process where it stands (SIGSTOP): connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.process.pause();
    }

    /// Lets the process go on (SIGCONT), with what has arrived meanwhile.
    pub fn resume(&self) {
        self.process.resume();
    }

    /// Kills the process and waits until it is gone. Its memory is lost.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Waits until the process has ended by itself.
    pub fn end(&mut self) {
        self.process.end();
    }

    /// Kills the process if it still runs, and starts an empty one on the same port.
    pub fn restart(&mut self) {
        self.kill();
        let Self { directory, port, program, arguments, clock, process: _ } = &*self;
        self.process = spawn(program, directory.path(), port.number(), arguments, clock.as_ref());
        let ready = wait_until_ready(self.directory.path(), &mut self.process);
        assert!(ready, "the server does not come back");
    }

    /// Sends one command on a connection of its own.
    pub fn command(&self, words: &[&str]) -> Value {
        self.try_command(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Sends one command on a connection of its own, which may fail.
    pub fn try_command(&self, words: &[&str]) -> redis::RedisResult<Value> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut connect(self.port())?)
    }

    /// Sends one command on a connection of its own to a server that may be frozen: it fails without an answer within some time.
    pub fn try_command_within(&self, words: &[&str], time: Duration) -> redis::RedisResult<Value> {
        let mut connection =
            redis::Client::open(("127.0.0.1", self.port()))?.get_connection_with_timeout(time)?;
        connection.set_read_timeout(Some(time))?;
        redis::cmd(words[0]).arg(&words[1..]).query(&mut connection)
    }

    /// All keys with the milliseconds they have left (-1: no end), in order of name.
    pub fn keys(&self) -> Vec<(String, i64)> {
        let names: Vec<String> =
            redis::from_redis_value(self.command(&["KEYS", "*"])).expect("a list of keys");
        let left = |name: &str| redis::from_redis_value(self.command(&["PTTL", name])).expect("a number");
        let mut keys: Vec<_> = names.into_iter().map(|name| (name.clone(), left(&name))).collect();
        // A key may have ended between the two questions.
        keys.retain(|(_, left)| *left != -2);
        keys.sort();
        keys
    }

    fn clock(&self) -> &WallClock {
        self.clock.as_ref().expect("a server that was started by `with_clock`")
    }
}

impl AsRef<RedisServer> for RedisServer {
    fn as_ref(&self) -> &RedisServer {
        self
    }
}

fn spawn(
    program: &[String],
    directory: &Path,
    port: u16,
    arguments: &[String],
    clock: Option<&WallClock>,
) -> Process {
    let path = directory.join("log");
    fs::write(&path, "").expect("an empty log file");
    let log = File::options().append(true).open(path).expect("a log file");
    let mut command = Command::new(&program[0]);
    command
        .current_dir(directory)
        .args(&program[1..])
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a second handle of the log file"))
        .stderr(log);
    if let Some(clock) = clock {
        clock.is_that_of(&mut command);
    }
    Process::start(&mut command)
}

/// Waits until the server is ready. Returns false if it has ended instead.
fn wait_until_ready(directory: &Path, process: &mut Process) -> bool {
    let mut has_ended = false;
    until("the server is ready, or has ended", || {
        has_ended = process.ended().is_some();
        has_ended || says_ready(directory)
    });
    !has_ended
}

/// Only its own log tells that it is this server that listens on the port, and not that of another test.
fn says_ready(directory: &Path) -> bool {
    fs::read_to_string(directory.join("log")).is_ok_and(|log| log.contains("Ready to accept connections"))
}

fn connect(port: u16) -> redis::RedisResult<Connection> {
    redis::Client::open(("127.0.0.1", port))?.get_connection()
}
