//! Rows of MariaDB, written by fifty clients with the statements of the library, each with a fence of its own.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Barrier,
    thread,
};

use leasehold::{
    Fence,
    fenced::sql::{Dialect, FenceTable, STALE_IN_MYSQL, parameter, update},
};
use leasehold_testing::waiting::until;
use mysql::{Conn, Error, OptsBuilder, consts::CapabilityFlags, params::Params, prelude::Queryable};
use tempfile::TempDir;

const WRITERS: u64 = 50;
/// The numbers of deadlocks, after which a transaction is repeated.
const DEADLOCK: u16 = 1213;

/// A MariaDB server of a test's own, which listens on a socket in a directory of its own and nowhere else.
struct MariaDb {
    directory: TempDir,
    process: Child,
}

impl MariaDb {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // It refuses to run as root unless it is told to.
        let is_root = fs::metadata(directory.path()).unwrap().uid() == 0;
        let data = directory.path().join("data");
        fs::create_dir(&data).unwrap();
        let log = fs::File::create(directory.path().join("log")).unwrap();
        let in_directory =
            |option: &str, file: &str| format!("{option}={}", directory.path().join(file).display());
        let process = program("mariadbd")
            .arg("--no-defaults")
            .args(is_root.then_some("--user=root"))
            .arg(format!("--datadir={}", data.display()))
            .args([in_directory("--socket", "socket"), in_directory("--pid-file", "pid")])
            .args(["--skip-networking", "--skip-grant-tables", "--innodb-flush-log-at-trx-commit=0"])
            // Its own tables are not made: it begins in an empty directory, and knows no users.
            .args([
                "--innodb-stats-persistent=0",
                "--innodb-lock-wait-timeout=600",
                "--innodb-buffer-pool-size=32M",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("MariaDB must be installed (Debian: apt-get install mariadb-server-core)");
        let this = Self { directory, process };
        until("MariaDB answers", || this.connect(None, &Session::default()).is_ok());
        this
    }

    fn connect(&self, database: Option<&str>, session: &Session) -> Result<Conn, Error> {
        let Session { isolation, mode, counts_found_rows } = session;
        let found = CapabilityFlags::CLIENT_FOUND_ROWS;
        let options = OptsBuilder::new()
            .socket(Some(self.directory.path().join("socket").display().to_string()))
            .user(Some("root"))
            .db_name(database)
            .additional_capabilities(if *counts_found_rows { found } else { CapabilityFlags::empty() })
            .init(vec![
                format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"),
                format!("SET SESSION sql_mode = {mode}"),
            ]);
        Conn::new(options)
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // What it has is thrown away with its directory. Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The path of a user that is not root has no folder of servers.
fn program(name: &str) -> Command {
    let server = PathBuf::from("/usr/sbin").join(name);
    Command::new(if server.exists() { server } else { PathBuf::from(name) })
}

/// The settings of a client that matter to the statements.
struct Session {
    isolation: &'static str,
    mode: &'static str,
    counts_found_rows: bool,
}

impl Default for Session {
    fn default() -> Self {
        Self { isolation: "REPEATABLE READ", mode: "DEFAULT", counts_found_rows: false }
    }
}

/// The statements, and a client that executes them.
struct Writer {
    client: Conn,
    enter: String,
    update: String,
}

impl Writer {
    fn new(server: &MariaDb, database: &str, session: &Session) -> Self {
        let client = server.connect(Some(database), session).unwrap();
        let fences = FenceTable::new(Dialect::MySql, "fences").unwrap();
        let update =
            update(Dialect::MySql, &format!("{database}.orders"), &["state"], "id", "fence").unwrap();
        Self { client, enter: fences.enter(), update }
    }

    /// Executes what has to be repeated after a deadlock. Returns the number of rows, or `None` if the fence is stale.
    fn execute(&mut self, work: impl Fn(&mut Conn) -> Result<u64, Error>) -> Option<u64> {
        loop {
            match work(&mut self.client) {
                Ok(rows) => return Some(rows),
                Err(Error::MySqlError(error)) if [DEADLOCK, STALE_IN_MYSQL].contains(&error.code) => {
                    self.client.query_drop("ROLLBACK").unwrap();
                    if error.code == STALE_IN_MYSQL {
                        return None;
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Enters with a fence, and writes to the journal only if it got in.
    fn enter(&mut self, fence: u64) -> Option<u64> {
        let (enter, fence) = (self.enter.clone(), parameter(Fence::new(fence)).unwrap());
        self.execute(|client| {
            client.query_drop("BEGIN")?;
            let rows = affected(client, &enter, ("orders/42", fence))?;
            client.exec_drop("INSERT INTO journal (fence) VALUES (?)", (fence,))?;
            client.query_drop("COMMIT")?;
            Ok(rows)
        })
    }

    fn update(&mut self, fence: u64, id: u32) -> Option<u64> {
        let (update, state) = (self.update.clone(), format!("state {fence}"));
        let fence = parameter(Fence::new(fence)).unwrap();
        self.execute(|client| affected(client, &update, (&state, fence, id)))
    }

    fn row(&mut self) -> (u64, String) {
        self.client.query_first("SELECT fence, state FROM orders").unwrap().unwrap()
    }
}

fn affected(client: &mut Conn, statement: &str, values: impl Into<Params>) -> Result<u64, Error> {
    client.exec_drop(statement, values)?;
    Ok(client.affected_rows())
}

/// Writes with all fences from 1 to 50 at once, then with the last one and with an older one again.
fn write(server: &MariaDb, database: &str, fence_column: &str, session: &Session) {
    let mut first = server.connect(None, session).unwrap();
    let fences = FenceTable::new(Dialect::MySql, &format!("{database}.fences")).unwrap();
    for statement in [
        format!("CREATE DATABASE {database}"),
        format!("CREATE TABLE {database}.journal (turn INT AUTO_INCREMENT PRIMARY KEY, fence BIGINT)"),
        format!(
            "CREATE TABLE {database}.orders (id INT PRIMARY KEY, state VARCHAR(40), fence {fence_column})"
        ),
        format!("INSERT INTO {database}.orders VALUES (42, 'new', NULL)"),
        // An engine without transactions.
        "SET default_storage_engine = MyISAM".to_owned(),
        fences.create(),
        fences.create(),
    ] {
        first.query_drop(statement).unwrap();
    }
    let engine = format!(
        "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = 'fences'"
    );
    assert_eq!(first.query_first::<String, _>(engine).unwrap().as_deref(), Some("InnoDB"));
    let together = Barrier::new(WRITERS as usize);
    thread::scope(|scope| {
        for fence in (1..=WRITERS).map(|number| 1 + number * 37 % WRITERS) {
            let mut writer = Writer::new(server, database, session);
            let together = &together;
            scope.spawn(move || {
                together.wait();
                (writer.enter(fence), writer.update(fence, 42))
            });
        }
    });
    let mut writer = Writer::new(server, database, session);
    let entered: Vec<u64> = writer.client.query("SELECT fence FROM journal ORDER BY turn").unwrap();
    assert!(entered.is_sorted() && entered.last() == Some(&WRITERS), "{entered:?}");
    assert_eq!(writer.row(), (WRITERS, format!("state {WRITERS}")));
    // A repeat is accepted, whatever the client counts, and an older fence is refused.
    let unchanged = u64::from(session.counts_found_rows);
    assert_eq!((writer.enter(WRITERS), writer.update(WRITERS, 42)), (Some(unchanged), Some(unchanged)));
    assert_eq!((writer.enter(WRITERS - 1), writer.update(WRITERS - 1, 42)), (None, None));
    assert_eq!(writer.row(), (WRITERS, format!("state {WRITERS}")));
    assert_eq!(writer.update(WRITERS + 1, 43), Some(0), "there is no such row");
    // The longest name as a text, and another one that differs at its end.
    for end in ['a', 'b'] {
        let resource = format!("{}{end}", "x".repeat(3 * 512 - 1));
        affected(&mut writer.client, &fences.enter(), (resource, 1)).unwrap();
    }
    let resources = format!("SELECT COUNT(*) FROM {database}.fences");
    assert_eq!(writer.client.query_first::<u32, _>(resources).unwrap(), Some(3));
    // The largest fence there is leaves no room for a sum that would overflow too early.
    let most = i64::MAX as u64;
    assert!(
        writer.enter(most).is_some() && writer.enter(most).is_some() && writer.update(most, 42).is_some()
    );
    assert_eq!((writer.enter(1), writer.update(1, 42), writer.row().0), (None, None, most));
}

#[test]
fn mariadb_refuses_the_older_fence_of_fifty_writers_whatever_the_session() {
    let server = MariaDb::start();
    // Not strict, and with differences that are signed.
    let lax = "'NO_UNSIGNED_SUBTRACTION'";
    for (number, mode) in ["DEFAULT", "'ANSI'", lax].into_iter().enumerate() {
        for isolation in ["READ COMMITTED", "REPEATABLE READ"] {
            for (counts_found_rows, fence_column) in [(false, "BIGINT"), (true, "BIGINT UNSIGNED")] {
                let level = isolation.replace(' ', "_").to_lowercase();
                let database = format!("shop_{number}_{level}_{counts_found_rows}");
                let session = Session { isolation, mode, counts_found_rows };
                write(&server, &database, fence_column, &session);
            }
        }
    }
}
