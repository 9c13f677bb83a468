//! The doctor finds each fault that is planted, where it is and how bad it is, and nothing on a good deployment.

mod cluster;
mod good;
mod members;
mod network;
mod relay;
mod rights;
mod sentinel;
mod single;

use std::time::Duration;

use leasehold::Config;
use leasehold_doctor::{Diagnosis, Finding, Severity};
use leasehold_testing::servers::RedisServer;

/// What a server needs so that there is nothing to find.
const GOOD: [&str; 2] = ["--appendonly", "yes"];

/// A configuration that is patient with a machine that has much to do, unless `more` says otherwise.
fn config(url: &str, more: &str) -> Config {
    let answers = match more.contains("response_timeout") || more.contains("lease.ttl") {
        true => "",
        false => "store.response_timeout = \"5s\"",
    };
    let patient = format!("store.connect_timeout = \"5s\"\nstore.node_timeout = \"1s\"\n{answers}");
    Config::from_toml(&format!("store.url = \"{url}\"\n{patient}\n{more}")).unwrap()
}

async fn examine(url: &str, more: &str) -> Diagnosis {
    leasehold_doctor::examine(&config(url, more)).await.unwrap()
}

#[test]
fn an_examination_can_run_on_any_thread() {
    fn is_send(_: impl Send) {}
    is_send(leasehold_doctor::examine(&Config::default()));
}

/// The address of a server, as findings name it.
fn address(server: &RedisServer) -> String {
    format!("127.0.0.1:{}", server.port())
}

/// The finding of a check at a server.
#[track_caller]
fn found<'a>(diagnosis: &'a Diagnosis, severity: Severity, check: &str, server: Option<&str>) -> &'a Finding {
    let is_it = |it: &&Finding| (it.severity, it.check, it.server.as_deref()) == (severity, check, server);
    diagnosis.findings.iter().find(is_it).unwrap_or_else(|| panic!("no {severity} {check}:\n{diagnosis}"))
}

/// The finding of a check at a server, which is the only one.
#[track_caller]
fn only<'a>(diagnosis: &'a Diagnosis, severity: Severity, check: &str, server: Option<&str>) -> &'a Finding {
    assert_eq!(diagnosis.findings.len(), 1, "{diagnosis}");
    found(diagnosis, severity, check, server)
}

#[track_caller]
fn nothing(diagnosis: &Diagnosis) {
    assert_eq!(diagnosis.findings, [], "{diagnosis}");
}

#[test]
fn the_guide_explains_every_check_in_order() {
    let guide = include_str!("../../../docs/doctor.md");
    let table = guide.split("| Check |").nth(1).and_then(|table| table.split("\n\n").next()).unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<Vec<_>>(), leasehold_doctor::CHECKS);
}

/// The settings of a quorum's first start.
const FRESH: &str = "store.fresh_start = true";

/// Has a quorum begin, which a trial does as the first lock would.
async fn begin(url: &str) {
    nothing(&examine(url, &format!("{FRESH}\nlimits.max_ttl = \"1m\"")).await);
}

/// Waits until no key is left: the counter of fences ends by itself, a second later.
async fn wait_until_empty(server: &RedisServer) {
    wait_until_left(server, &[]).await;
}

/// Waits until only these keys are left.
async fn wait_until_left(server: &RedisServer, expected: &[&str]) {
    let left = || {
        let mut names: Vec<String> = server.keys().into_iter().map(|(name, _)| name).collect();
        names.sort();
        names
    };
    for _ in 0..500 {
        if left() == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("left behind: {:?}", server.keys());
}
