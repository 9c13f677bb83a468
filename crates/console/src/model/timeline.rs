//! The timeline of a resource: spans that the console has seen, counted back from now.

use serde::Serialize;

use crate::seconds;

/// The history of one resource, as far as the console has looked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TimelineView {
    /// True if looks follow each other until now. If not, nothing is known of the time since the last one either.
    pub(crate) goes_on: bool,
    /// The spans in which the console has looked at it, the earliest first. Nothing is known of the time between.
    pub(crate) looked: Vec<SpanView>,
    pub(crate) holds: Vec<HoldView>,
    pub(crate) waits: Vec<WaitView>,
    pub(crate) queue: Vec<QueueView>,
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SpanView {
    #[serde(rename = "from_seconds_ago", serialize_with = "seconds::of_millis")]
    pub(crate) from_ms_ago: u64,
    #[serde(rename = "until_seconds_ago", serialize_with = "seconds::of_millis")]
    pub(crate) until_ms_ago: u64,
}

/// A hold that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HoldView {
    pub(crate) token: String,
    pub(crate) who: String,
    pub(crate) mode: &'static str,
    pub(crate) fence: Option<u64>,
    /// From the grant, or from when it was first seen if the store does not know that; until it was last seen.
    #[serde(flatten)]
    pub(crate) span: SpanView,
    /// True if it is held still, as of the last look.
    pub(crate) goes_on: bool,
}

/// A wait that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WaitView {
    pub(crate) token: String,
    pub(crate) who: String,
    pub(crate) mode: &'static str,
    #[serde(flatten)]
    pub(crate) span: SpanView,
    pub(crate) goes_on: bool,
}

/// The number of waiters from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct QueueView {
    #[serde(rename = "from_seconds_ago", serialize_with = "seconds::of_millis")]
    pub(crate) from_ms_ago: u64,
    pub(crate) waiting: u64,
}
