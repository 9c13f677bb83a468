//! `leasehold serve` as a process, with a redis-server: the page, the API, metrics, health, and who may do what.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use leasehold::{Acquire, Config, LeaseStatus, Shutdown};
use leasehold_testing::{
    process::{Process, Signal},
    servers::RedisServer,
    waiting::{PATIENCE, until},
};

const TOKEN: &str = "correct-horse-battery-staple";

fn serve(arguments: &[&str], token: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LEASEHOLD")) {
        command.env_remove(name);
    }
    command.current_dir(std::env::temp_dir()).arg("serve").args(arguments).stdout(Stdio::piped());
    // However busy this machine is, the server answers.
    command.env("LEASEHOLD_STORE_RESPONSE_TIMEOUT", "10s").env("LEASEHOLD_STORE_CONNECT_TIMEOUT", "10s");
    if let Some(token) = token {
        command.env("LEASEHOLD_CONSOLE_TOKEN", token);
    }
    command
}

/// A console on a port of its own.
struct Console {
    process: Process,
    port: u16,
}

impl Console {
    fn start(arguments: &[&str], token: Option<&str>) -> Self {
        let mut process = Process::start(serve(arguments, token).stderr(Stdio::piped()));
        let (says, said) = mpsc::channel();
        process.tell(move |line| says.send(line).is_ok());
        let line = said.recv_timeout(PATIENCE).unwrap_or_default();
        let port = line.trim().trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        Self { process, port: port.unwrap_or_else(|| panic!("{line:?} names no port")) }
    }

    /// Sends a request, and returns the status and the rest of the answer.
    fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let named = headers.iter().any(|header| header.starts_with("Host:"));
        let host = if named { String::new() } else { format!("Host: 127.0.0.1:{}\r\n", self.port) };
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.send("GET", path, &[], "")
    }

    /// Ends it as an operator does, and returns its exit code and what it logged.
    fn end(mut self) -> (Option<i32>, String) {
        self.process.signal(Signal::TERM);
        let mut log = String::new();
        self.process.stderr().read_to_string(&mut log).unwrap();
        (self.process.end().code(), log)
    }
}

#[test]
fn a_revoke_over_http_reaches_a_holder_in_another_process_and_is_audited() {
    let redis = RedisServer::start();
    let url = redis.url();
    let console = Console::start(&["--store", &url, "--listen", "127.0.0.1:0"], Some(TOKEN));
    let log = actix::System::new().block_on(async {
        let locks = Config::from_toml(&format!(
            "store = {{ url = '{url}', connect_timeout = '10s', response_timeout = '10s' }}"
        ));
        let locks = locks.unwrap().start().unwrap();
        let lease = locks.send(Acquire::new("orders/1").purpose("<pay>")).await.unwrap().unwrap();
        let (status, page) = console.get("/?all=true");
        assert!(status == 200 && page.contains("orders/1"), "{page}");
        assert!(console.get("/resource?name=orders/1").1.contains("&lt;pay&gt;"));
        let (status, health) = console.get("/health");
        assert!(status == 200 && health.ends_with("\r\n\r\nready\n"), "{health}");

        let body = r#"{"resource":"orders/1","reason":"a test","grace_seconds":0}"#;
        let json = "Content-Type: application/json";
        assert_eq!(console.send("POST", "/api/revoke", &[json, "Authorization: Bearer no"], body).0, 401);
        let foreign = ["Origin: https://evil.example", json];
        assert_eq!(console.send("POST", "/api/revoke", &foreign, body).0, 403);
        assert_eq!(console.send("GET", "/api/resources", &["Host: evil.example"], "").0, 421);
        assert_eq!(lease.status(), LeaseStatus::Held);

        let bearer = format!("Authorization: Bearer {TOKEN}");
        let (status, answer) = console.send("POST", "/api/revoke", &[json, &bearer], body);
        assert!(status == 200 && answer.contains("1 taken"), "{answer}");
        lease.lost().await;
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        console.end()
    });
    let (code, log) = log;
    assert_eq!(code, Some(0), "{log}");
    for part in
        ["leasehold::audit", "action=\"revoke\"", "resource=orders/1", "from=\"127.0.0.1:", "cross_site"]
    {
        assert!(log.contains(part), "{part} is not in {log}");
    }
    assert!(!log.contains(TOKEN));
}

#[test]
fn metrics_tell_what_the_manager_and_the_console_see() {
    let redis = RedisServer::start();
    let url = redis.url();
    let console = Console::start(&["--store", &url, "--listen", "127.0.0.1:0"], None);
    let text = || console.get("/metrics").1;
    until("it has looked", || text().contains("\nleasehold_console_contended_resources 0\n"));
    let text = text();
    for line in [
        "# TYPE leasehold_requests_total counter",
        "# HELP leasehold_console_waiters ",
        "\nleasehold_console_complete 1\n",
        "\nleasehold_console_store_up 1\n",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    // Where Prometheus is installed, its own check looks at it too.
    let Ok(mut check) = Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn()
    else {
        return;
    };
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    check.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    assert!(check.wait().unwrap().success());
}

#[test]
fn beyond_loopback_it_takes_a_token_also_to_read() {
    let output = serve(&["--store", "memory://", "--listen", "0.0.0.0:0"], None).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
    assert!(told.contains("--token-file") && told.contains("0.0.0.0"), "{told}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let arguments = ["--store", "memory://", "--listen", "0.0.0.0:0", "--token-file", file.to_str().unwrap()];
    let console = Console::start(&arguments, None);
    for (path, status) in [("/", 303), ("/api/resources", 401), ("/metrics", 401), ("/health", 200)] {
        assert_eq!(console.get(path).0, status, "{path}");
    }
    let health = console.get("/health").1;
    assert!(health.contains("exclude nobody outside of it"), "{health}");
    let bearer = format!("Authorization: Bearer {TOKEN}");
    for path in ["/", "/metrics"] {
        assert_eq!(console.send("GET", path, &[&bearer], "").0, 200, "{path}");
    }
    // On loopback behind a proxy, which everybody may reach.
    for option in [&["--reading-needs-token"][..], &["--host", "locks.example.org"]] {
        let arguments = [&["--store", "memory://", "--listen", "127.0.0.1:0"], option].concat();
        let console = Console::start(&arguments, Some(TOKEN));
        assert_eq!((console.get("/").0, console.get("/api/resources").0), (303, 401), "{option:?}");
    }
}

#[test]
fn what_cannot_be_served_is_told_in_one_line_without_the_token() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (arguments, token, expected) in [
        (&["--listen", "127.0.0.1:0"][..], Some("short"), "console token"),
        (&["--listen", &address], None, "cannot listen on"),
        (&["--token-file", "/no/such/file"], None, "cannot read the token in /no/such/file"),
    ] {
        let arguments = [&["--store", "memory://"], arguments].concat();
        let output = serve(&arguments, token).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(expected) && !told.contains("short"), "{told}");
    }
}
