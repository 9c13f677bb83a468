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
    /// Formats all failures as one text, which is appended to the error that they caused. What several nodes say alike is said
    /// once.
    pub(in crate::store) fn list(failures: &[Self]) -> String {
        let mut said: Vec<(String, String)> = Vec::new();
        for Self { node, error } in failures {
            let error = error.to_string();
            match said.iter_mut().find(|(_, known)| *known == error) {
                Some((nodes, _)) => *nodes += &format!(", {node}"),
                None => said.push((node.clone(), error)),
            }
        }
        said.iter().map(|(nodes, error)| format!("; {nodes}: {error}")).collect()
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.error.certainty() == Certainty::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_nodes_say_alike_is_said_once() {
        let failure = |node: &str, reason: &str| NodeFailure {
            node: node.to_owned(),
            error: StoreError::unavailable(reason),
        };
        let failures = [failure("a", "young"), failure("b", "full"), failure("c", "young")];
        assert_eq!(
            NodeFailure::list(&failures),
            "; a, c: the store is not available: young; b: the store is not available: full"
        );
    }
}
