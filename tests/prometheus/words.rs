//! What the files of `deploy/` say: queries of the dashboard, alerts, and the metrics that both name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use leasehold::Shutdown;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use serde_json::Value;

use support::virtual_time::{World, in_virtual_time};

/// The text of a file of the project.
pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)).unwrap()
}

/// A recorder that remembers what is described to it, and nothing else.
#[derive(Clone, Default)]
struct Described(Arc<Mutex<BTreeMap<String, bool>>>);

impl Described {
    fn note(&self, name: &KeyName, is_histogram: bool) {
        self.0.lock().unwrap().insert(name.as_str().to_owned(), is_histogram);
    }
}

impl Recorder for Described {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.note(&name, false);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.note(&name, false);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.note(&name, true);
    }

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// The metrics of the library, as a manager describes them when it starts: the name, and true for a histogram.
pub(crate) fn metrics_of_the_library() -> BTreeMap<String, bool> {
    let described = Described::default();
    let _guard = metrics::set_default_local_recorder(&described);
    in_virtual_time(async || {
        World::new().manager().send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    });
    let all = described.0.lock().unwrap().clone();
    assert!(!all.is_empty(), "a manager that starts describes its metrics");
    all
}

/// The metrics that `leasehold serve` adds of its own, all of them gauges: what its source names.
pub(crate) fn metrics_of_the_console() -> BTreeSet<String> {
    let source = text("cli/src/serve/metrics.rs");
    let of_console = metrics_in(&source).into_iter().filter(|name| name.starts_with("leasehold_console_"));
    let all: BTreeSet<_> = of_console.map(str::to_owned).collect();
    assert!(all.len() > 3, "only {all:?} were found");
    all
}

/// The names in a text that begin as those of metrics do.
pub(crate) fn metrics_in(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.split(|letter| !is_part(letter)).filter(|word| word.starts_with("leasehold_")).collect()
}

/// The metric of the library that a name in a query is of: its own, or a part of a histogram.
pub(crate) fn metric_of<'a>(name: &'a str, all: &BTreeMap<String, bool>) -> Option<&'a str> {
    if all.contains_key(name) {
        return Some(name);
    }
    let whole = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part))?;
    all.get(whole)?.then_some(whole)
}

/// The words that a text compares a label with: of `reason=~"a|b"` these are `a` and `b`.
pub(crate) fn words_of<'a>(label: &str, text: &'a str) -> BTreeSet<&'a str> {
    let mut words = BTreeSet::new();
    for after in text.split(label).skip(1) {
        let quoted = ["=~", "!~", "!=", "="]
            .iter()
            .find_map(|sign| after.strip_prefix(sign)?.strip_prefix(['"', '\\']));
        if let Some(quoted) = quoted {
            let quoted = quoted.trim_start_matches('"');
            words.extend(quoted[..quoted.find(['"', '\\']).unwrap()].split('|'));
        }
    }
    words
}

/// An alert as its file has it.
pub(crate) struct Alert {
    pub(crate) name: String,
    pub(crate) runbook: String,
}

/// The alerts of a file of rules, read by the lines that begin with these keys.
pub(crate) fn alerts(rules: &str) -> Vec<Alert> {
    let mut alerts: Vec<Alert> = Vec::new();
    for line in rules.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("- alert: ") {
            alerts.push(Alert { name: name.to_owned(), runbook: String::new() });
        } else if let (Some(url), Some(alert)) = (line.strip_prefix("runbook_url: "), alerts.last_mut()) {
            alert.runbook = url.to_owned();
        }
    }
    alerts
}

/// The sections of a document below headings of the third level that begin with this word: heading and text.
pub(crate) fn sections<'a>(document: &'a str, word: &str) -> BTreeMap<&'a str, &'a str> {
    let sections = document.split("\n### ").skip(1).filter_map(|section| section.split_once('\n'));
    let text_of = |text: &'a str| text.split("\n## ").next().unwrap();
    sections
        .filter(|(heading, _)| heading.starts_with(word))
        .map(|(heading, text)| (heading, text_of(text)))
        .collect()
}

/// The buckets of each histogram that a document has below `### Buckets`, in a table of two columns.
pub(crate) fn recommended_buckets(document: &str) -> Vec<(String, Vec<f64>)> {
    let rows = sections(document, "Buckets")["Buckets"].lines().filter_map(|line| {
        let (metric, buckets) = line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | ")?;
        Some((metric.to_owned(), buckets.split(", ").map(|bound| bound.parse().unwrap()).collect()))
    });
    rows.collect()
}

/// A query of the dashboard: the title of its panel, and the expression.
pub(crate) struct Query {
    pub(crate) panel: String,
    pub(crate) expression: String,
}

/// Every query of the dashboard, those of its annotations and variables included, with what Grafana puts in place of
/// variables: one process is chosen, and otherwise all.
pub(crate) fn queries(dashboard: &str, instance: &str) -> Vec<Query> {
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut queries = Vec::new();
    for panel in list(&dashboard["panels"]) {
        let title = panel["title"].as_str().unwrap();
        assert!(panel["type"] == "row" || !list(&panel["targets"]).is_empty(), "{title} asks nothing");
        queries.extend(list(&panel["targets"]).iter().map(|target| query(title, target, instance)));
    }
    queries.extend(
        list(&dashboard["annotations"]["list"]).iter().map(|asked| query("annotations", asked, instance)),
    );
    let variables = list(&dashboard["templating"]["list"]);
    let asked = variables.iter().filter(|variable| variable["type"] == "query");
    queries.extend(asked.map(|variable| choices(variable, instance)));
    queries
}

/// The query of a variable, `label_values(series, label)`, which is Grafana's own, as one that Prometheus knows.
fn choices(variable: &Value, instance: &str) -> Query {
    let asked = variable["query"]["query"].as_str().unwrap();
    let parts =
        asked.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')')?.rsplit_once(", "));
    let (series, label) = parts.unwrap_or_else(|| panic!("{asked} is no question for the values of a label"));
    query("variables", &serde_json::json!({ "expr": format!("count by ({label}) ({series})") }), instance)
}

fn query(panel: &str, asked: &Value, instance: &str) -> Query {
    let mut expression =
        asked["expr"].as_str().unwrap_or_else(|| panic!("{panel}: no expression")).to_owned();
    for (variable, value) in [
        ("$__rate_interval", "20s"),
        ("$__range", "5m"),
        ("$job", ".*"),
        ("$instance", instance),
        ("$class", ".*"),
    ] {
        expression = expression.replace(variable, value);
    }
    assert!(!expression.contains('$'), "{panel} has a variable that the dashboard does not: {expression}");
    Query { panel: panel.to_owned(), expression }
}
