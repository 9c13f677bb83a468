//! A member of a fleet: a process that owns partitions, as it tells others about itself.

use std::collections::BTreeMap;

use crate::{
    core::{InvalidValue, ensure},
    request::{Request, options::ROLE},
    store::{Holder, HolderState, Inspection},
};

/// The keys of the metadata of its leases.
const MEMBER: &str = "member";
const ENDPOINT: &str = "endpoint";
pub(super) const PARTITIONS: &str = "partitions";

/// The largest number of partitions. With it and 400 members, a change of members takes each of them a tenth of a second.
pub(super) const PARTITIONS_AT_MOST: u32 = 4_096;

/// A process that owns partitions: its name, and where it is reached.
///
/// The name decides which partitions it has. With one that stays when the process starts again, that of its host for instance,
/// it has the same ones again. Processes of one name have one share of the partitions between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Member {
    /// The name.
    pub name: String,
    /// Where it is reached, if it told: a URL for instance.
    pub endpoint: Option<String>,
}

impl Member {
    /// Creates a member of this name: 1 to 128 bytes, printable, without a slash.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), endpoint: None }
    }

    /// Sets where the member is reached, as others are told: at most 256 bytes. Default: nothing.
    pub fn at(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        let name = &self.name;
        let is_printable = !name.chars().any(|letter| letter.is_control() || letter == '/');
        let is_name = (1..=128).contains(&name.len()) && is_printable;
        ensure(is_name, "member.name", name.escape_debug(), "1 to 128 bytes, printable, without a slash")?;
        let endpoint = self.endpoint.as_deref().unwrap_or_default();
        ensure(endpoint.len() <= 256, "member.endpoint", endpoint.escape_debug(), "at most 256 bytes")
    }

    /// Adds what others are told of the member to a request.
    pub(super) fn tell<Kind>(&self, request: Request<Kind>, role: &str) -> Request<Kind> {
        let told = request.metadata(ROLE, role).metadata(MEMBER, &self.name);
        match &self.endpoint {
            Some(endpoint) => told.metadata(ENDPOINT, endpoint),
            None => told,
        }
    }

    /// Returns the member that holds a lease now, if a member does.
    pub(super) fn of(holder: &Holder) -> Option<Self> {
        let of = |metadata: &BTreeMap<String, String>| {
            Some(Self { name: metadata.get(MEMBER)?.clone(), endpoint: metadata.get(ENDPOINT).cloned() })
        };
        (holder.state == HolderState::Holding).then(|| of(&holder.metadata)).flatten()
    }
}

impl From<&str> for Member {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// Returns all members that have announced themselves, in the order of their names, each once.
pub(super) fn announced(inspection: &Inspection) -> Vec<Member> {
    let mut members: Vec<_> = inspection.holders.iter().filter_map(Member::of).collect();
    members.sort_unstable();
    members.dedup_by(|later, first| later.name == first.name);
    members
}

/// Returns the number of partitions that a member has told, if it is not this one.
pub(super) fn other_count(inspection: &Inspection, partitions: u32) -> Option<u32> {
    counts(inspection).find(|count| *count != partitions)
}

/// Returns the number of partitions that a member has told.
pub(super) fn count_of(inspection: &Inspection) -> Option<u32> {
    counts(inspection).find(|count| (1..=PARTITIONS_AT_MOST).contains(count))
}

/// Returns what the members have told. What is no number is as good as zero, which no other member has.
fn counts(inspection: &Inspection) -> impl Iterator<Item = u32> {
    let told = |holder: &Holder| Member::of(holder).and(holder.metadata.get(PARTITIONS).cloned());
    inspection.holders.iter().filter_map(told).map(|count| count.parse().unwrap_or_default())
}
