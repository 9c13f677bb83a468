//! The membership of a process: the leases by which others know of it, and the names of all that a fleet shares.

use std::future::Future;

use actix::Addr;

use super::{Member, member::PARTITIONS};
use crate::{
    core::{InvalidValue, LossReason, ResourceName},
    leading::election::Candidacy,
    lease::Lease,
    listeners::Class,
    manager::LockManager,
    request::{AcquireError, ReadLock},
    store::StoreError,
};

/// The names of the resources of a fleet.
#[derive(Clone, Debug)]
pub(super) struct Names {
    fleet: ResourceName,
    pub(super) members: ResourceName,
    member: ResourceName,
    own: String,
}

impl Names {
    pub(super) fn new(fleet: ResourceName, own: &Member) -> Result<Self, InvalidValue> {
        let (members, member) = (below(&fleet, "members")?, below(&fleet, &format!("members/{}", own.name))?);
        Ok(Self { fleet, members, own: own.name.clone(), member })
    }

    /// Returns the name of the member itself.
    pub(super) fn own(&self) -> &str {
        &self.own
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
        candidacy.stands = true;
        candidacy.pauses.reset();
        candidacy
    }

    /// Returns the requests for the leases of a member: that of its name, and that of all.
    pub(super) fn requests(&self, member: &Member, partitions: u32, like: &Candidacy) -> [ReadLock; 2] {
        [&self.member, &self.members].map(|name| {
            let mut request =
                member.tell(ReadLock::new(name.as_bytes()), "member").wait_forever().attempts(u32::MAX);
            request.options.ttl = like.request.options.ttl;
            request.options.renew_every = like.request.options.renew_every;
            request.metadata(PARTITIONS, partitions.to_string())
        })
    }
}

/// Returns a name below that of a fleet.
pub(super) fn below(fleet: &ResourceName, rest: &str) -> Result<ResourceName, InvalidValue> {
    ResourceName::new([fleet.as_bytes(), b"/", rest.as_bytes()].concat())
}

/// A membership that was granted. Dropping it releases both leases.
pub(super) struct Membership {
    /// Shared by all members, so that one look shows all of them.
    announced: Lease,
    /// Shared by those of one name. Whoever wants it back asks the member to leave.
    pub(super) named: Lease,
}

/// The end of a membership.
pub(super) enum End {
    Lost(LossReason),
    WantedBack,
}

impl Membership {
    /// Waits until it is lost, or somebody asks the member to leave.
    pub(super) fn end(&self) -> impl Future<Output = End> + use<> {
        let (announced, named, wanted_back) =
            (self.announced.lost(), self.named.lost(), self.named.revoke_requested());
        async move {
            tokio::select! {
                biased;
                Some(_) = wanted_back => End::WantedBack,
                reason = announced => End::Lost(reason),
                reason = named => End::Lost(reason),
            }
        }
    }
}

/// Waits for both leases.
pub(super) async fn join(
    locks: Addr<LockManager>,
    [named, announced]: [ReadLock; 2],
) -> Result<Membership, AcquireError> {
    let acquire = async |request| {
        let answer = locks.send(request).await;
        answer.unwrap_or_else(|error| Err(StoreError::unanswered("join", error).into()))
    };
    let named = acquire(named).await?;
    Ok(Membership { announced: acquire(announced).await?, named })
}
