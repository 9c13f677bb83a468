//! A member, and which partitions are its share.

use std::sync::LazyLock;

use leasehold::{partitions::Member, rules::shares};

use super::{MEMBERS, PARTITIONS, Set};

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) stage: Stage,
    pub(super) is_frozen: bool,
    /// The members that it saw last.
    pub(super) view: Set,
    /// The partitions that it stands for.
    pub(super) stands: Set,
    /// The partitions whose actors run.
    pub(super) acts: Set,
}

#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Out,
    In,
    Leaving,
    /// It has lost its leases, and joins again.
    Lost,
    Dead,
}

pub(super) const fn has(set: Set, number: usize) -> bool {
    set & 1 << number != 0
}

/// The list by which each partition is the share of each member: `SHARES[member][partition]` has the lists, by their sets.
static SHARES: LazyLock<[[[bool; 1 << MEMBERS]; PARTITIONS]; MEMBERS]> = LazyLock::new(|| {
    let mut all = [[[false; 1 << MEMBERS]; PARTITIONS]; MEMBERS];
    for list in 0..1 << MEMBERS {
        let listed: Vec<usize> = (0..MEMBERS).filter(|member| has(list, *member)).collect();
        let members: Vec<_> = listed.iter().map(|member| Member::new(format!("host-{member}"))).collect();
        for (partition, place) in shares(&members, PARTITIONS as u32).into_iter().enumerate() {
            if let Some(member) = listed.get(place) {
                all[*member][partition][usize::from(list)] = true;
            }
        }
    }
    all
});

/// Returns true if a partition is the share of a member, by a list.
pub(super) fn is_share(list: Set, member: usize, partition: usize) -> bool {
    SHARES[member][partition][usize::from(list)]
}

impl Process {
    pub(super) const fn lives(&self) -> bool {
        !self.is_frozen && !matches!(self.stage, Stage::Dead)
    }

    pub(super) fn wants(&self, number: usize, partition: usize) -> bool {
        self.stage == Stage::In && is_share(self.view, number, partition)
    }
}
