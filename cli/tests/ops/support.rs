//! The command as a process, a lock manager beside it, and what both show.

use std::{
    ffi::OsStr,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use actix::{Addr, System};
use leasehold::{Acquire, Config, Lease, LockManager};
use serde_json::Value;

use leasehold_testing::servers::RedisServer;

use crate::golden;

/// The machine may be busy.
pub(crate) const PATIENT: [(&str, &str); 2] =
    [("LEASEHOLD_STORE_CONNECT_TIMEOUT", "10s"), ("LEASEHOLD_STORE_RESPONSE_TIMEOUT", "5s")];

/// The command with these arguments, without a configuration file, and without variables of its prefix.
pub(crate) fn command(arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    command.args(arguments).current_dir(std::env::temp_dir()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LEASEHOLD")) {
        command.env_remove(name);
    }
    // The configuration of whoever runs the tests is not theirs.
    command.env("HOME", "/nowhere").envs(PATIENT);
    command
}

/// Runs the command on this store.
pub(crate) fn run(url: &str, arguments: &[&str]) -> Ran {
    Ran::of(command(arguments).env("LEASEHOLD_STORE_URL", url).output().unwrap())
}

/// What a command has left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Its output, line by line as JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        let parsed = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{self:?}"));
        let lines: Vec<Value> = self.out.lines().map(parsed).collect();
        for line in &lines {
            golden::assert_like(line["kind"].as_str().expect("a kind"), line);
        }
        lines
    }

    /// The lines of JSON of this kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<Value> {
        self.json().into_iter().filter(|line| line["kind"] == kind).collect()
    }

    /// Panics unless it ended with this code and its output has these parts.
    #[track_caller]
    pub(crate) fn shows(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for part in parts {
            assert!(self.out.contains(part), "{part:?} is not in {self:?}");
        }
    }

    /// Panics unless it ended with this code and told one line with these parts.
    #[track_caller]
    pub(crate) fn tells(&self, code: i32, parts: &[&str]) {
        assert_eq!((self.code, self.err.lines().count()), (Some(code), 1), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in {self:?}");
        }
    }
}

/// Runs work with a lock manager of this store in the same process.
pub(crate) fn with_locks<T>(url: &str, work: impl AsyncFnOnce(Addr<LockManager>) -> T) -> T {
    let patient = "connect_timeout = '10s', response_timeout = '10s'";
    with_config(&format!("store = {{ url = '{url}', {patient} }}"), work)
}

/// As [`with_locks`], with a whole configuration.
pub(crate) fn with_config<T>(config: &str, work: impl AsyncFnOnce(Addr<LockManager>) -> T) -> T {
    System::new().block_on(async {
        let locks = Config::from_toml(config).unwrap().start().unwrap();
        work(locks).await
    })
}

/// Runs the command while the lock managers of this process go on.
pub(crate) async fn run_beside(url: &str, arguments: &[&str]) -> Ran {
    let mut command = command(arguments);
    command.env("LEASEHOLD_STORE_URL", url);
    run_prepared(command).await
}

/// As [`run_beside`], for a command that has its environment.
pub(crate) async fn run_prepared(mut command: Command) -> Ran {
    let ran = actix_rt::task::spawn_blocking(move || command.output().unwrap());
    Ran::of(ran.await.unwrap())
}

pub(crate) async fn acquire(locks: &Addr<LockManager>, request: Acquire) -> Lease {
    locks.send(request).await.unwrap().unwrap()
}

/// Waits until this is so.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not come to this: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How often the server was sent this command since it started.
pub(crate) fn calls(server: &RedisServer, command: &str) -> u64 {
    let info: String = redis::from_redis_value(server.command(&["INFO", "commandstats"])).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
}
