//! A recorded trace as a workload, with the figures that were recorded.

use std::{path::Path, time::Duration};

use leasehold::{ConfigError, InvalidValue, text::exact};
use toml::{Table, Value};

use super::{
    Workload,
    trace::{TracedTurn, read},
};
use crate::laboratory::keys::parse_error;

/// The largest number of buckets of the histogram of holds.
const BUCKETS: usize = 50;

impl Workload {
    /// Reads a recorded trace as a workload: its requests at their times, on as many resources, each held for as long as it
    /// was. `config` are the settings that are tried, in the words of `config.toml`; of `[store]` in it only the layout and the
    /// timeouts count. These keys have other values, as in [`from_toml`](Self::from_toml).
    ///
    /// A request that said itself how long it waits does so again, and a caller that went away does so after the same time. One that was not granted then, and is now, holds for a
    /// time drawn from the others. Times count from the beginning of each recording, so the traces of several processes that
    /// were begun together can be put behind each other in one file. Permits are tried as exclusive locks unless `mode` is
    /// set.
    ///
    /// # Errors
    /// [`ConfigError`] when a file cannot be read, or something in it is wrong.
    pub fn from_trace(
        path: impl AsRef<Path>,
        config: &str,
        set: &[(&str, &str)],
    ) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let name = path.file_name().map_or_else(|| path.display().to_string(), |it| it.display().to_string());
        let wrong = |error| parse_error("the configuration", config, &error);
        let mut config: Table = toml::from_str(config).map_err(wrong)?;
        if let Some(Value::Table(own)) = config.remove("leasehold") {
            config = own;
        }
        if let Some(Value::Table(store)) = config.get_mut("store") {
            let counts = ["layout", "connect_timeout", "response_timeout", "node_timeout"];
            store.retain(|key, _| counts.contains(&key));
        }
        let trace = read(path)?;
        let mut table = described(&trace)?;
        table.insert("name".to_owned(), Value::String(name.clone()));
        table.insert("config".to_owned(), Value::Table(config));
        Self::of_table(&name, table, set, |_| Ok(trace))
    }

    /// Returns the requests of a trace whose answers were recorded: when each was made, how long it waited, and its outcome.
    pub(crate) fn recorded_answers(&self) -> impl Iterator<Item = (Duration, Duration, &str)> {
        let in_time = self.trace.iter().filter(|it| it.at < self.duration);
        in_time
            .filter_map(|it| it.answer.as_ref().map(|(waited, outcome)| (it.at, *waited, outcome.as_str())))
    }
}

/// Describes a trace in the words of a workload.
fn described(trace: &[TracedTurn]) -> Result<Table, ConfigError> {
    let text = |time: Duration| Value::String(exact(time).to_string());
    let last = trace.last().map_or(Duration::ZERO, |last| last.at);
    let table = |entries: Vec<(&str, Value)>| -> Table {
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    };
    let arrivals = table(vec![("kind", "trace".into()), ("file", "".into())]);
    let mut all = vec![
        ("duration", text((last + Duration::from_micros(1)).max(Duration::from_millis(10)))),
        ("arrivals", Value::Table(arrivals)),
    ];
    if trace.iter().any(|it| it.reads == Some(true)) {
        let mode = table(vec![("kind", "read_write".into()), ("readers", Value::Float(0.0))]);
        all.push(("mode", Value::Table(mode)));
    }
    let buckets = buckets(trace);
    if buckets.is_empty() {
        let allowed = "one or more lines with the time for which a lock was held";
        return Err(InvalidValue::new("hold", "nothing", allowed).into());
    }
    let bucket = |(up_to, count): (Duration, u32)| {
        Value::Table(table(vec![("up_to", text(up_to)), ("count", Value::Integer(count.into()))]))
    };
    let buckets = Value::Array(buckets.into_iter().map(bucket).collect());
    all.push(("hold", Value::Table(table(vec![("kind", "recorded".into()), ("buckets", buckets)]))));
    Ok(table(all))
}

/// Returns the histogram of the recorded holds: as many in each bucket, unless many are alike.
fn buckets(trace: &[TracedTurn]) -> Vec<(Duration, u32)> {
    let mut holds: Vec<Duration> = trace.iter().filter_map(|it| it.hold).collect();
    holds.sort_unstable();
    let mut buckets: Vec<(Duration, u32)> = Vec::new();
    for (index, hold) in holds.iter().enumerate() {
        let is_new = index * BUCKETS / holds.len() != (index.max(1) - 1) * BUCKETS / holds.len();
        let up_to = (*hold).max(Duration::from_micros(1));
        match buckets.last_mut() {
            Some(last) if !is_new || last.0 >= up_to => *last = (last.0.max(up_to), last.1 + 1),
            _ => buckets.push((up_to, 1)),
        }
    }
    buckets
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use leasehold::{Layout, trace::Traced};

    use super::*;
    use crate::line::{
        tests::{millis, recorded},
        trace_line,
    };

    #[test]
    fn the_histogram_of_holds_is_made_of_them() {
        let of = |holds: &[u64]| {
            let at = |hold: &u64| TracedTurn { hold: Some(millis(*hold)), ..TracedTurn::at(Duration::ZERO) };
            buckets(&holds.iter().map(at).chain([TracedTurn::at(Duration::ZERO)]).collect::<Vec<_>>())
        };
        assert_eq!(of(&[5, 1, 5, 0]), [(Duration::from_micros(1), 1), (millis(1), 1), (millis(5), 2)]);
        let many = of(&(1..=1_000).collect::<Vec<_>>());
        assert_eq!((many.len(), many[0], many[49]), (BUCKETS, (millis(20), 20), (millis(1_000), 20)));
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn a_configuration_is_told_without_its_lines_and_tried_without_its_address() {
        let broken = workload(&[], "[store]\nurl = \"redis://app:s3cret@db\n", &[]).unwrap_err().to_string();
        assert!(broken.contains("line 2") && !broken.contains("s3cret"), "{broken}");
        let within = "[leasehold.store]\nurl = \"redis://app:s3cret@db\"\nlayout = \"plain\"\n";
        let traced = workload(&[recorded(0, "granted", Some(1))], within, &[]).unwrap();
        assert_eq!(traced.config["store"].to_string(), r#"{ layout = "plain" }"#);
        let own = "name = 'w'\nduration = '1s'\narrivals = { kind = 'constant', rate = 1.0 }\n\
                   hold = { kind = 'constant', time = '1ms' }\n[config.leasehold.store]\nurl = 'redis://db'";
        assert!(Workload::from_toml(own, &[]).unwrap_err().to_string().contains("config.leasehold"));
    }

    /// A trace in a file, as a workload.
    fn workload(lines: &[Traced], config: &str, set: &[(&str, &str)]) -> Result<Workload, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.jsonl");
        fs::write(&file, lines.iter().map(trace_line).collect::<Vec<_>>().join("\n")).unwrap();
        Workload::from_trace(&file, config, set)
    }

    #[test]
    fn a_trace_is_a_workload_with_its_own_figures() {
        let lines =
            [recorded(20, "granted", Some(3)), recorded(40, "held", None), recorded(30, "gone", None)];
        let config = "[store]\nurl = 'redis://h'\ntls_ca = 'x'\nlayout = 'plain'\n[wait]\ntimeout = '3s'";
        let found = workload(&lines, config, &[("processes", "4"), ("wait.timeout", "1s")]).unwrap();
        assert_eq!((found.name.as_str(), found.processes), ("t.jsonl", 4));
        let settings = found.config().unwrap();
        assert_eq!(settings.wait.timeout, millis(1_000));
        assert_eq!(settings.store.layout, Layout::Plain);
        let report = found.recorded().unwrap();
        assert_eq!((report.requests, report.granted, report.waited.p50), (3, 1, 1_500.0));
        assert_eq!(report.others, BTreeMap::from([("gone".to_owned(), 1), ("held".to_owned(), 1)]));
    }

    #[test]
    fn a_trace_or_settings_that_mean_nothing_are_refused_by_name() {
        let held = [recorded(0, "held", None)];
        let granted = [recorded(0, "granted", Some(1))];
        for (lines, config, expected) in [
            (&held, "", "invalid hold: nothing (allowed: one or more lines"),
            (&granted, "wait.timeout = 5", "wait.timeout"),
            (&granted, "[wait", "the configuration"),
        ] {
            let error = workload(lines, config, &[]).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }
}
