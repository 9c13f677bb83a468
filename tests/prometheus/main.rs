//! What `deploy/` gives Prometheus and Grafana: rules that come when they should, a dashboard whose every query finds data,
//! and a runbook entry for each alert.
//!
//! Needs `prometheus` and `promtool`, which `tests/install` installs, and a redis-server.

mod exporter;
mod server;
#[path = "../support/mod.rs"]
mod support;
mod words;

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use exporter::Exporter;
use leasehold::LossReason;
use server::{Prometheus, promtool};
use support::redis_server::RedisServer;
use words::{
    Query, alerts, metric_of, metrics_in, metrics_of_the_library, queries, recommended_buckets, sections,
    text, words_of,
};

/// Enough for a machine that is busy with other tests.
const GIVE_UP_AFTER: Duration = Duration::from_secs(120);

/// Time in which the server answers nothing: longer than from one renewal of a lease to the next, shorter than a lease.
const OUTAGE: Duration = Duration::from_millis(1_600);

/// Waits until nothing is missing any more.
fn until_none(mut missing: impl FnMut() -> Vec<String>) {
    let give_up = Instant::now() + GIVE_UP_AFTER;
    loop {
        let left = missing();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < give_up, "after {GIVE_UP_AFTER:?} still:\n{}", left.join("\n"));
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
        let none = |exporter: &&&Exporter| exporter.value("leasehold_near_misses_total") == Some(0.0);
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

#[test]
fn every_query_of_the_dashboard_finds_data_and_every_rule_is_evaluated() {
    let server = RedisServer::start();
    let (buckets, summaries) =
        (Exporter::with_buckets(&server.url()), Exporter::with_summaries(&server.url()));
    let prometheus = Prometheus::scraping(&[buckets.address, summaries.address]);
    // Prometheus looks for the first time seconds after its start; what a rule is to see must change later than that.
    until_none(|| match prometheus.values("leasehold_near_misses_total") {
        Ok(values) if values.len() == 2 => Vec::new(),
        other => vec![format!("{other:?}")],
    });
    make_near_misses(&server, &[&buckets, &summaries]);

    for exporter in [&buckets, &summaries] {
        let page = exporter.page();
        assert_eq!(promtool(&["check", "metrics"], &page), Ok(()), "{page}");
        let shown: BTreeSet<_> =
            page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        let all = metrics_of_the_library();
        assert_eq!(shown, all.keys().map(String::as_str).collect(), "the load shows each metric");
    }

    for exporter in [&buckets, &summaries] {
        let queries = queries(&text("deploy/grafana/leasehold.json"), &exporter.address.to_string());
        assert!(queries.len() > 30, "only {} queries were found", queries.len());
        until_none(|| queries.iter().filter_map(|query| missing(&prometheus, query)).collect());
    }
    until_none(|| {
        let rules = prometheus.rules();
        assert_eq!(rules.len(), alerts(&text("deploy/alerts.yaml")).len());
        let odd = |rule: &&serde_json::Value| {
            let fires = rule["state"] == "firing";
            let must_fire =
                ["LeaseholdLeaseLost", "LeaseholdNearMiss"].iter().any(|name| rule["name"] == *name);
            let must_not = ["LeaseholdTargetDown", "LeaseholdMetricsMissing", "LeaseholdActorRestarted"];
            rule["health"] != "ok"
                || must_fire && !fires
                || fires && must_not.iter().any(|name| rule["name"] == *name)
        };
        rules.iter().filter(odd).map(ToString::to_string).collect()
    });
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

#[test]
fn promtool_accepts_the_configuration_and_the_rules() {
    assert_eq!(promtool(&["check", "config", "deploy/prometheus.yml"], ""), Ok(()));
    assert_eq!(promtool(&["check", "rules", "deploy/alerts.yaml"], ""), Ok(()));
}

#[test]
fn each_alert_comes_when_it_should() {
    assert_eq!(promtool(&["test", "rules", "deploy/alerts_test.yaml"], ""), Ok(()));
    let tests = text("deploy/alerts_test.yaml");
    for alert in alerts(&text("deploy/alerts.yaml")) {
        let told = format!("alertname: {}\n        exp_alerts:\n", alert.name);
        assert!(tests.contains(&told), "no test expects {} to come", alert.name);
    }
}

#[test]
fn each_alert_has_a_runbook_entry_and_each_entry_an_alert() {
    let (rules, document) = (text("deploy/alerts.yaml"), text("docs/operations.md"));
    let (alerts, entries) = (alerts(&rules), sections(&document, "Leasehold"));
    assert!(alerts.len() > 10, "only {} alerts were found", alerts.len());
    for alert in &alerts {
        let name = alert.name.as_str();
        assert_eq!(alert.runbook, format!("operations.md#{}", name.to_lowercase()), "{name}");
        let entry = entries.get(name).unwrap_or_else(|| panic!("{name} has no entry in docs/operations.md"));
        for part in ["**What may be believed.**", "**Look.**", "**Do.**"] {
            assert!(entry.contains(part), "the entry of {name} lacks {part}");
        }
    }
    let names: BTreeSet<_> = alerts.iter().map(|alert| alert.name.as_str()).collect();
    assert_eq!(entries.keys().copied().collect::<BTreeSet<_>>(), names, "an entry belongs to an alert");
}

#[test]
fn rules_and_dashboard_name_metrics_that_there_are() {
    let all = metrics_of_the_library();
    for path in ["deploy/alerts.yaml", "deploy/alerts_test.yaml", "deploy/grafana/leasehold.json"] {
        let text = text(path);
        let unknown: Vec<_> =
            metrics_in(&text).into_iter().filter(|name| metric_of(name, &all).is_none()).collect();
        assert!(unknown.is_empty(), "{path} names metrics that the library does not have: {unknown:?}");
    }
}

#[test]
fn rules_and_dashboard_name_reasons_and_outcomes_that_there_are() {
    use LossReason::{
        Expired, Forced, HeartbeatMissed, MaxHold, MaxRenewals, NotHeld, Released, RenewerDied, ShutDown,
    };
    let reasons =
        [Expired, Forced, HeartbeatMissed, MaxHold, MaxRenewals, NotHeld, Released, RenewerDied, ShutDown];
    let reasons = reasons.map(LossReason::as_str);
    // Those of requests, of renewals, and of calls to the store.
    let outcomes = [
        "granted",
        "refused",
        "cancelled",
        "invalid",
        "queue_full",
        "busy",
        "confirmed",
        "missed",
        "ok",
        "error",
    ];
    for path in ["deploy/alerts.yaml", "deploy/grafana/leasehold.json"] {
        let text = text(path);
        assert!(!words_of("reason", &text).is_empty() && words_of("outcome", &text).len() > 5, "{path}");
        for (label, known) in [("reason", &reasons[..]), ("outcome", &outcomes[..])] {
            let unknown: Vec<_> =
                words_of(label, &text).into_iter().filter(|word| !known.contains(word)).collect();
            assert!(unknown.is_empty(), "{path} compares {label} with {unknown:?}");
        }
    }
}

#[test]
fn every_histogram_has_recommended_buckets() {
    let of_library =
        metrics_of_the_library().into_iter().filter_map(|(name, is_histogram)| is_histogram.then_some(name));
    let documented = recommended_buckets(&text("docs/observability.md"));
    assert_eq!(
        documented.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>(),
        of_library.collect()
    );
    for (name, bounds) in documented {
        assert!(bounds.is_sorted() && bounds.len() > 5, "{name}: {bounds:?}");
    }
}

#[test]
fn every_metric_of_the_library_is_on_the_dashboard() {
    let (all, dashboard) = (metrics_of_the_library(), text("deploy/grafana/leasehold.json"));
    let shown: BTreeSet<_> =
        metrics_in(&dashboard).into_iter().filter_map(|name| metric_of(name, &all)).collect();
    assert_eq!(shown, all.keys().map(String::as_str).collect());
}
