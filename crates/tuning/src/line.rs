//! A line of a trace, which the recorder writes and a workload reads.

use std::time::Duration;

use leasehold::{
    Mode,
    text::{duration, exact, given_duration},
    trace::Traced,
};
use serde::{Deserialize, Serialize, Serializer};

/// A line of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceLine {
    #[serde(deserialize_with = "duration", serialize_with = "in_words")]
    pub(crate) at: Duration,
    #[serde(default, deserialize_with = "given_duration", serialize_with = "given_in_words")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hold: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
    /// The mode; `None` in a trace that was not recorded leaves it to the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<LineMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// The longest wait, if the request itself said it.
    #[serde(default, deserialize_with = "given_duration", serialize_with = "given_in_words")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wait: Option<Duration>,
    #[serde(default, deserialize_with = "given_duration", serialize_with = "given_in_words")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waited: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<String>,
}

/// The mode of a recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LineMode {
    Exclusive,
    Shared,
    Permits,
}

/// Returns the line of a request, as JSON.
pub(crate) fn trace_line(traced: &Traced) -> String {
    let Traced { at, resource, mode, class, wait, answer, hold } = traced.clone();
    let line = TraceLine {
        at,
        hold,
        resource: Some(resource.to_string()),
        mode: match mode {
            Mode::Exclusive => None,
            Mode::Shared => Some(LineMode::Shared),
            // Permits, and whatever else shares a resource in part.
            _ => Some(LineMode::Permits),
        },
        class: class.map(|class| class.to_string()),
        wait,
        waited: answer.map(|(waited, _)| waited),
        outcome: answer.map(|(_, outcome)| outcome.to_owned()),
    };
    serde_json::to_string(&line).unwrap_or_default()
}

fn in_words<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // Nanoseconds say nothing of a lock, and make lines longer.
    let micros = Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    serializer.collect_str(&exact(micros))
}

fn given_in_words<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    in_words(&time.unwrap_or_default(), serializer)
}

#[cfg(test)]
pub(crate) mod tests {
    use leasehold::ResourceName;

    use super::*;

    pub(crate) const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A request as the recorder tells it, after a wait of one millisecond and a half.
    pub(crate) fn recorded(at: u64, outcome: &'static str, hold: Option<u64>) -> Traced {
        Traced {
            at: millis(at),
            resource: ResourceName::new(b"orders/\xff").unwrap(),
            mode: Mode::Exclusive,
            class: Some("pay".into()),
            wait: None,
            answer: Some((Duration::from_nanos(1_500_999), outcome)),
            hold: hold.map(millis),
        }
    }
}
