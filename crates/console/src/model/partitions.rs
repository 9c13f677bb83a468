//! The fleets that share partitions, and who owns which.

use std::time::Duration;

use leasehold::{
    Fence, ResourceName,
    partitions::{Member, PartitionOwner, Survey},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::view::{ResourceView, seconds_if_known};

/// The fleets that are known, and the one that was asked about.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Partitions)]
pub(crate) struct PartitionsView {
    pub(crate) fleets: Vec<FleetView>,
    /// The reason why there may be others, if so.
    pub(crate) unlisted: Option<String>,
    /// Null if no member of the fleet that was asked about is known, or none was asked about.
    pub(crate) shown: Option<SharesView>,
}

/// A fleet.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Fleet)]
pub(crate) struct FleetView {
    pub(crate) fleet: String,
    /// The number of partitions, as a member tells it; null if nothing is known.
    pub(crate) partitions: Option<u64>,
    /// The number of processes that are members; several may have one name.
    pub(crate) members: u64,
    /// The reason why nothing is known, if so.
    pub(crate) trouble: Option<String>,
}

/// The partitions of a fleet.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Shares)]
pub(crate) struct SharesView {
    pub(crate) fleet: String,
    pub(crate) members: Vec<MemberView>,
    /// The number of partitions that nobody owns.
    pub(crate) unowned: usize,
    pub(crate) partitions: Vec<PartitionView>,
}

/// A member, and the number of partitions that it owns.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Member)]
pub(crate) struct MemberView {
    pub(crate) member: String,
    pub(crate) endpoint: Option<String>,
    pub(crate) partitions: usize,
}

/// A partition, and its owner if there is one.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Partition)]
pub(crate) struct PartitionView {
    pub(crate) partition: usize,
    pub(crate) owner: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) fence: Option<u64>,
    #[serde(rename = "owned_for_seconds", serialize_with = "seconds_if_known")]
    #[schema(value_type = Option<f64>)]
    pub(crate) owned_for: Option<Duration>,
}

impl FleetView {
    /// Returns the view of a fleet by those who hold the resource of its members; `None` if that is another resource.
    pub(crate) fn of(fleet: &ResourceName, members: &ResourceView) -> Option<Self> {
        let told = members.holders.iter().find_map(|holder| holder.who.metadata.get("partitions"))?;
        let (fleet, partitions) = (fleet.encoded(), told.parse().ok());
        Some(Self { fleet, partitions, members: members.total, trouble: None })
    }
}

impl SharesView {
    pub(crate) fn of(fleet: &ResourceName, survey: &Survey) -> Self {
        let member = |member: &Member| MemberView {
            member: member.name.clone(),
            endpoint: member.endpoint.clone(),
            partitions: survey.owned_by(member),
        };
        Self {
            fleet: fleet.encoded(),
            members: survey.members.iter().map(member).collect(),
            unowned: survey.owners.iter().filter(|owner| owner.is_none()).count(),
            partitions: survey.owners.iter().map(Option::as_ref).enumerate().map(PartitionView::of).collect(),
        }
    }
}

impl PartitionView {
    fn of((partition, owner): (usize, Option<&PartitionOwner>)) -> Self {
        let member = owner.map(|owner| &owner.member);
        Self {
            partition,
            owner: member.map(|member| member.name.clone()),
            endpoint: member.and_then(|member| member.endpoint.clone()),
            fence: owner.and_then(|owner| owner.fence).map(Fence::get),
            owned_for: owner.and_then(|owner| owner.owned_for),
        }
    }
}
