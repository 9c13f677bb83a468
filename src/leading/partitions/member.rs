//! A member of a fleet: a process that owns partitions, as it tells others about itself.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

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
        // The resource of a member of this name would look like that of another fleet.
        let is_name = (1..=128).contains(&name.len()) && is_printable && name != "members";
        let allowed = "1 to 128 bytes, printable, without a slash, and not members";
        ensure(is_name, "member.name", name.escape_debug(), allowed)?;
        let endpoint = self.endpoint.as_deref().unwrap_or_default();
        ensure(endpoint.len() <= 256, "member.endpoint", endpoint.escape_debug(), "at most 256 bytes")
    }

    /// Returns a number in `0.0..1.0` that is another one for each member, and for each turn.
    pub(super) fn spread(&self, turn: u64) -> f64 {
        f64::from(xxh3_64_with_seed(self.name.as_bytes(), turn) as u32) / (f64::from(u32::MAX) + 1.0)
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

/// Returns the members with this number of partitions that have announced themselves, in the order of their names, each once.
pub(super) fn announced(inspection: &Inspection, partitions: u32) -> Vec<Member> {
    let holders = inspection.holders.iter().filter(|holder| count_of(holder) == Some(partitions));
    let mut members: Vec<_> = holders.filter_map(Member::of).collect();
    members.sort_unstable();
    members.dedup_by(|later, first| later.name == first.name);
    members
}

/// Returns a number of partitions that a holder tells, if it is not this one.
pub(super) fn other_count(inspection: &Inspection, partitions: u32) -> Option<u32> {
    inspection.holders.iter().filter_map(count_of).find(|count| *count != partitions)
}

/// Returns the number of partitions that most holders tell.
pub(super) fn count_of_most(inspection: &Inspection) -> Option<u32> {
    let counts = || inspection.holders.iter().filter_map(count_of);
    let known = counts().filter(|count| (1..=PARTITIONS_AT_MOST).contains(count));
    known.max_by_key(|count| counts().filter(|other| other == count).count())
}

/// Returns the number of partitions that a holder tells. What is no number is as good as zero, which no member has.
fn count_of(holder: &Holder) -> Option<u32> {
    let told = Member::of(holder).and(holder.metadata.get(PARTITIONS))?;
    Some(told.parse().unwrap_or_default())
}
