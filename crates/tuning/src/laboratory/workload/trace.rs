//! A recorded trace: its requests, read from the lines of a file.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use leasehold::ConfigError;

use crate::line::{LineMode, TraceLine};

/// A request of a trace. Its resource is a number: names of an application do not get onto a server for trials.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TracedTurn {
    pub(super) at: Duration,
    pub(super) hold: Option<Duration>,
    pub(super) resource: Option<u32>,
    /// True if it reads beside others; `None` if that was not recorded.
    pub(super) reads: Option<bool>,
    /// Its own wait, in place of that of the settings.
    pub(super) wait: Option<Duration>,
    /// The time that it waited, and the outcome, if they were recorded.
    pub(super) answer: Option<(Duration, String)>,
}

/// The outcome of a request whose caller lost its patience.
pub(crate) const GONE: &str = "gone";

impl TracedTurn {
    /// A request of which nothing is known but when it is made.
    pub(super) const fn at(at: Duration) -> Self {
        Self { at, hold: None, resource: None, reads: None, wait: None, answer: None }
    }

    /// Returns the time after which its caller went away, if it did.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.answer.as_ref().filter(|(_, outcome)| outcome == GONE).map(|(waited, _)| *waited)
    }
}

/// Reads a recorded trace.
pub(super) fn read(file: &Path) -> Result<Vec<TracedTurn>, ConfigError> {
    let text =
        fs::read_to_string(file).map_err(|source| ConfigError::Io { path: file.to_owned(), source })?;
    trace(&text).map_err(|(number, message)| ConfigError::Parse {
        origin: file.display().to_string(),
        message: format!("line {number}: {message}"),
    })
}

/// Reads the text of a trace, in the order of the requests: a line is written when its request is over. An error carries the
/// number of its line.
fn trace(text: &str) -> Result<Vec<TracedTurn>, (usize, String)> {
    let mut numbers = BTreeMap::new();
    let mut traced: Vec<TracedTurn> = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let line: TraceLine = serde_json::from_str(line).map_err(|error| (number, error.to_string()))?;
        let resource = line.resource.map(|name| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(name).or_insert(next)
        });
        let recorded = line.outcome.is_some();
        let reads = match line.mode {
            Some(mode) => Some(mode == LineMode::Shared),
            None if recorded => Some(false),
            None => None,
        };
        let answer = line.outcome.map(|outcome| (line.waited.unwrap_or_default(), outcome));
        traced.push(TracedTurn { at: line.at, hold: line.hold, resource, reads, wait: line.wait, answer });
    }
    if traced.is_empty() {
        return Err((1, "no request; one or more lines such as {\"at\": \"12ms\"} are expected".into()));
    }
    traced.sort_by_key(|it| it.at);
    Ok(traced)
}

#[cfg(test)]
mod tests {
    use leasehold::{Mode, trace::Traced};

    use super::*;
    use crate::line::{
        tests::{millis, recorded},
        trace_line,
    };

    #[test]
    fn a_trace_names_resources_by_numbers_and_leaves_the_rest_to_the_workload() {
        let text = "{\"at\": \"1ms\", \"resource\": \"b\"}\n\n{\"at\": \"1ms\", \"hold\": \"3ms\"}\n\
                    {\"at\": \"2s\", \"resource\": \"b\"}\n{\"at\": \"2ms\", \"resource\": \"a\"}";
        let found = trace(text).unwrap();
        let expected = [
            TracedTurn { resource: Some(0), ..TracedTurn::at(millis(1)) },
            TracedTurn { hold: Some(millis(3)), ..TracedTurn::at(millis(1)) },
            TracedTurn { resource: Some(1), ..TracedTurn::at(millis(2)) },
            TracedTurn { resource: Some(0), ..TracedTurn::at(millis(2_000)) },
        ];
        assert_eq!(found, expected, "in their order, whatever that of the lines");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let line = trace_line(&recorded(12, "granted", Some(3)));
        let expected = r#"{"at":"12ms","hold":"3ms","resource":"orders/%FF","class":"pay","waited":"1ms 500us","outcome":"granted"}"#;
        assert_eq!(line, expected);
        let shared = Traced { mode: Mode::Shared, wait: Some(millis(7)), ..recorded(0, "held", None) };
        let permits = Traced { mode: Mode::permits(1, 2).unwrap(), answer: None, ..recorded(5, "", None) };
        let lines = [&line, &trace_line(&shared), &trace_line(&permits)].map(String::as_str).join("\n");
        let answer = |outcome: &str| Some((Duration::from_micros(1_500), outcome.to_owned()));
        let resource = Some(0);
        let expected = [
            TracedTurn {
                resource,
                reads: Some(true),
                wait: Some(millis(7)),
                answer: answer("held"),
                ..TracedTurn::at(millis(0))
            },
            TracedTurn { resource, reads: Some(false), ..TracedTurn::at(millis(5)) },
            TracedTurn {
                resource,
                reads: Some(false),
                hold: Some(millis(3)),
                answer: answer("granted"),
                ..TracedTurn::at(millis(12))
            },
        ];
        assert_eq!(trace(&lines).unwrap(), expected);
    }

    #[test]
    fn a_wrong_trace_is_refused_by_its_line() {
        for (text, line, expected) in [
            ("", 1, "no request"),
            ("{\"at\": \"1ms\"}\n{\"at\": 5}", 2, "expected a duration"),
            ("{\"at\": \"1s\", \"holds\": \"1s\"}", 1, "unknown field `holds`"),
            ("{\"at\": \"1s\", \"mode\": \"odd\"}", 1, "unknown variant `odd`"),
        ] {
            let (number, message) = trace(text).unwrap_err();
            assert!(number == line && message.contains(expected), "{number}: {message}");
        }
    }
}
