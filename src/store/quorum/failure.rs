//! Why a node of a quorum has no say.

use crate::store::{Certainty, StoreError};

/// A node of a quorum that has no say, and why.
#[derive(Clone, Debug)]
pub struct NodeFailure {
    /// Its name.
    pub node: String,
    /// What went wrong there.
    pub error: StoreError,
}

impl NodeFailure {
    /// All of them in one text, which follows what they are the reason of.
    pub(in crate::store) fn list(failures: &[Self]) -> String {
        failures.iter().map(|Self { node, error }| format!("; {node}: {error}")).collect()
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.error.certainty() == Certainty::Unknown
    }
}
