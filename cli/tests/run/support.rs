//! What the tests of `leasehold run` share: a server, a run of the command, and another process's lock manager.

use std::{
    ffi::OsStr,
    fs,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use leasehold::{Config, LockManager};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

pub(crate) use leasehold_testing::servers::RedisServer as Server;

/// The longest time that anything may take. The machine may be busy.
pub(crate) const SOON: Duration = Duration::from_secs(60);

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Waits until something is so.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < SOON, "not so in time: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A name of a resource that no other test has.
pub(crate) fn name() -> String {
    static NAMES: AtomicU32 = AtomicU32::new(0);
    format!("job-{}-{}", std::process::id(), NAMES.fetch_add(1, Ordering::Relaxed))
}

/// The command `leasehold`, with these arguments and without variables of its own.
pub(crate) fn leasehold(arguments: &[impl AsRef<OsStr>]) -> Command {
    clean(env!("CARGO_BIN_EXE_leasehold"), arguments)
}

/// Another program, with these arguments, in the same way. What runs the tests in the background has them ignore INT and
/// QUIT, and `leasehold` keeps what it was started with.
pub(crate) fn clean(program: impl AsRef<OsStr>, arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(program);
    for (variable, _) in
        std::env::vars_os().filter(|(variable, _)| variable.to_string_lossy().starts_with("LEASEHOLD"))
    {
        command.env_remove(variable);
    }
    // The configuration of whoever runs the tests is not theirs.
    command.env("HOME", "/nowhere");
    // The machine may be busy. A lease that is short leaves little time for an answer that is late.
    let mut texts = arguments.iter().map(|it| it.as_ref().to_string_lossy().into_owned());
    let ttl = texts.find(|it| it == "--ttl").and(texts.next());
    let ttl = ttl.and_then(|ttl| humantime::parse_duration(&ttl).ok()).unwrap_or(seconds(15));
    let answer = (ttl / 3).clamp(Duration::from_millis(500), seconds(5));
    command.env("LEASEHOLD_STORE_CONNECT_TIMEOUT", "10s");
    command.env("LEASEHOLD_STORE_RESPONSE_TIMEOUT", format!("{}ms", answer.as_millis()));
    // Other programs say some things in the language of the user.
    command.env("LC_ALL", "C").env_remove("NOTIFY_SOCKET").args(arguments);
    command
}

/// The arguments of a run of a script of the shell.
pub(crate) fn arguments<'a>(
    url: &'a str,
    name: &'a str,
    options: &[&'a str],
    script: &'a str,
) -> Vec<&'a str> {
    [&["run", name, "--store", url], options, &["--", "sh", "-c", script]].concat()
}

/// A program that runs in a directory of its own, with its outputs in files there.
pub(crate) struct Run {
    process: Child,
    directory: TempDir,
}

/// The end of a program.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Starts `leasehold run` with a script of the shell.
    pub(crate) fn start(server: &Server, name: &str, options: &[&str], script: &str) -> Self {
        Self::of(leasehold(&arguments(&server.url(), name, options, script)), "")
    }

    /// Starts a program as the first of a process group, with this input.
    pub(crate) fn of(mut command: Command, input: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| fs::File::create(directory.path().join(name)).unwrap();
        fs::write(directory.path().join("in"), input).unwrap();
        let input = fs::File::open(directory.path().join("in")).unwrap();
        let command = command.current_dir(&directory).process_group(0);
        let process = command.stdin(input).stdout(file("out")).stderr(file("err")).spawn().unwrap();
        Self { process, directory }
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.directory.path().join(file)).unwrap_or_default()
    }

    /// Writes a file in its directory, for which its script waits.
    pub(crate) fn write(&self, file: &str) {
        fs::write(self.directory.path().join(file), "\n").unwrap();
    }

    /// Waits until its standard output has this.
    pub(crate) fn says(self, text: &str) -> Self {
        until(&format!("{text:?} is written"), || self.read("out").contains(text) || self.has_failed());
        assert!(self.read("out").contains(text), "{}", self.read("err"));
        self
    }

    /// Waits until its standard error has this.
    pub(crate) fn tells(self, text: &str) -> Self {
        until(&format!("{text:?} is told"), || self.read("err").contains(text));
        self
    }

    fn has_failed(&self) -> bool {
        !self.read("err").is_empty() && state(self.process.id()).is_none_or(|state| state == 'Z')
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn finished(mut self) -> Finished {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < SOON, "it does not end: {}{}", self.read("out"), self.read("err"));
            thread::sleep(Duration::from_millis(5));
        };
        Finished { code: status.code(), out: self.read("out"), err: self.read("err") }
    }

    /// Waits for its end, after which nothing of its command lives.
    pub(crate) fn ended(self, name: &str) -> Finished {
        let finished = self.finished();
        let alive = under(name);
        assert!(alive.is_empty(), "processes {alive:?} live on: {finished:?}");
        finished
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Both fail only if it has ended already, which it has unless a test fails.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The processes that were started under the lock of this name, by a variable that they inherit.
pub(crate) fn under(name: &str) -> Vec<u32> {
    let variable = format!("LEASEHOLD_RESOURCE={name}");
    let is_under = |id: &u32| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|it| it == variable.as_bytes())
    };
    let ids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    ids.filter(is_under).collect()
}

/// The state of a process, as in `/proc`: `T` if it is stopped, `Z` if it has ended and nobody has collected it.
pub(crate) fn state(id: u32) -> Option<char> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("State:"))?.trim().chars().next()
}

/// Does something with the lock manager of another process, as far as the store can tell.
pub(crate) fn other<T>(server: &Server, work: impl AsyncFnOnce(actix::Addr<LockManager>) -> T) -> T {
    let patient = "connect_timeout = '10s', response_timeout = '10s'";
    let config = Config::from_toml(&format!("store = {{ url = '{}', {patient} }}", server.url())).unwrap();
    actix::System::new().block_on(async { work(config.start().unwrap()).await })
}
