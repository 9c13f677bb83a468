//! What `deploy/` gives Prometheus and Grafana: rules that come when they should, a dashboard whose every query finds data,
//! and a runbook entry for each alert.
//!
//! Needs `prometheus` and `promtool`, which `tests/install` installs, and a redis-server. Time is real, for that
//! of Prometheus is.

mod exporter;
mod files;
mod server;
mod words;

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use exporter::Exporter;
use leasehold_testing::servers::RedisServer;
use leasehold_testing::waiting::PATIENCE;
use serde_json::Value;
use server::{Prometheus, promtool};
use words::{Query, alerts, metrics_of_the_library, queries, text};

/// Time in which the server answers nothing: longer than from one renewal of a lease to the next, shorter than a lease.
const OUTAGE: Duration = Duration::from_millis(1_600);

/// Waits until nothing is missing any more.
fn until_none(mut missing: impl FnMut() -> Vec<String>) {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let left = missing();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < give_up, "after {PATIENCE:?} still:\n{}", left.join("\n"));
        thread::sleep(Duration::from_millis(200));
    }
}

/// Stops the server for a while, again and again, until renewals of both managers have come through just in time.
fn make_near_misses(server: &RedisServer, exporters: &[&Exporter]) {
    until_none(|| {
        server.pause();
        thread::sleep(OUTAGE);
        server.resume();
        thread::sleep(Duration::from_secs(2));
        let near_misses = |exporter: &Exporter| exporter.value("leasehold_near_misses_total");
        let none = |exporter: &&&Exporter| !near_misses(exporter).is_some_and(|misses| misses > 0.0);
        exporters
            .iter()
            .filter(none)
            .map(|exporter| format!("no near miss at {}", exporter.address))
            .collect()
    });
}

/// Says what is wrong with the values of a query: there is none, or they are not those of what has happened.
fn missing(prometheus: &Prometheus, Query { panel, expression }: &Query) -> Option<String> {
    let good = match prometheus.values(expression) {
        Ok(values) => match panel.as_str() {
            "Lost" | "Near misses" => values.iter().any(|value| *value >= 1.0),
            "Managers" => values == [1.0],
            "Served" => values.iter().all(|value| (0.01..0.999).contains(value)) && !values.is_empty(),
            _ => !values.is_empty(),
        },
        Err(error) => panic!("{panel}: {expression}: {error}"),
    };
    (!good).then(|| format!("{panel}: {expression}: {:?}", prometheus.values(expression)))
}

/// The metrics of the library that a page does not have.
fn not_shown(exporter: &Exporter) -> Vec<String> {
    let page = exporter.page();
    let shown: BTreeSet<_> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    metrics_of_the_library().into_keys().filter(|metric| !shown.contains(metric.as_str())).collect()
}

/// The rules that cannot be evaluated, do not fire over what has happened, or fire over what has not.
fn odd_rules(prometheus: &Prometheus) -> Vec<String> {
    let rules = prometheus.rules();
    assert_eq!(rules.len(), alerts(&text("deploy/alerts.yaml")).len());
    let odd = |rule: &&Value| {
        let fires = rule["state"] == "firing";
        let is_one_of = |names: &[&str]| names.iter().any(|name| rule["name"] == *name);
        let must = is_one_of(&["LeaseholdLeaseForgotten", "LeaseholdLeaseLost", "LeaseholdNearMiss"]);
        let must_not = is_one_of(&[
            "LeaseholdTargetDown",
            "LeaseholdMetricsMissing",
            "LeaseholdActorRestarted",
            "LeaseholdConsoleStoreDown",
        ]);
        rule["health"] != "ok" || must && !fires || must_not && fires
    };
    rules.iter().filter(odd).map(ToString::to_string).collect()
}

#[test]
fn every_query_of_the_dashboard_finds_data_and_every_rule_is_evaluated() {
    let mut server = RedisServer::start();
    let (buckets, summaries) =
        (Exporter::with_buckets(&server.url()), Exporter::with_summaries(&server.url()));
    let prometheus = Prometheus::scraping(&[buckets.address, summaries.address]);
    // Prometheus looks for the first time seconds after its start; what a rule is to see must change later than that.
    until_none(|| match prometheus.values("leasehold_near_misses_total") {
        Ok(values) if values.len() == 2 => Vec::new(),
        other => vec![format!("{other:?}")],
    });
    make_near_misses(&server, &[&buckets, &summaries]);
    // It comes back empty, and has forgotten what both hold.
    server.restart();

    let dashboard = text("deploy/grafana/leasehold.json");
    for exporter in [&buckets, &summaries] {
        until_none(|| not_shown(exporter));
        assert_eq!(promtool(&["check", "metrics"], &exporter.page()), Ok(()), "{}", exporter.page());
        let queries = queries(&dashboard, &exporter.address.to_string());
        assert!(queries.len() > 30, "only {} queries were found", queries.len());
        until_none(|| queries.iter().filter_map(|query| missing(&prometheus, query)).collect());
    }
    until_none(|| odd_rules(&prometheus));
}

#[test]
fn a_query_that_finds_nothing_is_told() {
    let server = RedisServer::start();
    let exporter = Exporter::with_summaries(&server.url());
    let prometheus = Prometheus::scraping(&[exporter.address]);
    let asks = |expression: &str| Query { panel: "a panel".to_owned(), expression: expression.to_owned() };
    until_none(|| missing(&prometheus, &asks("leasehold_attempts_total")).into_iter().collect());
    for nothing in ["leasehold_attempt_total", "leasehold_wait_seconds_bucket", "0 / vector(0)"] {
        assert!(missing(&prometheus, &asks(nothing)).is_some(), "{nothing}");
    }
}
