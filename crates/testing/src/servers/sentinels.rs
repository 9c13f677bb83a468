//! A master, two replicas and three sentinels of a test's own, gone with their value.

use std::{
    fs::{self, File},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use redis::Value;
use tempfile::TempDir;

use super::{ports::Port, redis_server::RedisServer};
use crate::{process::Process, waiting::until};

/// The name of the service.
const SERVICE: &str = "locks";
/// The ms without an answer after which a master is taken for dead: one that died, and one that gets no turn on a busy
/// machine.
const MISSED: &str = "1000";
const CALM: &str = "600000";
/// The time after which a failover is late, and what sentinels wait then, less than the master is down by that time.
const LATE: Duration = Duration::from_secs(10);
const MISSED_WHEN_LATE: &str = "5000";
/// Replicas follow at once, and are not given up when a test moves their clocks.
const SERVER: [&str; 4] = ["--repl-diskless-sync-delay", "0", "--repl-timeout", "86400"];

/// A running service with its sentinels.
#[derive(Debug)]
pub struct Sentinels {
    /// The master first, unless there was a failover, and its replicas.
    pub servers: Vec<RedisServer>,
    sentinels: Vec<Sentinel>,
}

impl Sentinels {
    /// Starts all of them. A master is taken for dead after a second.
    pub fn start() -> Self {
        Self::with(MISSED, &[], "")
    }

    /// Starts all of them for tests in which a master dies when they say so, or none: one that gets no turn for seconds is not
    /// replaced.
    pub fn calm() -> Self {
        Self::calm_with(&[], "")
    }

    /// Starts the same with these command line arguments of the servers, and lines in the configuration of the sentinels.
    pub fn calm_with(arguments: &[&str], lines: &str) -> Self {
        Self::with(CALM, arguments, lines)
    }

    /// Starts all of them, and waits until they know each other. A sentinel takes the master for dead after so many ms without
    /// an answer.
    fn with(down_after: &str, arguments: &[&str], lines: &str) -> Self {
        let arguments = [&SERVER[..], arguments].concat();
        let master = RedisServer::with_clock_and_args(&arguments);
        let port = master.port().to_string();
        let replica = || {
            let follows = ["--replicaof", "127.0.0.1", &port];
            RedisServer::with_clock_and_args(&[&arguments[..], &follows].concat())
        };
        let servers = vec![replica(), replica(), master];
        let sentinels = (0..3).map(|_| Sentinel::start(&port, down_after, lines)).collect();
        let this = Self { servers, sentinels };
        until("they know each other", || {
            this.sentinels.iter().all(|sentinel| {
                let table = sentinel.table();
                field(&table, "num-slaves") == "2" && field(&table, "num-other-sentinels") == "2"
            }) && replicas_online(&this.servers[2]) == 2
        });
        this
    }

    /// The URL of the service.
    pub fn url(&self) -> String {
        let hosts: Vec<_> =
            self.sentinels.iter().map(|it| format!("127.0.0.1:{}", it.port.number())).collect();
        format!("redis+sentinel://{}/{SERVICE}", hosts.join(","))
    }

    /// The place of the master in `servers`, as the first sentinel that answers says.
    pub fn master(&self) -> usize {
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE];
        let answer = self.sentinels.iter().find_map(|sentinel| sentinel.command(&words).ok());
        let (_, port): (String, u16) =
            redis::from_redis_value(answer.expect("a sentinel")).expect("an address");
        self.servers.iter().position(|server| server.port() == port).expect("one of the servers")
    }

    /// Has the first sentinel make a replica the master, as an operator does.
    pub fn fail_over(&self) {
        // It is refused while replicas are not known to be good yet.
        let words = ["SENTINEL", "FAILOVER", SERVICE];
        until("a failover begins", || self.sentinels[0].command(&words).is_ok());
    }

    /// Waits until another server is the master than this one, which answers no more. Before and after that a calm service
    /// stays calm: there is no further failover, of which a test knows nothing.
    ///
    /// Sentinels that got no turn for two seconds do nothing for half a minute, and to them a replica is no good master that
    /// was without one for longer than the master is down, by more than ten times what they wait. So they wait longer then.
    pub fn wait_for_another(&self, master: usize) {
        self.set_down_after(MISSED);
        let (began, mut is_late) = (Instant::now(), false);
        until("another master", || {
            if !is_late && began.elapsed() > LATE {
                self.set_down_after(MISSED_WHEN_LATE);
                is_late = true;
            }
            self.master() != master
        });
        self.set_down_after(CALM);
    }

    /// Sets the milliseconds after which a master that does not answer counts as down.
    pub fn set_down_after(&self, millis: &str) {
        for sentinel in &self.sentinels {
            let words = ["SENTINEL", "SET", SERVICE, "down-after-milliseconds", millis];
            sentinel.command(&words).expect("a sentinel that can be set");
        }
    }

    /// Moves the clocks of all servers forward.
    pub fn advance(&self, by: Duration) {
        self.servers.iter().for_each(|server| server.advance(by));
    }

    /// How often somebody called a script of this server.
    pub fn scripts_called(server: &RedisServer) -> u64 {
        let info: String =
            redis::from_redis_value(server.command(&["INFO", "commandstats"])).expect("a text");
        let calls = info.lines().filter_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        calls.filter_map(|calls| calls.split(',').next()?.parse::<u64>().ok()).sum()
    }
}

fn replicas_online(master: &RedisServer) -> usize {
    let info: String = redis::from_redis_value(master.command(&["INFO", "replication"])).expect("a text");
    info.matches("state=online").count()
}

fn field<'a>(table: &'a [String], name: &str) -> &'a str {
    let at = table.iter().position(|field| field == name);
    at.and_then(|at| table.get(at + 1)).map_or("", String::as_str)
}

#[derive(Debug)]
struct Sentinel {
    _directory: TempDir,
    port: Port,
    _process: Process,
}

impl Sentinel {
    fn start(master: &str, down_after: &str, lines: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let config = directory.path().join("sentinel.conf");
        // Another program may take a port that was free a moment ago.
        for _ in 0..20 {
            let port = Port::reserve();
            let text = format!(
                "port {}\nbind 127.0.0.1\nsentinel monitor {SERVICE} 127.0.0.1 {master} 2\n\
                 sentinel down-after-milliseconds {SERVICE} {down_after}\n\
                 sentinel failover-timeout {SERVICE} 3000\n{lines}",
                port.number()
            );
            fs::write(&config, text).expect("a file");
            let log = File::create(directory.path().join("log")).expect("a log file");
            let mut command = Command::new("redis-server");
            command.current_dir(directory.path()).arg(&config).arg("--sentinel");
            command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(log);
            let mut process = Process::start(&mut command);
            let mut has_ended = false;
            until("the sentinel watches the master, or has ended", || {
                has_ended = process.ended().is_some();
                let log = fs::read_to_string(directory.path().join("log")).unwrap_or_default();
                has_ended || log.contains("+monitor master")
            });
            if !has_ended {
                return Self { _directory: directory, port, _process: process };
            }
        }
        panic!("no sentinel starts");
    }

    fn command(&self, words: &[&str]) -> redis::RedisResult<Value> {
        let mut connection = redis::Client::open(("127.0.0.1", self.port.number()))?.get_connection()?;
        redis::cmd(words[0]).arg(&words[1..]).query(&mut connection)
    }

    fn table(&self) -> Vec<String> {
        let answer = self.command(&["SENTINEL", "MASTER", SERVICE]).expect("a sentinel that answers");
        redis::from_redis_value(answer).expect("a list of fields")
    }
}
