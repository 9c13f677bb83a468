//! The failures of the nodes of a quorum.

use crate::store::{Certainty, StoreError};

/// A node of a quorum that has no vote, and the reason.
#[derive(Clone, Debug)]
pub struct NodeFailure {
    /// The name of the node.
    pub node: String,
    /// The error of the node.
    pub error: StoreError,
}

impl NodeFailure {
    /// Formats all failures as one text, which is appended to the error that they caused.
    pub(in crate::store) fn list(failures: &[Self]) -> String {
        failures.iter().map(|Self { node, error }| format!("; {node}: {error}")).collect()
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.error.certainty() == Certainty::Unknown
    }
}
