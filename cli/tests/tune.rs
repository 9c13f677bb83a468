//! `leasehold tune` as a command: what it prints and writes, and that a run on a real server goes through.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
    time::Duration,
};

#[path = "golden/mod.rs"]
mod golden;
#[path = "tune/scenarios.rs"]
mod scenarios;

use leasehold::{Acquire, Config};
use leasehold_tuning::{Recorded, TraceRecorder};
use serde_json::Value;
use tempfile::TempDir;

const WORKLOAD: &str = r#"
    name = "small <sale>"
    duration = "400ms"
    processes = 2
    arrivals = { kind = "constant", rate = 50.0 }
    hold = { kind = "constant", time = "2ms" }
    [config]
    wait.timeout = "1s"
"#;

/// A directory with a workload in it.
fn with_workload(text: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("w.toml");
    fs::write(&file, text).unwrap();
    (directory, file)
}

fn tune(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leasehold")).arg("tune").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(arguments: &[&str]) -> Value {
    let output = tune(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn a_simulation_is_a_table_with_a_chart_and_a_picture() {
    let (directory, file) = with_workload(WORKLOAD);
    let picture = directory.path().join("w.svg");
    let file = file.to_str().unwrap();
    let output = tune(&["simulate", "--workload", file, "--svg", picture.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("success rate") && shown.contains("100.0 %") && shown.contains('█'), "{shown}");
    let picture = fs::read_to_string(picture).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("small &lt;sale&gt;: 100.0 %"), "{picture}");
}

#[test]
fn settings_and_the_workload_are_changed_on_the_command_line() {
    let (_directory, file) = with_workload(WORKLOAD);
    let file = file.to_str().unwrap();
    let report = |set: &[&str]| json(&[&["simulate", "--json", "--workload", file][..], set].concat());
    golden::assert_like("report", &report(&[]));
    assert_eq!((&report(&[])["requests"], &report(&[])["granted"]), (&20.into(), &20.into()));
    let more = report(&["--set", "arrivals.rate=900", "--set", "wait.timeout=0s"]);
    assert_eq!(more["requests"], 360);
    assert!(more["success_rate"].as_f64().is_some_and(|rate| rate < 0.7), "{more}");
}

#[test]
fn a_file_is_left_as_it_is_if_there_is_nothing_to_write() {
    let (directory, file) = with_workload(WORKLOAD);
    for path in [directory.path().join("new.toml"), file] {
        let before = fs::read_to_string(&path).ok();
        let output = tune(&["measure", "--store", "redis://127.0.0.1:1", "--output", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(fs::read_to_string(&path).ok(), before);
    }
}

#[test]
fn two_settings_are_compared_beside_each_other() {
    let (_directory, file) = with_workload(WORKLOAD);
    let file = file.to_str().unwrap();
    let output = tune(&["compare", file, file, "--set", "hold.time=15ms", "--set", "arrivals.rate=100"]);
    let shown = text(&output.stdout);
    let heads = shown.lines().next().unwrap();
    assert!(
        heads.contains("small <sale>, hold.time=15ms, arrivals.rate=100") && heads.ends_with("ratio"),
        "{shown}"
    );
    let requests = shown.lines().find(|line| line.starts_with("requests")).unwrap();
    assert_eq!(requests.split_whitespace().collect::<Vec<_>>(), ["requests", "20", "40", "2.00"]);
}

#[test]
fn wrong_input_is_told_in_one_line_with_its_key() {
    let (_directory, file) = with_workload(WORKLOAD);
    let file = file.to_str().unwrap();
    const DOWN: &str = "redis://127.0.0.1:1";
    for (arguments, expected) in [
        (&["simulate", "--workload", "nowhere.toml"][..], "cannot read the configuration nowhere.toml"),
        (&["simulate", "--workload", file, "--set", "hold.time=soon"], "expected a duration"),
        (&["simulate", "--workload", file, "--set", "backoff.initial=2h"], "invalid backoff.initial: 2h"),
        (&["simulate", "--workload", file, "--profile", file], "unknown field"),
        (&["measure", "--store", "memory://"], "--store: redis://"),
        (&["measure", "--store", "redis://:secret@127.0.0.1:1"], "redis://127.0.0.1:1 cannot be used: "),
        // Before the server is asked, and before a run of the workload.
        (
            &["measure", "--store", DOWN, "--output", "/nowhere/p.toml"],
            "cannot write /nowhere/p.toml: No such",
        ),
        (
            &["run", "--workload", file, "--store", DOWN, "--svg", "/nowhere/p.svg"],
            "cannot write /nowhere/p.svg",
        ),
        (&["recommend", "--workload", file, "--for", "success", "--output", "/"], "cannot write /: Is a"),
        (&["replay", "nowhere.jsonl"], "cannot read the trace nowhere.jsonl"),
        (&["replay", file], "line 2: expected"),
        (&["replay", file, "--config", "nowhere.toml"], "cannot read the configuration nowhere.toml"),
        (&["worker"], "a worker is started by a run"),
    ] {
        let output = tune(arguments);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{arguments:?}: {told}");
        assert!(!told.contains("secret"), "{told}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    let output = tune(&["simulate", "--workload", file, "--set", "backoff.initial"]);
    assert!(text(&output.stderr).contains("expected KEY=VALUE"), "{}", text(&output.stderr));
}

#[test]
fn plain_locks_are_run_with_pauses_and_without_a_queue() {
    let (_directory, file) = with_workload(WORKLOAD);
    let plain = ["--set", "store.layout=plain", "--set", "arrivals.rate=100", "--set", "hold.time=20ms"];
    let arguments = [&["run", "--json", "--workload", file.to_str().unwrap()][..], &plain].concat();
    let report = json(&arguments);
    assert_eq!(report["requests"], 40, "{report}");
    assert!(report["attempts"].as_f64().is_some_and(|attempts| attempts > 1.0), "{report}");
}

const TRACE: &str = r#"
    {"at": "0s", "resource": "a", "waited": "1ms", "outcome": "granted", "hold": "80ms"}
    {"at": "20ms", "resource": "a", "waited": "100ms", "outcome": "held"}
    {"at": "10ms", "resource": "b", "waited": "2ms", "outcome": "granted", "hold": "5ms"}
"#;

#[test]
fn a_trace_is_replayed_with_other_settings_beside_what_was_recorded() {
    let (directory, file) = with_workload(TRACE);
    let config = directory.path().join("config.toml");
    fs::write(&config, "store.url = 'redis://nowhere'\nwait.timeout = '1s'").unwrap();
    let (file, config) = (file.to_str().unwrap(), config.to_str().unwrap());
    let report = |more: &[&str]| json(&[&["replay", "--json", file][..], more].concat());
    let tried = report(&[]);
    assert_eq!([&tried["recorded"]["granted"], &tried["replayed"]["granted"]], [&Value::from(2); 2]);
    assert_eq!(tried["recorded"]["others"]["held"], 1);
    assert!(tried["recorded"].get("commands").is_none() && tried["replayed"]["commands"].is_f64(), "{tried}");
    assert_eq!(
        report(&["--config", config])["replayed"]["granted"],
        3,
        "it waits until the first has released"
    );
    let shorter = report(&["--config", config, "--set", "wait.timeout=10ms"]);
    assert_eq!(shorter["replayed"]["granted"], 2);
    let shown = text(&tune(&["replay", file]).stdout);
    let row = |name: &str| -> Vec<String> {
        let row = shown.lines().find(|line| line.starts_with(name)).unwrap();
        row[name.len()..].split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("requests"), ["3", "3", "1.00"]);
    assert_eq!(row("not granted: held"), ["1", "1"]);
    assert_eq!(row("commands an acquisition").len(), 1, "{shown}");
}

/// Runs a small application on a real server, and records it.
async fn application(url: &str, trace: &std::path::Path) -> Recorded {
    let patient = "connect_timeout = '10s'\nresponse_timeout = '10s'\n[wait]\ntimeout = '60s'";
    let locks = Config::from_toml(&format!("[store]\nurl = '{url}'\n{patient}")).unwrap().start().unwrap();
    let before = locks.send(Acquire::new("before")).await.unwrap().unwrap();
    let recorder = TraceRecorder::start(&locks, trace).await.unwrap();
    drop(before);
    let mut callers = Vec::new();
    for number in 0..40 {
        let locks = locks.clone();
        callers.push(actix_rt::spawn(async move {
            // Ten want the same.
            let resource = format!("orders/{}", number.min(30));
            let lease = locks.send(Acquire::new(resource).class("orders")).await.unwrap().unwrap();
            actix_rt::time::sleep(Duration::from_millis(5)).await;
            lease.release().await.unwrap();
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    let asked = std::time::Instant::now();
    let kept = locks.send(Acquire::new("kept")).await.unwrap().unwrap();
    let refused = locks.send(Acquire::new("kept").wait(Duration::ZERO)).await.unwrap();
    assert!(refused.is_err());
    // A replay grants it at once, so it is held for longer than its grant took here.
    actix_rt::time::sleep(2 * asked.elapsed() + Duration::from_millis(100)).await;
    kept.release().await.unwrap();
    let _open = locks.send(Acquire::new("open")).await.unwrap().unwrap();
    recorder.stop().await.unwrap()
}

#[test]
fn an_application_on_a_real_server_is_recorded_and_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("t.jsonl");
    let server = Server::start();
    let recorded = actix::System::new().block_on(application(&server.url(), &trace));
    assert_eq!((recorded.requests, recorded.dropped), (43, 0));
    let lines = fs::read_to_string(&trace).unwrap();
    assert!(lines.contains("\"class\":\"orders\"") && !lines.contains("before"), "{lines}");
    let found = json(&["replay", "--json", trace.to_str().unwrap(), "--set", "wait.timeout=10s"]);
    for side in ["recorded", "replayed"] {
        let report = &found[side];
        assert_eq!(
            [&report["requests"], &report["granted"]],
            [&Value::from(43), &Value::from(42)],
            "{found}"
        );
        assert_eq!(report["others"]["held"], 1, "{found}");
        // The last of ten that want the same waits for nine, if they come at the same time.
        assert!(report["waited_seconds"]["max"].as_f64().is_some_and(|longest| longest > 0.015), "{found}");
    }
}

/// A redis-server that ends with the test.
struct Server {
    process: std::process::Child,
    folder: TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let process = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(folder.path().join("s"))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { process, folder };
        let give_up = std::time::Instant::now() + Duration::from_secs(60);
        while std::os::unix::net::UnixStream::connect(server.folder.path().join("s")).is_err() {
            assert!(std::time::Instant::now() < give_up, "redis-server does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    fn url(&self) -> String {
        format!("redis+unix://{}", self.folder.path().join("s").display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
