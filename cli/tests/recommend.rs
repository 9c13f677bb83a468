//! `leasehold tune recommend` as a command: what it prints and writes, how it ends, and what is left when it is interrupted.

#[path = "golden/mod.rs"]
mod golden;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use leasehold::Config;
use serde_json::Value;
use tempfile::TempDir;

/// Twice as many requests as can be served.
const WORKLOAD: &str = r#"
    name = "small <sale>"
    duration = "200ms"
    processes = 2
    arrivals = { kind = "constant", rate = 400.0 }
    hold = { kind = "constant", time = "5ms" }
    config.wait.timeout = "20ms"
"#;

/// A directory with the workload in it.
fn with_workload() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("w.toml");
    fs::write(&file, WORKLOAD).unwrap();
    (directory, file)
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    command.args(["tune", "recommend"]).args(arguments);
    command
}

fn recommend(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_recommendation_is_a_fragment_with_figures_and_a_picture() {
    let (directory, file) = with_workload();
    let [picture, fragment] = ["front.svg", "found.toml"].map(|name| directory.path().join(name));
    let output = recommend(&[
        "--workload",
        file.to_str().unwrap(),
        "--for",
        "success",
        "--limit",
        "p99 wait <= 60ms",
        "--limit",
        "commands <= 4",
        "--budget",
        "100",
        "--svg",
        picture.to_str().unwrap(),
        "--output",
        fragment.to_str().unwrap(),
    ]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}{}", text(&output.stderr));
    for expected in [
        "small <sale>, for success, with p99 wait <= 60ms and commands <= 4; ",
        "\n[wait]\n",
        "\nrecommended ",
        "\nas it is ",
        "\ndefault ",
        "\npreset flash_sale, wait.timeout 20ms ",
        "\npreset scheduled_job, wait.timeout 20ms ",
        "\n25 % more requests ",
        "what cannot be had together",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in {shown}");
    }
    let config = Config::from_toml(&fs::read_to_string(fragment).unwrap()).unwrap();
    assert!(config.wait.timeout > Duration::from_millis(20), "{config:?}");
    let picture = fs::read_to_string(picture).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("small &lt;sale&gt;: share of"), "{picture}");
    // There is no bar where there is no terminal.
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_seed_repeats_a_recommendation() {
    let (_directory, file) = with_workload();
    let found = |seed| {
        let arguments = ["--for", "server-load", "--budget", "100", "--json", "--seed", seed];
        let output = recommend(&[&["--workload", file.to_str().unwrap()][..], &arguments].concat());
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let first = found("7");
    golden::assert_like("recommendation", &first);
    assert_eq!(first, found("7"));
    assert_ne!(first["best"]["figures"], found("8")["best"]["figures"]);
    assert!(first["limits"][0].as_str().unwrap().starts_with("success >= "), "{first}");
}

#[test]
fn limits_that_nothing_keeps_are_told_by_the_exit_code_and_the_nearest_setting() {
    let (directory, file) = with_workload();
    let limits = ["--limit", "p99 wait <= 1ms", "--limit", "success >= 90%"];
    let arguments = ["--workload", file.to_str().unwrap(), "--for", "latency", "--budget", "100"];
    let fragment = directory.path().join("found.toml");
    let output = ["--output", fragment.to_str().unwrap()];
    let output = recommend(&[&arguments[..], &limits, &output].concat());
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    let written = fs::read_to_string(&fragment).unwrap();
    assert!(written.starts_with("# no setting was found that keeps these limits;"), "{written}");
    Config::from_toml(&written).unwrap();
    assert!(
        shown.contains("no setting was found that keeps these limits; this one comes nearest"),
        "{shown}"
    );
    let recommended = shown.lines().find(|line| line.starts_with("recommended")).unwrap();
    // Twice the seeds of the others, with holds as they are and longer ones.
    assert_eq!(recommended.matches("0 of 4").count(), 2, "{shown}");
}

#[test]
fn wrong_goals_limits_and_budgets_are_refused_with_what_is_allowed() {
    let (_directory, file) = with_workload();
    for (arguments, expected) in [
        (&["--for", "speed"][..], "(allowed: success, latency, server-load)"),
        (&["--for", "latency", "--limit", "p99 wait >= 1s"], "(allowed: p99 wait <= a time, such as 200ms)"),
        (&["--for", "latency", "--limit", "success >= most"], "(allowed: success >= a share, such as 95%)"),
        (&["--for", "latency", "--budget", "much"], "expected a number of simulations"),
        (&["--for", "latency", "--budget", "99"], "invalid simulations: 99 (allowed: 100 to 1000000)"),
        (&["--for", "latency", "--set", "backoff.initial=2h"], "invalid backoff.initial: 2h"),
    ] {
        let output = recommend(&[&["--workload", file.to_str().unwrap()][..], arguments].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
}

#[test]
fn an_interrupted_search_gives_the_best_so_far() {
    let (directory, file) = with_workload();
    let fragment = directory.path().join("found.toml");
    let output = fragment.to_str().unwrap();
    let arguments =
        ["--workload", file.to_str().unwrap(), "--for", "success", "--budget", "20000", "--output", output];
    let mut process = command(&arguments);
    let process = process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !catches_interrupts(process.id()) {
        assert!(started.elapsed() < Duration::from_secs(30), "it does not listen for Ctrl-C");
        thread::sleep(Duration::from_millis(5));
    }
    let pid = process.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = process.wait_with_output().unwrap();
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("the search was stopped: this is the best so far"), "{shown}");
    assert!(shown.contains("\nrecommended "), "{shown}");
    let written = fs::read_to_string(&fragment).unwrap();
    assert!(written.starts_with("# the search was stopped: this is the best so far"), "{written}");
}

/// Returns true if the process handles the signal of Ctrl-C.
fn catches_interrupts(pid: u32) -> bool {
    const INTERRUPT: u64 = 1 << 1;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & INTERRUPT != 0))
}
