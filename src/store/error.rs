//! The errors of a store, and the certainty that each leaves to the caller.

use std::{error::Error, sync::Arc, time::Duration};

use crate::core::{Mode, ResourceName, readable_debug, rough};

/// The certainty that a failed verb was not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// The verb was certainly not executed, and will not be.
    NotExecuted,
    /// The verb may have been executed, or may be executed later. Release the token, or repeat the verb.
    Unknown,
}

/// The underlying error.
pub(crate) type Source = Arc<dyn Error + Send + Sync>;

/// A verb that has no certain answer, or that can never be granted.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No answer arrived in time. The verb may be executed, now or later.
    #[error("{} did not answer within {}; the outcome is unknown", server.as_deref().unwrap_or("the store"), rough(*within))]
    TimedOut {
        /// The time that was waited for the answer.
        within: Duration,
        /// The address of the server that was asked, if a server was asked.
        server: Option<Arc<str>>,
    },
    /// The connection broke, or the answer made no sense, after the request was sent. The verb may have been executed.
    #[error("the store's answer was lost ({doing}); the outcome is unknown")]
    ReplyLost {
        /// The step during which the answer was lost.
        doing: String,
        /// The underlying error, if one is known.
        #[source]
        source: Option<Source>,
    },
    /// The store could not be reached, or reported that it cannot serve at the moment. Nothing was executed. A retry may
    /// succeed.
    #[error("the store is not available: {reason}")]
    Unavailable {
        /// The message of the store or of the network.
        reason: String,
        /// The underlying error.
        #[source]
        source: Option<Source>,
    },
    /// The store has no memory left for a new holder. Nothing was executed. Renewals and releases still work.
    #[error("the store is full: {reason}")]
    OutOfMemory {
        /// The message of the store.
        reason: String,
    },
    /// The store refuses this client because of a wrong password, missing rights or a wrong certificate. Nothing was
    /// executed, and nothing will be executed until the configuration changes.
    #[error("the store denies access: {reason}")]
    Denied {
        /// The message of the store, without any password.
        reason: String,
    },
    /// The server is of another kind than the URL says, or does not have the database that the URL names, or a command
    /// that is needed. Nothing was executed, and nothing will be executed until the configuration changes.
    #[error("store.url does not fit the server: {reason}")]
    Misconfigured {
        /// The mismatch, and the setting to use instead.
        reason: String,
    },
    /// The resource is in use in another mode: shared, and permits are asked for, or the other way. Or more permits are asked for
    /// than [`SetCapacity`](crate::SetCapacity) has set, and `used` are all of these. Nothing was executed.
    #[error("asked for {asked}, but {}", mismatch(*asked, *used))]
    ModeMismatch {
        /// The requested mode.
        asked: Mode,
        /// The mode of one of the holders, or all permits that are set.
        used: Mode,
    },
    /// The owner would wait for itself: it holds the resource in a mode that conflicts with the requested one. Nothing
    /// was executed.
    #[error(
        "asked for {asked}, but the same owner holds it as {held} and would wait for itself; release that first"
    )]
    Deadlock {
        /// The requested mode.
        asked: Mode,
        /// The mode in which the owner holds the resource.
        held: Mode,
    },
    /// The store does not support the request, whatever its state. Nothing was sent.
    #[error("this store has no {asked}: {reason}")]
    Unsupported {
        /// The requested feature.
        asked: String,
        /// The reason why the store does not support it, and the alternative.
        reason: String,
    },
    /// Too few nodes of a quorum have a vote. Holds that some of them granted are released, as far as the nodes can be
    /// reached.
    #[error("no majority: {needed} of {of} nodes are needed{}", NodeFailure::list(failures))]
    NoQuorum {
        /// The number of nodes that make a majority.
        needed: usize,
        /// The number of nodes.
        of: usize,
        /// The nodes that have no vote, each with its reason.
        failures: Vec<NodeFailure>,
        /// The certainty that the verb was not executed on a majority.
        certainty: Certainty,
    },
    /// Fewer replicas than requested confirmed in time what the master did. An acquisition that is `undone` holds
    /// nothing. A renewal is never undone: the lease is valid until its previous end.
    #[error("only {reached} of {wanted} replicas confirmed it in time{}", if *undone { ", so it was released" } else { "" })]
    Unacknowledged {
        /// The number of replicas that must confirm.
        wanted: u32,
        /// The number of replicas that confirmed.
        reached: u32,
        /// True if the change on the master was certainly undone.
        undone: bool,
        /// The error that the master returned in place of a number, if it did.
        #[source]
        source: Option<Source>,
    },
    /// Others changed the same value each time before this change could be written. Nothing was changed. A retry may succeed.
    #[error("conflict: {reason}; nothing was changed")]
    Conflict {
        /// A description of what was to be changed.
        reason: String,
    },
    /// The value in the store under this name was not written by this library, or was damaged since.
    #[error("the store holds something foreign: {reason}; use another prefix, or remove it")]
    Corrupt {
        /// The resource if it is known, and a description of the foreign value.
        reason: String,
        /// The certainty that the verb was not executed. It is unknown where the store came upon the value half-way, or where
        /// its answer to what it did cannot be read.
        certainty: Certainty,
    },
}

impl StoreError {
    /// Creates the error of a store that cannot be reached, or cannot serve now. Nothing was executed.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), source: None }
    }

    /// Creates the error of a verb whose answer was lost, or made no sense, during this step. The outcome is unknown.
    pub fn reply_lost(doing: impl Into<String>) -> Self {
        Self::ReplyLost { doing: doing.into(), source: None }
    }

    /// Creates the error of a message that the lock manager did not answer. The outcome is unknown.
    pub(crate) fn unanswered(verb: &str, error: impl std::error::Error + Send + Sync + 'static) -> Self {
        let doing = format!("{verb}: the lock manager gave no answer");
        Self::ReplyLost { doing, source: Some(Arc::new(error)) }
    }

    /// Creates the error of a verb that nobody answered within this time. The outcome is unknown.
    pub const fn timed_out(within: Duration) -> Self {
        Self::TimedOut { within, server: None }
    }

    /// Creates the error of a request for a feature that the store does not have. Nothing was sent.
    pub fn unsupported(asked: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported { asked: asked.into(), reason: reason.into() }
    }

    /// Creates the error of a value that this library has not written. Nothing was executed.
    pub(crate) fn corrupt(reason: impl Into<String>) -> Self {
        Self::Corrupt { reason: reason.into(), certainty: Certainty::NotExecuted }
    }

    /// Returns the same error, with an unknown outcome if a foreign value was the reason.
    pub(crate) fn perhaps_executed(mut self) -> Self {
        if let Self::Corrupt { certainty, .. } = &mut self {
            *certainty = Certainty::Unknown;
        }
        self
    }

    /// Returns the same error, with the name of the resource whose value is foreign.
    pub(crate) fn about(mut self, resource: &ResourceName) -> Self {
        if let Self::Corrupt { reason, .. } = &mut self {
            *reason = format!("{resource}: {reason}");
        }
        self
    }

    /// Returns the certainty that the verb was not executed.
    pub const fn certainty(&self) -> Certainty {
        self.nature().1
    }

    /// Returns true if the same verb may succeed later without any intervention.
    pub const fn is_transient(&self) -> bool {
        self.nature().2
    }

    /// Returns true if the server, or the way to it, has failed, and not the request alone.
    pub(crate) const fn is_of_the_server(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::ReplyLost { .. } | Self::Unavailable { .. })
    }

    /// Returns a short name for counters and logs.
    pub const fn kind(&self) -> &'static str {
        self.nature().0
    }

    /// Returns [`kind`](Self::kind), [`certainty`](Self::certainty) and [`is_transient`](Self::is_transient).
    const fn nature(&self) -> (&'static str, Certainty, bool) {
        use Certainty::{NotExecuted, Unknown};
        match self {
            Self::TimedOut { .. } => ("timed_out", Unknown, true),
            Self::ReplyLost { .. } => ("reply_lost", Unknown, true),
            Self::Unavailable { .. } => ("unavailable", NotExecuted, true),
            Self::OutOfMemory { .. } => ("out_of_memory", NotExecuted, true),
            Self::Denied { .. } => ("denied", NotExecuted, false),
            Self::Misconfigured { .. } => ("misconfigured", NotExecuted, false),
            Self::ModeMismatch { .. } => ("mode_mismatch", NotExecuted, false),
            Self::Deadlock { .. } => ("deadlock", NotExecuted, false),
            Self::Unsupported { .. } => ("unsupported", NotExecuted, false),
            Self::NoQuorum { certainty, .. } => ("no_quorum", *certainty, true),
            Self::Unacknowledged { undone: false, .. } => ("unacknowledged", Unknown, true),
            Self::Unacknowledged { undone: true, .. } => ("unacknowledged", NotExecuted, true),
            Self::Conflict { .. } => ("conflict", NotExecuted, true),
            Self::Corrupt { certainty, .. } => ("corrupt", *certainty, false),
        }
    }
}

readable_debug!(StoreError);

fn mismatch(asked: Mode, used: Mode) -> String {
    match (asked, used) {
        (Mode::Permits { .. }, Mode::Permits { of, .. }) => format!("the capacity is set to {of}"),
        _ => format!("the resource is in use as {used}; these do not mix, so name it differently"),
    }
}

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
    fn list(failures: &[Self]) -> String {
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

    /// Returns true if the node may have executed the verb.
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
