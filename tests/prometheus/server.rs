//! A Prometheus of a test's own, and what is asked of it.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use leasehold_testing::{process::Process, servers::free_port, waiting::until};

/// A running Prometheus with the alert rules of the project, killed when dropped.
pub(crate) struct Prometheus {
    _directory: TempDir,
    port: u16,
    process: Process,
}

impl Prometheus {
    /// Starts one that scrapes these addresses once a second, and waits until it answers.
    pub(crate) fn scraping(targets: &[SocketAddr]) -> Self {
        // Another test may take a port that was free a moment ago: Prometheus then ends at once, and another is tried.
        for _ in 0..20 {
            let mut started = Self::launch(targets, free_port());
            if started.is_ready_in_time() {
                return started;
            }
        }
        panic!("Prometheus does not start");
    }

    fn launch(targets: &[SocketAddr], port: u16) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let rules = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("deploy/alerts.yaml");
        let targets: Vec<_> = targets.iter().map(ToString::to_string).collect();
        // JSON is YAML as well.
        let config = serde_json::json!({
            "global": { "scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s" },
            "rule_files": [rules],
            "scrape_configs": [{ "job_name": "leasehold", "static_configs": [{ "targets": targets }] }],
        });
        fs::write(directory.path().join("prometheus.yml"), config.to_string()).unwrap();
        let mut command = Command::new("prometheus");
        command
            .current_dir(directory.path())
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"])
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(directory.path().join("log")).unwrap());
        let process = Process::start(&mut command);
        Self { _directory: directory, port, process }
    }

    /// Waits until it answers. Returns false if it has ended instead.
    fn is_ready_in_time(&mut self) -> bool {
        let mut has_ended = false;
        until("Prometheus is ready, or has ended", || {
            has_ended = self.process.ended().is_some();
            // Another test's server on this port would answer something else.
            let is_it = |answer: String| answer.contains("Prometheus Server is Ready");
            has_ended || self.get("/-/ready").is_some_and(is_it)
        });
        !has_ended
    }

    /// The values of an expression now, without those that are no number.
    pub(crate) fn values(&self, expression: &str) -> Result<Vec<f64>, String> {
        let answer = self.api(&format!("query?query={}", encoded(expression)));
        if answer["status"] != "success" {
            return Err(answer["error"].to_string());
        }
        let samples = answer["data"]["result"].as_array().cloned().unwrap_or_default();
        let numbers = samples.iter().filter_map(|sample| sample["value"][1].as_str()?.parse::<f64>().ok());
        Ok(numbers.filter(|number| number.is_finite()).collect())
    }

    /// The alert rules, as Prometheus has evaluated them.
    pub(crate) fn rules(&self) -> Vec<Value> {
        let answer = self.api("rules");
        answer["data"]["groups"][0]["rules"].as_array().cloned().unwrap_or_default()
    }

    fn api(&self, path: &str) -> Value {
        let answer = self.get(&format!("/api/v1/{path}")).expect("an answer of Prometheus");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// The whole answer to a request, or none while nobody listens. In HTTP/1.0 it comes in one piece.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

/// An expression as a part of a URL.
fn encoded(expression: &str) -> String {
    expression.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The end of `promtool` with these arguments and this input: what it said, if it found something wrong.
pub(crate) fn promtool(arguments: &[&str], input: &str) -> Result<(), String> {
    let mut process = Command::new("promtool")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool must be installed (Debian: tests/install)");
    process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let end = process.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&end.stdout).into_owned() + &String::from_utf8_lossy(&end.stderr);
    // `check metrics` says what it does not like, and ends well if that is no error.
    let silent = arguments[..2] != ["check", "metrics"] || said.is_empty();
    if end.status.success() && silent { Ok(()) } else { Err(said) }
}
