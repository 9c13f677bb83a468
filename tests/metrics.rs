//! The metrics of a manager, as Prometheus is shown them: each with HELP, TYPE and unit, and none with a resource.
//!
//! The recorder is that of the test's own thread. On the memory store, in virtual time.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use leasehold::{Acquire, Stats};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use metrics_exporter_prometheus::PrometheusBuilder;
use support::virtual_time::{World, in_virtual_time, millis, secs};
use tokio::time::sleep;

/// The labels that a metric may have. Prometheus adds `quantile`.
const LABELS: [&str; 6] = ["actor", "class", "outcome", "quantile", "reason", "verb"];

/// The page of a manager that has granted, refused, renewed, missed, lost, handed off and released.
fn page(builder: PrometheusBuilder) -> String {
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let mut rendered = String::new();
    in_virtual_time(async || {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("secret/1").class("payments")).await.unwrap().unwrap();
        locks.send(Acquire::new("secret/1").class("payments")).await.unwrap().unwrap_err();
        let waits = actix_rt::spawn(locks.send(Acquire::new("secret/1").wait(secs(60))));
        sleep(secs(2)).await;
        lease.release().await.unwrap();
        let handed_off = waits.await.unwrap().unwrap().unwrap();
        sleep(secs(5)).await;
        world.store.fail_next(1);
        sleep(secs(25)).await;
        let mortal = Acquire::new("secret/2").class("payments").ttl(secs(1)).no_renew();
        let mortal = locks.send(mortal).await.unwrap().unwrap();
        mortal.lost().await;
        locks.send(Acquire::new("")).await.unwrap().unwrap_err();
        world.store.fail_next(1);
        locks.send(Acquire::new("secret/3")).await.unwrap().unwrap_err();
        let _pending = actix_rt::spawn(locks.send(Acquire::new("secret/1").class("payments").wait(secs(60))));
        sleep(millis(1_500)).await;
        rendered = handle.render();
        drop(handed_off);
    });
    rendered
}

/// The values of a page by metric and labels.
fn values(page: &str) -> BTreeMap<&str, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let split = lines.map(|line| line.rsplit_once(' ').unwrap());
    split.map(|(name, value)| (name, value.parse().unwrap())).collect()
}

/// The metrics of a page, each with its type.
fn types(page: &str) -> BTreeMap<&str, &str> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    lines.map(|line| line.split_once(' ').unwrap()).collect()
}

#[test]
fn every_metric_has_help_type_and_unit_and_stands_in_the_docs() {
    let page = page(PrometheusBuilder::new());
    let types = types(&page);
    assert_eq!(types.len(), 16, "{page}");
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/observability.md");
    let docs = fs::read_to_string(docs).unwrap();
    for (metric, kind) in &types {
        let help = format!("# HELP {metric} ");
        let help = page.lines().find_map(|line| line.strip_prefix(&help)).unwrap_or_default();
        assert!(help.len() > 20, "{metric}: {help:?}");
        // Prometheus has the unit in the name: seconds, or nothing for a number. Numbers that only grow are totals.
        assert_eq!(*kind == "counter", metric.ends_with("_total"), "{metric} is a {kind}");
        assert!(*kind != "summary" || metric.ends_with("_seconds"), "{metric} is a {kind}");
        assert!(docs.contains(&format!("| `{metric}` |")), "{metric} is not in docs/observability.md");
    }
    let of_lines: BTreeSet<_> = values(&page)
        .keys()
        .map(|line| line.split('{').next().unwrap())
        .map(|name| ["_sum", "_count"].iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name))
        .collect();
    assert_eq!(of_lines, types.keys().copied().collect(), "every line belongs to a metric that is described");
}

#[test]
fn units_are_described_as_the_names_say() {
    let with_units = page(PrometheusBuilder::new().with_recommended_naming(true));
    let names = page(PrometheusBuilder::new());
    assert_eq!(types(&with_units), types(&names), "the exporter adds a unit to a name that lacks it");
}

#[test]
fn labels_are_known_and_none_has_a_resource() {
    let page = page(PrometheusBuilder::new());
    assert!(!page.contains("secret"), "{page}");
    for line in values(&page).keys() {
        let labels = line.split_once('{').map_or("", |(_, labels)| labels.trim_end_matches('}'));
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (name, _) = label.split_once('=').unwrap();
            assert!(LABELS.contains(&name), "{line}");
        }
    }
}

#[test]
fn what_happened_is_on_the_page() {
    let page = page(PrometheusBuilder::new());
    let values = values(&page);
    for (line, expected) in [
        (r#"leasehold_requests_total{class="payments",outcome="granted"}"#, 2.0),
        (r#"leasehold_requests_total{class="payments",outcome="refused"}"#, 1.0),
        (r#"leasehold_requests_total{class="none",outcome="granted"}"#, 1.0),
        (r#"leasehold_requests_total{class="none",outcome="invalid"}"#, 1.0),
        (r#"leasehold_requests_total{class="none",outcome="unavailable"}"#, 1.0),
        (r#"leasehold_requests_pending{class="payments"}"#, 1.0),
        (r#"leasehold_requests_pending{class="none"}"#, 0.0),
        (r#"leasehold_leases_held{class="none"}"#, 1.0),
        (r#"leasehold_leases_held{class="payments"}"#, 0.0),
        (r#"leasehold_wait_seconds_sum{class="none"}"#, 2.0),
        (r#"leasehold_hold_seconds_count{class="payments"}"#, 2.0),
        (r#"leasehold_losses_total{class="payments",reason="expired"}"#, 1.0),
        (r#"leasehold_renewals_total{outcome="missed"}"#, 1.0),
        ("leasehold_near_misses_total", 1.0),
        ("leasehold_releases_unconfirmed", 0.0),
        (r#"leasehold_restarts_total{actor="manager"}"#, 0.0),
        (r#"leasehold_store_seconds_count{verb="hand_off",outcome="ok"}"#, 1.0),
        (r#"leasehold_store_seconds_count{verb="acquire",outcome="error"}"#, 1.0),
    ] {
        assert_eq!(values.get(line), Some(&expected), "{line}\n{page}");
    }
    let smallest = values["leasehold_renewal_smallest_validity_left_seconds"];
    assert!((10.0..20.0).contains(&smallest), "{smallest} s of 30 s were left after a renewal was missed");
}

/// A recorder that panics over everything that it is told, once it is broken.
#[derive(Clone, Default)]
struct Broken(Arc<AtomicBool>);

impl Broken {
    fn told(&self) {
        assert!(!self.0.load(Ordering::Relaxed), "the recorder was told to panic");
    }
}

impl CounterFn for Broken {
    fn increment(&self, _: u64) {
        self.told();
    }

    fn absolute(&self, _: u64) {
        self.told();
    }
}

impl GaugeFn for Broken {
    fn increment(&self, _: f64) {
        self.told();
    }

    fn decrement(&self, _: f64) {
        self.told();
    }

    fn set(&self, _: f64) {
        self.told();
    }
}

impl HistogramFn for Broken {
    fn record(&self, _: f64) {
        self.told();
    }
}

impl Recorder for Broken {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        self.told();
        Counter::from_arc(Arc::new(self.clone()))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        self.told();
        Gauge::from_arc(Arc::new(self.clone()))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        self.told();
        Histogram::from_arc(Arc::new(self.clone()))
    }
}

#[test]
fn a_recorder_that_panics_costs_nobody_a_lock() {
    let recorder = Broken::default();
    let _guard = metrics::set_default_local_recorder(&recorder);
    in_virtual_time(async || {
        let locks = World::new().manager();
        recorder.0.store(true, Ordering::Relaxed);
        let lease = locks.send(Acquire::new("r").class("payments")).await.unwrap().unwrap();
        sleep(secs(25)).await;
        locks.send(Acquire::new("r")).await.unwrap().unwrap_err();
        lease.release().await.unwrap();
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.granted, stats.refused, stats.released, stats.held), (1, 1, 1, 0));
        assert_eq!((stats.renewals, stats.pending, stats.releases_unconfirmed), (2, 0, 0));
        assert_eq!((stats.manager_restarts, stats.renewer_restarts), (0, 0));
    });
}
