//! Loads that differ from what a workload says, to see what it costs to be wrong about it.

use crate::laboratory::{profile::ServerProfile, workload::Workload};

/// A load: the workload as it is, or otherwise than it was thought to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TriedLoad {
    AsItIs,
    MoreRequests,
    LongerHolds,
    SlowerServer,
}

impl TriedLoad {
    /// All that differ from the workload, with their names.
    pub(super) const OTHERS: [(Self, &'static str); 3] = [
        (Self::MoreRequests, "25 % more requests"),
        (Self::LongerHolds, "holds 50 % longer"),
        (Self::SlowerServer, "server and network half as fast"),
    ];

    /// Returns the workload with this load; `None` if there is no such workload.
    pub(super) fn apply(self, workload: &Workload) -> Option<Workload> {
        match self {
            Self::AsItIs | Self::SlowerServer => Some(workload.clone()),
            Self::MoreRequests => workload.scaled(1.25, 1.0).ok(),
            Self::LongerHolds => workload.scaled(1.0, 1.5).ok(),
        }
    }

    /// Returns the profile with this load.
    pub(super) fn profile(self, profile: &ServerProfile) -> ServerProfile {
        match self {
            Self::SlowerServer => profile.slower(2.0),
            _ => profile.clone(),
        }
    }
}
