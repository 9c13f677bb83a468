//! A survey: what a look from outside finds of the partitions of a fleet.

use std::time::Duration;

use actix::Addr;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{
    Member,
    member::{announced, count_of_most},
    membership::below,
};
use crate::{
    core::{Fence, ResourceName},
    leading::election::inspect,
    manager::LockManager,
    request::InspectError,
    store::{StoreError, TOLD_AT_MOST},
};

/// The number of partitions that are asked about at once.
pub(super) const AT_ONCE: usize = 64;

/// The partitions of a fleet, as a look at the store has found them. Nobody has to be a member for that.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// The members, in the order of their names.
    pub members: Vec<Member>,
    /// The owner of each partition. `None`: no member owned it when it was asked about, or its record is no lock.
    pub owners: Vec<Option<PartitionOwner>>,
}

/// The owner of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionOwner {
    /// The member.
    pub member: Member,
    /// Its fencing number, where the store knows it.
    pub fence: Option<Fence>,
    /// The time since it became the owner, where the store knows it.
    pub owned_for: Option<Duration>,
}

impl Survey {
    /// Asks who the members are, and then about each partition: a request for each, 64 at a time. `None` if nobody is a member of
    /// a fleet of this name.
    ///
    /// # Errors
    /// As [`Inspect`](crate::Inspect).
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn of(locks: &Addr<LockManager>, fleet: &ResourceName) -> Result<Option<Self>, InspectError> {
        let inspection = inspect(locks, &below(fleet, "members")?, TOLD_AT_MOST).await?;
        let Some(partitions) = count_of_most(&inspection) else { return Ok(None) };
        let owner = async |number: u32| match inspect(locks, &below(fleet, &number.to_string())?, 1).await {
            Ok(found) => Ok(found.holders.first().and_then(|holder| {
                let (fence, owned_for) = (holder.fence, holder.held_for);
                Some(PartitionOwner { member: Member::of(holder)?, fence, owned_for })
            })),
            Err(InspectError::Store(StoreError::Corrupt { .. })) => Ok(None),
            Err(error) => Err(error),
        };
        let owners = stream::iter(0..partitions).map(owner).buffered(AT_ONCE).try_collect().await?;
        Ok(Some(Self { members: announced(&inspection, partitions), owners }))
    }

    /// Returns the number of partitions that a member owns.
    pub fn owned_by(&self, member: &Member) -> usize {
        self.owners.iter().flatten().filter(|owner| owner.member.name == member.name).count()
    }
}
