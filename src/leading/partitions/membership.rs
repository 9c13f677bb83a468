//! The membership of a process: the leases by which others know of it, and the names of all that a fleet shares.

use std::{future::Future, sync::Arc, time::Duration};

use actix::Addr;

use super::{
    Member,
    member::{PARTITIONS, other_count},
};
use crate::{
    core::{InvalidValue, LossReason, ResourceName},
    leading::election::{Candidacy, inspect},
    lease::Lease,
    listeners::Class,
    manager::LockManager,
    request::{AcquireError, InspectError, ReadLock, acquire::Options},
    store::{StoreError, TOLD_AT_MOST},
};

/// The names of the resources of a fleet.
#[derive(Clone, Debug)]
pub(super) struct Names {
    fleet: ResourceName,
    pub(super) members: ResourceName,
    member: ResourceName,
    count: ResourceName,
}

impl Names {
    pub(super) fn new(fleet: ResourceName, own: &Member) -> Result<Self, InvalidValue> {
        let member = below(&fleet, &format!("members/{}", own.name))?;
        let (members, count) = (below(&fleet, "members")?, below(&fleet, "count")?);
        Ok(Self { fleet, members, member, count })
    }

    /// Returns the resource of a partition.
    pub(super) fn partition(&self, partition: u32) -> Result<ResourceName, InvalidValue> {
        below(&self.fleet, &partition.to_string())
    }

    /// Returns the candidacy for a partition.
    pub(super) fn candidacy(&self, partition: u32, member: &Member, of_all: &Candidacy) -> Candidacy {
        let mut candidacy = of_all.clone();
        candidacy.request.resource = [self.fleet.as_bytes(), format!("/{partition}").as_bytes()].concat();
        candidacy.request = member.tell(candidacy.request, "partition");
        // So that statistics and metrics count what is owned.
        let class = &mut candidacy.request.options.class;
        let fleet = str::from_utf8(self.fleet.as_bytes()).ok().filter(|name| Class::check(name).is_ok());
        *class = class.take().or_else(|| fleet.map(|name| name.to_owned().into()));
        (candidacy.stands, candidacy.is_kept, candidacy.request.options.in_step) = (true, true, true);
        candidacy.pauses.reset();
        candidacy
    }

    /// Returns the requests for the leases of a member: that of the number of partitions, of its name, and of all members.
    pub(super) fn requests(&self, member: &Member, partitions: u32, like: &Candidacy) -> [ReadLock; 3] {
        [&self.count, &self.member, &self.members].map(|name| {
            let mut request = ReadLock::new(name.as_bytes()).wait_forever().attempts(u32::MAX);
            // As for a partition, so that what is refused for one is refused for the membership already.
            let Options { ttl, renew_every, metadata, .. } = &like.request.options;
            (request.options.ttl, request.options.renew_every) = (*ttl, *renew_every);
            request.options.in_step = true;
            request.options.metadata.clone_from(metadata);
            member.tell(request, "member").metadata(PARTITIONS, partitions.to_string())
        })
    }
}

/// Returns a name below that of a fleet.
pub(super) fn below(fleet: &ResourceName, rest: &str) -> Result<ResourceName, InvalidValue> {
    ResourceName::new([fleet.as_bytes(), b"/", rest.as_bytes()].concat())
}

/// A membership that was granted.
pub(super) struct Membership {
    /// Shared by all members, so that one look shows all of them.
    announced: Lease,
    /// Shared by those of one name. Whoever wants it back asks the member to leave.
    pub(super) named: Lease,
    /// Shared by all processes with actors, so that none with another number of partitions comes between: held until the last
    /// actor has stopped.
    pub(super) counted: Arc<Lease>,
}

/// The end of a membership.
pub(super) enum End {
    Lost(LossReason),
    WantedBack,
}

impl Membership {
    /// Waits until it is lost, or somebody asks the member to leave, or makes it.
    pub(super) fn end(&self) -> impl Future<Output = End> + use<> {
        let (announced, counted) = (self.announced.lost(), self.counted.lost());
        let (named, wanted_back) = (self.named.lost(), self.named.revoke_requested());
        async move {
            tokio::select! {
                biased;
                Some(_) = wanted_back => End::WantedBack,
                reason = named => match reason {
                    LossReason::Forced => End::WantedBack,
                    reason => End::Lost(reason),
                },
                reason = announced => End::Lost(reason),
                reason = counted => End::Lost(reason),
            }
        }
    }

    pub(super) fn ttl(&self) -> Duration {
        self.named.ttl()
    }
}

/// The reason why a process does not become a member.
pub(super) enum NotJoined {
    Refused(AcquireError),
    /// Nobody knows what others have.
    Unseen(InspectError),
    /// Others have this number of partitions.
    OtherCount(u32),
}

impl From<AcquireError> for NotJoined {
    fn from(error: AcquireError) -> Self {
        Self::Refused(error)
    }
}

/// Waits for all leases. Of two processes with other numbers of partitions that come at a time one at least sees the other, because
/// each looks when it holds the lease of its number.
pub(super) async fn join(
    locks: Addr<LockManager>,
    [counted, named, announced]: [ReadLock; 3],
    partitions: u32,
) -> Result<Membership, NotJoined> {
    let unanswered = |error| AcquireError::from(StoreError::unanswered("join", error));
    let counted = Arc::new(locks.send(counted).await.map_err(unanswered)??);
    let counts = inspect(&locks, counted.resource(), TOLD_AT_MOST).await.map_err(NotJoined::Unseen)?;
    let other = other_count(&counts, partitions);
    if let Some(other) = other.filter(|_| !planted!("members with other numbers of partitions agree")) {
        return Err(NotJoined::OtherCount(other));
    }
    let named = locks.send(named).await.map_err(unanswered)??;
    Ok(Membership { announced: locks.send(announced).await.map_err(unanswered)??, named, counted })
}
