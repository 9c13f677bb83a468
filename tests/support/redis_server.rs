//! A redis-server of a test's own: a process on a free port, with a clock that can be moved, gone with its value.

#[path = "ports.rs"]
mod ports;

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use redis::{Connection, Value};
use tempfile::TempDir;

pub use self::ports::Port;
use crate::target_tmp;

const READY_WITHIN: Duration = Duration::from_secs(10);

/// A running redis-server without persistence, killed when dropped.
pub struct RedisServer {
    directory: TempDir,
    port: Port,
    program: PathBuf,
    arguments: Vec<String>,
    clock: Option<ServerClock>,
    process: Child,
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
    pub fn of(program: PathBuf) -> Self {
        Self::launch(program, &[], Some(()))
    }

    fn installed(arguments: &[&str], clock: Option<()>) -> Self {
        let arguments: Vec<_> =
            ["--enable-debug-command", "local"].iter().chain(arguments).copied().collect();
        Self::launch("redis-server".into(), &arguments, clock)
    }

    fn launch(program: PathBuf, arguments: &[&str], clock: Option<()>) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let clock = clock.map(|()| ServerClock::new(directory.path()));
        let arguments = arguments.iter().map(ToString::to_string).collect::<Vec<_>>();
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
        self.clock.as_ref().expect("a server that was started by `with_clock`").step(nanos(by));
    }

    /// Sets the server's wall clock back.
    pub fn set_back(&self, by: Duration) {
        self.clock.as_ref().expect("a server that was started by `with_clock`").step(-nanos(by));
    }

    /// Stops the process where it stands (SIGSTOP): connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets the process go on (SIGCONT), with what has arrived meanwhile.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Kills the process and waits until it is gone. Its memory is lost.
    pub fn kill(&mut self) {
        self.process.kill().expect("a process that can be killed");
        self.process.wait().expect("a process that ends");
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

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("the program `kill`");
        assert!(sent.success(), "kill {signal} {pid}");
    }
}

impl AsRef<RedisServer> for RedisServer {
    fn as_ref(&self) -> &RedisServer {
        self
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // SIGKILL ends a stopped process as well. Both fail only if the process has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(
    program: &Path,
    directory: &Path,
    port: u16,
    arguments: &[String],
    clock: Option<&ServerClock>,
) -> Child {
    let path = directory.join("log");
    fs::write(&path, "").expect("an empty log file");
    let log = File::options().append(true).open(path).expect("a log file");
    let mut command = Command::new(program);
    command
        .current_dir(directory)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a second handle of the log file"))
        .stderr(log);
    if let Some(clock) = clock {
        command.env("LD_PRELOAD", clock_library()).env("CLOCKSHIM", &clock.path);
    }
    command.spawn().expect("redis-server must be installed (Debian: apt-get install redis-server)")
}

/// Returns a port that nobody listens on at this moment.
pub fn free_port() -> u16 {
    Port::reserve().number()
}

fn wait_until_ready(directory: &Path, process: &mut Child) -> bool {
    let give_up = Instant::now() + READY_WITHIN;
    while Instant::now() < give_up {
        if process.try_wait().expect("the state of a child").is_some() {
            return false;
        }
        if says_ready(directory) {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    // Killed here so that the next try does not leave it behind.
    let _ = process.kill();
    let _ = process.wait();
    false
}

/// Only its own log tells that it is this server that listens on the port, and not that of another test.
fn says_ready(directory: &Path) -> bool {
    fs::read_to_string(directory.join("log")).is_ok_and(|log| log.contains("Ready to accept connections"))
}

fn connect(port: u16) -> redis::RedisResult<Connection> {
    redis::Client::open(("127.0.0.1", port))?.get_connection()
}

/// How far the server's wall clock is ahead: a number in a file that the server maps.
struct ServerClock {
    path: PathBuf,
    file: File,
}

impl ServerClock {
    fn new(directory: &Path) -> Self {
        let path = directory.join("clock");
        let file = File::options().create_new(true).read(true).write(true).open(&path).expect("a clock file");
        file.write_all_at(&0_i64.to_ne_bytes(), 0).expect("a clock that starts at zero");
        Self { path, file }
    }

    fn step(&self, by: i64) {
        let mut nanos = [0; 8];
        self.file.read_exact_at(&mut nanos, 0).expect("a clock that can be read");
        let ahead = i64::from_ne_bytes(nanos) + by;
        self.file.write_all_at(&ahead.to_ne_bytes(), 0).expect("a clock that can be set");
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).expect("less than 292 years")
}

/// The wall clock of a process, which is not that of this machine. It is there until this is dropped.
pub struct WallClock {
    _clock: ServerClock,
    _directory: TempDir,
}

impl WallClock {
    /// Sets the clock of a process that is going to be started, in seconds ahead of this machine.
    pub fn of(process: &mut Command, seconds: i64) -> Self {
        let directory = tempfile::tempdir().expect("a directory for a clock");
        let clock = ServerClock::new(directory.path());
        let nanos = seconds * 1_000_000_000;
        clock.file.write_all_at(&nanos.to_ne_bytes(), 0).expect("a clock that can be set");
        process.env("LD_PRELOAD", clock_library()).env("CLOCKSHIM", &clock.path);
        Self { _clock: clock, _directory: directory }
    }
}

/// Compiles the clock once a process.
fn clock_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let directory = target_tmp();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/support/clockshim.c");
        let (unfinished, library) =
            (directory.join(format!("clockshim-{}", std::process::id())), directory.join("clockshim.so"));
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&unfinished).arg(source);
        assert!(
            compiler.status().expect("a C compiler must be installed").success(),
            "the clock must compile"
        );
        // Renamed as a whole: another test binary may be starting a server with it at this moment.
        fs::rename(&unfinished, &library).expect("a library that can be renamed");
        library
    })
}
