//! Rows of PostgreSQL, written by fifty clients with the statements of the library, each with a fence of its own.

use std::{
    fs,
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
};

use leasehold::fenced::sql::{Dialect, FenceTable, update};
use leasehold_testing::waiting::until;
use tempfile::TempDir;

/// A PostgreSQL server of a test's own, which listens on a socket in a directory of its own.
struct Postgres {
    directory: TempDir,
    process: Child,
}

impl Postgres {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        hand_to_postgres(directory.path());
        let made = as_postgres("initdb")
            .args([
                "--no-sync",
                "--auth",
                "trust",
                "--username",
                "postgres",
                "--encoding",
                "UTF8",
                "--pgdata",
            ])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let log = fs::File::create(directory.path().join("log")).unwrap();
        let mut process = as_postgres("postgres");
        process.arg("-D").arg(&data).args(["-c", "listen_addresses=", "-c", "fsync=off", "-c"]);
        process.arg(format!("unix_socket_directories={}", directory.path().display()));
        let process = process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let this = Self { directory, process };
        until("postgres answers", || this.run("SELECT 1;").status.success());
        this
    }

    /// Runs a script in a client of its own.
    fn run(&self, script: &str) -> Output {
        let mut client = Command::new("psql")
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"])
            .args(["--username", "postgres", "--dbname", "postgres", "--host"])
            .arg(self.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("psql must be installed (Debian: apt-get install postgresql)");
        // A client that cannot connect reads nothing; its status tells.
        let _ = client.stdin.take().unwrap().write_all(script.as_bytes());
        client.wait_with_output().unwrap()
    }

    fn lines(&self, script: &str) -> Vec<String> {
        let output = self.run(script);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGQUIT ends it at once, and leaves no shared memory behind. All fail only if it has ended already.
        let pid = self.process.id().to_string();
        let asked = Command::new("kill").args(["-QUIT", &pid]).status().is_ok_and(|status| status.success());
        let _ = if asked { Ok(()) } else { self.process.kill() };
        let _ = self.process.wait();
    }
}

/// The user that the server runs as: it refuses to run as root.
fn user() -> Option<(u32, u32)> {
    let id = |of: &[&str]| {
        let told = Command::new("id").args(of).output().expect("the program `id`");
        String::from_utf8(told.stdout).unwrap().trim().parse::<u32>().ok()
    };
    let is_root = id(&["-u"]) == Some(0);
    is_root.then(|| (id(&["-u", "postgres"]).unwrap(), id(&["-g", "postgres"]).unwrap()))
}

fn hand_to_postgres(directory: &Path) {
    if let Some((user, group)) = user() {
        std::os::unix::fs::chown(directory, Some(user), Some(group)).unwrap();
    }
}

/// A program of the server. Debian keeps those beside each other by version, and not in the path.
fn as_postgres(program: &str) -> Command {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let installed = versions.map(|version| version.path().join("bin").join(program));
    let installed = installed.filter(|path| path.exists()).max();
    let mut command = Command::new(installed.unwrap_or_else(|| PathBuf::from(program)));
    if let Some((user, group)) = user() {
        command.uid(user).gid(group);
    }
    command.current_dir("/");
    command
}

/// The script of a writer: it enters with its fence, and writes only if it got in.
fn writer(fences: &FenceTable, fence: u64) -> String {
    let enter = fences.enter();
    format!(
        "PREPARE enter (text, bigint) AS {enter};
         BEGIN;
         EXECUTE enter ('orders/42', {fence});
         SELECT :ROW_COUNT = 1 AS entered \\gset
         \\if :entered
             INSERT INTO journal (fence) VALUES ({fence});
             COMMIT;
         \\else
             ROLLBACK;
         \\endif
         SELECT :'entered';
        "
    )
}

fn updater(fence: u64) -> String {
    let update = update(Dialect::Postgres, "public.orders", &["state"], "id", "fence").unwrap();
    format!(
        "PREPARE change (text, bigint, int) AS {update};\nEXECUTE change ('state {fence}', {fence}, 42);\n"
    )
}

#[test]
fn postgres_refuses_the_older_fence_of_fifty_writers() {
    let server = Postgres::start();
    let fences = FenceTable::new(Dialect::Postgres, "fences").unwrap();
    server.lines(&format!(
        "{};
         CREATE TABLE journal (turn SERIAL PRIMARY KEY, fence BIGINT);
         CREATE TABLE orders (id INT PRIMARY KEY, state TEXT, fence BIGINT);
         INSERT INTO orders VALUES (42, 'new', NULL);",
        fences.create()
    ));
    thread::scope(|scope| {
        for fence in (1..=50).rev() {
            let (server, fences) = (&server, &fences);
            scope.spawn(move || server.lines(&(writer(fences, fence) + &updater(fence))));
        }
    });
    let journal = server.lines("SELECT fence FROM journal ORDER BY turn;");
    let entered: Vec<u64> = journal.iter().map(|fence| fence.parse().unwrap()).collect();
    assert!(entered.is_sorted() && entered.last() == Some(&50), "{entered:?}");
    assert_eq!(server.lines(&writer(&fences, 49)), ["f"]);
    let last = updater(49) + "SELECT fence, state FROM orders;";
    assert_eq!(server.lines(&last), ["50|state 50"]);
}
