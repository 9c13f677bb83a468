//! The resources: a page of them, and one with all that is known of it.

use std::time::Duration;

use leasehold::{InspectError, ResourceName, text::one_line};
use serde::Serialize;
use utoipa::ToSchema;

use super::timeline::TimelineView;
use crate::view::{HolderView, ResourceView, seconds, seconds_if_known};

/// A page of resources.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Page {
    pub(crate) resources: Vec<Row>,
    /// The name behind which the next page begins; `null` if there is none.
    pub(crate) next: Option<String>,
    /// True if these are all. If not, and `next` is `null`, any names may be missing.
    pub(crate) complete: bool,
    /// True if the time for the walk was over before its end: then a page behind this one would miss names.
    pub(crate) cut_short: bool,
    /// The number of keys that the walk looked at.
    pub(crate) walked: u64,
    pub(crate) console: Watch,
}

/// A resource in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Row {
    pub(crate) resource: String,
    /// False if it is free or only kept closed; `null` if the store does not tell.
    pub(crate) held: Option<bool>,
    /// The number of holders; `null` if the store does not tell.
    pub(crate) total: Option<u64>,
    /// The number of waiters; `null` where the store keeps no queues, and if it does not tell.
    pub(crate) waiting: Option<u64>,
    /// The holder that ends first, if there is any.
    pub(crate) holders: Vec<HolderView>,
    /// The longest wait of the waiters that the store told.
    #[serde(rename = "longest_wait_seconds", serialize_with = "seconds_if_known")]
    #[schema(value_type = Option<f64>)]
    pub(crate) longest_wait: Option<Duration>,
    /// The reason why the store does not tell of it, if so.
    pub(crate) trouble: Option<String>,
}

impl From<ResourceView> for Row {
    fn from(view: ResourceView) -> Self {
        let ResourceView { resource, held, total, waiting, mut holders, waiters, .. } = view;
        holders.truncate(1);
        Self {
            resource,
            held: Some(held),
            total: Some(total),
            waiting,
            holders,
            longest_wait: waiters.iter().filter_map(|waiter| waiter.waited).max(),
            trouble: None,
        }
    }
}

impl Row {
    /// Returns the row of a resource about which the store says nothing.
    pub(crate) fn unknown(name: &ResourceName, error: &InspectError) -> Self {
        Self {
            resource: name.encoded(),
            held: None,
            total: None,
            waiting: None,
            holders: Vec::new(),
            longest_wait: None,
            trouble: Some(one_line(error)),
        }
    }
}

/// One resource.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Resource)]
pub(crate) struct ResourceAnswer {
    #[serde(flatten)]
    pub(crate) view: ResourceView,
    pub(crate) timeline: TimelineView,
    /// The latest changes to it from this console, the latest first.
    pub(crate) changes: Vec<ChangeView>,
}

/// The state of the console's own observation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Watch {
    /// Grows with every change that was seen, from a number of this process.
    pub(crate) revision: u64,
    #[serde(rename = "observed_seconds", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) observed_for: Duration,
    /// The number of resources with waiters. `null` before the first look, and while the store does not answer.
    pub(crate) contended: Option<u64>,
    /// The number of waiters for those that were looked at.
    pub(crate) waiting: Option<u64>,
    /// False if there were more resources than one look reaches.
    pub(crate) complete: bool,
    /// True if the store keeps no queues, as in the plain layout: nobody knows who waits.
    pub(crate) without_queues: bool,
    /// The reason why the last look failed.
    pub(crate) trouble: Option<String>,
}

impl Watch {
    /// Returns true if it says the same of the store.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let said = |watch: &Self| (watch.contended, watch.waiting, watch.complete, watch.without_queues);
        said(self) == said(other)
    }
}

/// A change that was made from this console.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Change)]
pub(crate) struct ChangeView {
    pub(crate) what: String,
    pub(crate) who: String,
    #[serde(rename = "seconds_ago", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) ago: Duration,
    /// `null` while it goes on.
    pub(crate) outcome: Option<String>,
}
