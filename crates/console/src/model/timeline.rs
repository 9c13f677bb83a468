//! The timeline of a resource: spans that the console has seen, counted back from now.

use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    observe::{History, Moment, Stay},
    view::{ModeKind, seconds},
};

/// The history of one resource, as far as the console has looked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Timeline)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Span)]
pub(crate) struct SpanView {
    #[serde(rename = "from_seconds_ago", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) from_ago: Duration,
    #[serde(rename = "until_seconds_ago", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) until_ago: Duration,
}

/// A hold that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Hold)]
pub(crate) struct HoldView {
    pub(crate) fence: Option<u64>,
    #[serde(flatten)]
    pub(crate) stay: WaitView,
}

/// A wait that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Wait)]
pub(crate) struct WaitView {
    pub(crate) token: String,
    pub(crate) who: String,
    pub(crate) mode: ModeKind,
    /// From its begin, or from when it was first seen if the store does not know that; until it was last seen.
    #[serde(flatten)]
    pub(crate) span: SpanView,
    /// True if it goes on, as of the last look.
    pub(crate) goes_on: bool,
}

/// The number of waiters from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Queue)]
pub(crate) struct QueueView {
    #[serde(rename = "from_seconds_ago", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) from_ago: Duration,
    pub(crate) waiting: u64,
}

impl TimelineView {
    /// Returns the history as it is shown at this moment. If the last look is longer ago than `gap`, nothing goes on.
    pub(crate) fn of(history: &History, now: Duration, gap: Duration) -> Self {
        let ago = |moment: Duration| now.saturating_sub(moment);
        // What was seen last is true still only while looks follow each other.
        let last = history.looks().next_back().filter(|_| history.is_current(now, gap));
        let wait = |stay: &Stay| WaitView {
            token: stay.token.clone(),
            who: stay.who.clone(),
            mode: stay.mode.kind,
            span: SpanView { from_ago: ago(stay.first) + stay.earlier, until_ago: ago(stay.last) },
            goes_on: last.is_some_and(|last| last.at == stay.last),
        };
        Self {
            goes_on: last.is_some(),
            looked: looked(history.looks(), now),
            holds: history.holds().map(|stay| HoldView { fence: stay.fence, stay: wait(stay) }).collect(),
            waits: history.waits().map(wait).collect(),
            queue: queue(history.looks(), now),
        }
    }
}

fn looked<'a>(looks: impl Iterator<Item = &'a Moment>, now: Duration) -> Vec<SpanView> {
    let mut spans: Vec<SpanView> = Vec::new();
    for look in looks {
        let ago = now.saturating_sub(look.at);
        match spans.last_mut().filter(|_| look.follows) {
            Some(span) => span.until_ago = ago,
            None => spans.push(SpanView { from_ago: ago, until_ago: ago }),
        }
    }
    spans
}

fn queue<'a>(looks: impl Iterator<Item = &'a Moment>, now: Duration) -> Vec<QueueView> {
    let view = |look: &Moment| QueueView { from_ago: now.saturating_sub(look.at), waiting: look.waiting };
    let mut numbers: Vec<_> = looks.map(view).collect();
    numbers.dedup_by_key(|queue| queue.waiting);
    numbers
}
