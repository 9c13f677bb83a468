//! A process of these tests: takes a numbered permit, notes the number where nobody else may, and gives it back, as it is told.

use std::{
    env,
    io::{BufRead, Write},
    path::Path,
    process::{ChildStdin, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::Duration,
};

use leasehold::{Acquire, Lease, LockManager};
use leasehold_testing::{
    process::{Process, this_program},
    servers::RedisServer,
    waiting::PATIENCE,
};
use rusqlite::Connection;
use support::patient;

pub(super) const RESOURCE: &str = "gpus";
/// The number of permits that each process names.
pub(super) const OF: u32 = 4;
const URL: &str = "LEASEHOLD_PERMITS_URL";
const DATABASE: &str = "LEASEHOLD_PERMITS_DATABASE";
const TTL: &str = "LEASEHOLD_PERMITS_TTL";

/// A process, and what it says.
pub(super) struct Worker {
    process: Process,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Worker {
    pub(super) fn start(server: &RedisServer, database: &Path, ttl: Duration) -> Self {
        let mut command = this_program("permits::process::follows_its_test");
        command.env(URL, server.url()).env(DATABASE, database).env(TTL, ttl.as_secs().to_string());
        let mut process = Process::start(command.stdin(Stdio::piped()));
        let (tell, lines) = channel();
        process.tell(move |line| tell.send(line).is_ok());
        Self { stdin: process.stdin(), process, lines }
    }

    pub(super) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Waits for a line that begins like this, and returns the rest of it.
    pub(super) fn hears(&self, begin: &str) -> String {
        self.hears_within(begin, PATIENCE).unwrap_or_else(|| panic!("never said {begin:?}"))
    }

    /// Waits so long for such a line.
    pub(super) fn hears_within(&self, begin: &str, time: Duration) -> Option<String> {
        loop {
            match self.lines.recv_timeout(time) {
                Ok(line) if line.starts_with(begin) => return Some(line[begin.len()..].trim().to_owned()),
                // What the harness prints, too.
                Ok(line) => assert!(!line.contains("panicked"), "{line}"),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => panic!("it ended before it said {begin:?}"),
            }
        }
    }

    pub(super) fn kill(&mut self) {
        self.process.kill();
    }
}

/// Makes the table of the numbers that are in use, each of which it has once.
pub(super) fn create_table(database: &Path) {
    let table = Connection::open(database).unwrap();
    table.pragma_update(None, "journal_mode", "WAL").unwrap();
    table.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY, process INTEGER)", ()).unwrap();
}

#[test]
#[ignore = "a process of the other tests, which start it"]
fn follows_its_test() {
    let told = |name| env::var(name).expect("started by a test");
    let (url, database, ttl) = (told(URL), told(DATABASE), told(TTL).parse().unwrap());
    let database = Connection::open(database).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let ask = || Acquire::new(RESOURCE).permits(1, OF).ttl(Duration::from_secs(ttl)).wait(PATIENCE);
    // The name of this test stands on the line that has begun.
    println!();
    actix::System::new().block_on(async {
        let locks = LockManager::builder(Arc::new(patient::open(&url))).start().unwrap();
        let mut held = None;
        while let Some(line) = next_line().await {
            match line.as_str() {
                "take" => {
                    let lease = locks.send(ask()).await.unwrap().unwrap();
                    println!("has {}", note(&database, &lease));
                    held = Some(lease);
                }
                "check" => println!("valid {}", held.as_ref().is_some_and(Lease::is_valid)),
                "give" => {
                    give(&database, held.take().expect("it holds")).await;
                    println!("gave");
                }
                turns => {
                    let mut numbers = Vec::new();
                    for _ in 0..turns.parse().unwrap() {
                        let lease = locks.send(ask()).await.unwrap().unwrap();
                        numbers.push(note(&database, &lease));
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        give(&database, lease).await;
                    }
                    println!("had {}", serde_json::to_string(&numbers).unwrap());
                }
            }
        }
    });
}

/// The next line that the test tells. Its end closes this input.
async fn next_line() -> Option<String> {
    let next = || std::io::stdin().lock().lines().next().map(Result::unwrap);
    actix_rt::task::spawn_blocking(next).await.unwrap()
}

/// Writes the number of a lease down. Panics if somebody else has it.
fn note(database: &Connection, lease: &Lease) -> u32 {
    let number = lease.slot().expect("permits have a number");
    let written = database.execute("INSERT INTO numbers VALUES (?1, ?2)", (number, std::process::id()));
    if let Err(error) = written {
        println!("panicked: number {number} is in use: {error}");
    }
    number
}

async fn give(database: &Connection, lease: Lease) {
    let removed = database.execute("DELETE FROM numbers WHERE number = ?1", (lease.slot(),));
    assert_eq!(removed.unwrap(), 1);
    lease.release().await.unwrap();
}
