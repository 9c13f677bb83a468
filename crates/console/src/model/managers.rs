//! The managers and the elections, as far as the console knows them.

use std::time::Duration;

use leasehold::{Fence, InspectError, OwnLease, OwnLeases, ResourceName, Statistics, text::one_line};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::{
    described,
    view::{HolderView, ModeView, ResourceView, WaiterView, seconds},
};

/// The managers as far as the console knows them.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Managers)]
pub(crate) struct ManagersView {
    #[schema(value_type = described::Statistics)]
    pub(crate) statistics: Statistics,
    pub(crate) held: Vec<OwnLeaseView>,
    pub(crate) held_in_all: usize,
    pub(crate) waiting_in_all: usize,
    /// The processes among the holders and waiters of the resources that were looked at last.
    pub(crate) processes: Vec<ProcessView>,
}

/// A lease of this process.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Lease)]
pub(crate) struct OwnLeaseView {
    pub(crate) resource: String,
    pub(crate) token: String,
    #[serde(flatten)]
    pub(crate) mode: ModeView,
    pub(crate) fence: Option<u64>,
    #[serde(rename = "age_seconds", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) held_for: Duration,
    #[serde(rename = "valid_seconds", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) valid_for: Duration,
}

impl OwnLeaseView {
    pub(crate) fn all(leases: &OwnLeases) -> Vec<Self> {
        let view = |lease: &OwnLease| Self {
            resource: lease.resource.encoded(),
            token: lease.token.to_string(),
            mode: lease.mode.into(),
            fence: lease.fence.map(Fence::get),
            held_for: lease.held_for,
            valid_for: lease.valid_for,
        };
        leases.held.iter().map(view).collect()
    }
}

/// A process, by what its holders and waiters tell of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Process)]
pub(crate) struct ProcessView {
    pub(crate) host: Option<String>,
    #[serde(serialize_with = "as_number")]
    #[schema(value_type = Option<u64>)]
    pub(crate) pid: Option<String>,
    pub(crate) holds: u64,
    pub(crate) waits: u64,
}

/// Writes a text that is a number as one.
fn as_number<S: Serializer>(text: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    text.as_ref().and_then(|text| text.parse::<u64>().ok()).serialize(to)
}

/// An election.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Election)]
pub(crate) struct ElectionView {
    pub(crate) resource: String,
    /// `election` or `schedule`; `null` if nobody who is there says it.
    pub(crate) role: Option<String>,
    pub(crate) leader: Option<HolderView>,
    /// The number of candidates that wait; `null` where the store keeps no queues.
    pub(crate) waiting: Option<u64>,
    pub(crate) candidates: Vec<WaiterView>,
    /// The reason why the store does not tell of it, if so.
    pub(crate) trouble: Option<String>,
}

impl From<ResourceView> for ElectionView {
    fn from(view: ResourceView) -> Self {
        Self {
            role: view.role().map(str::to_owned),
            leader: view.leader().cloned(),
            resource: view.resource,
            waiting: view.waiting,
            candidates: view.waiters,
            trouble: None,
        }
    }
}

impl ElectionView {
    /// Returns the view of an election about which the store says nothing.
    pub(crate) fn unknown(name: &ResourceName, error: &InspectError) -> Self {
        Self {
            resource: name.encoded(),
            role: None,
            leader: None,
            waiting: None,
            candidates: Vec::new(),
            trouble: Some(one_line(error)),
        }
    }
}
