//! The figures of docs/tuning.md: they are what the simulation says today.

use std::fs;

use serde_json::Value;

use super::json;

const WITHOUT_PRESET: [&str; 2] = ["--set", "config.backoff={}"];
const PLAIN: [&str; 2] = ["--set", "store.layout=plain"];

/// Simulates a workload of the folder `cli`.
fn simulated(workload: &str, more: &[&[&str]]) -> Value {
    let file = format!("{}/{workload}", env!("CARGO_MANIFEST_DIR"));
    json(&[&["simulate", "--json", "--workload", &file][..], &more.concat()].concat())
}

/// Fills the figures of a report into a row: `{rate}`, `{p50}`, `{p99}`, `{vain}`, `{commands}`, `{jain}`.
fn filled(row: &str, report: &Value) -> String {
    let figure = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap();
    let time = |path: &str| match figure(path) {
        long if long >= 1.0 => format!("{long:.0} s"),
        short => format!("{:.0} ms", short * 1_000.0),
    };
    let rate = format!("{:.1}", 100.0 * figure("/success_rate"));
    row.replace("{rate}", &format!("{} %", rate.trim_end_matches(".0")))
        .replace("{p50}", &time("/waited_seconds/p50"))
        .replace("{p99}", &time("/waited_seconds/p99"))
        .replace("{vain}", &time("/waited_in_vain_seconds/p50"))
        .replace(
            "{commands}",
            format!("{:.2}", figure("/commands")).trim_end_matches("0").trim_end_matches('.'),
        )
        .replace("{jain}", &format!("{:.2}", figure("/fairness")))
}

#[test]
fn the_tables_of_the_documentation_tell_what_is_simulated() {
    let far = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/far.toml");
    let far: &[&str] = &["--profile", far];
    let (sale, batch, quorum) =
        ("workloads/flash-sale.toml", "scenarios/batch.toml", "scenarios/far-quorum.toml");
    let rows: [(&str, &[&[&str]], &str); 12] = [
        (sale, &[], "| preset `flash_sale` | {rate} | {p50} | {p99} | {vain} | {commands} |"),
        (
            sale,
            &[&WITHOUT_PRESET],
            "| no preset (`config.backoff={}`), 2 s | {rate} | {p50} | {p99} | | {commands} |",
        ),
        (
            sale,
            &[&WITHOUT_PRESET, &["--set", "wait.timeout=100ms"]],
            "| the same, 100 ms | {rate} | {p50} | {p99} | {vain} | {commands} |",
        ),
        (sale, &[&PLAIN], "| preset, plain layout | {rate} | {p50} | {p99} | {vain} | {commands} |"),
        (
            sale,
            &[&PLAIN, &["--set", "config.backoff={initial='10ms',max='40ms'}"]],
            "| no preset, plain layout, pauses 10–40 ms | {rate} | {p50} | {p99} | | {commands} |",
        ),
        ("workloads/zipf.toml", &[], "| `zipf.toml`: {rate}, p99 {p99}, {commands} commands |"),
        (sale, &[&WITHOUT_PRESET], "| `flash-sale.toml` without its preset: {rate}, p99 {p99} |"),
        (batch, &[], "| `batch.toml`: {rate}, p99 {p99}, Jain {jain};"),
        (batch, &[&PLAIN, &["--set", "backoff.max=10s"]], "; polled: {rate}, p99 {p99}, Jain {jain} |"),
        (
            "workloads/nightly-job.toml",
            &[&WITHOUT_PRESET, &["--set", "wait.timeout=0s"]],
            "| `nightly-job.toml` without its preset, a try: {commands} commands |",
        ),
        (quorum, &[far], "{rate} with 300 ms (p50 {p50}, p99 {p99}) |"),
        (quorum, &[far, &["--set", "store.node_timeout=50ms"]], "`far-quorum.toml`: {rate} with 50 ms, "),
    ];
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tuning.md")).unwrap();
    let rows = rows.map(|(workload, more, row)| filled(row, &simulated(workload, more)));
    let missing: Vec<_> = rows.iter().filter(|row| !page.contains(*row)).collect();
    assert!(missing.is_empty(), "docs/tuning.md has not these: {missing:#?}");
}
