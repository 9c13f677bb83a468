//! The ballot of a node on an acquisition, and the condition under which its grant counts.

use std::sync::Arc;

use super::shared::{CallInFlight, Quorum};
use crate::{
    core::{Fence, Recovered, abstains_for},
    store::{Acquired, AcquiredFrom, Acquisition, Certainty, Grant, Refusal, StoreError},
};

/// The ballot of a node on an acquisition.
pub(super) enum Ballot {
    /// Its answer counts: a grant is a vote for the request, any other answer is one against it.
    Counts(Acquired),
    /// It granted, but may have forgotten a lease or a fence that speaks against the grant, which does not count, for this reason.
    Abstains(StoreError),
    /// It refused because waiting would not help.
    Never(StoreError),
    Failed(StoreError),
}

impl Ballot {
    /// Returns its vote for or against the request; `None` if it has none.
    pub(super) fn vote(&self) -> Option<bool> {
        match self {
            Self::Counts(Acquired::Granted(_)) => Some(true),
            Self::Counts(_) | Self::Never(_) => Some(false),
            Self::Abstains(_) | Self::Failed(_) => None,
        }
    }

    /// Returns the reason why it has no vote.
    pub(super) fn failure(&self) -> Option<&StoreError> {
        match self {
            Self::Abstains(error) | Self::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Returns its vote for the request.
    pub(super) fn grant(&self) -> Option<Grant> {
        match self {
            Self::Counts(Acquired::Granted(grant)) => Some(*grant),
            _ => None,
        }
    }

    /// Returns the fence of its vote for the request.
    pub(super) fn fence(&self) -> Option<Fence> {
        self.grant()?.fence
    }

    /// Returns true if the token may hold there.
    pub(super) fn may_hold(&self) -> bool {
        match self {
            Self::Counts(Acquired::Granted(_)) | Self::Abstains(_) => true,
            Self::Counts(_) | Self::Never(_) => false,
            Self::Failed(error) => error.certainty() == Certainty::Unknown,
        }
    }

    /// Returns true if there may be a hold or a queue ticket of the token there.
    pub(super) fn may_leave_something(&self) -> bool {
        let kept = planted!("a place is kept on a node that answers late");
        self.may_hold() || matches!(self, Self::Counts(Acquired::Queued { .. })) && !kept
    }

    /// Returns the refusal, if the node named a holder that is in the way.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Counts(Acquired::Refused(refusal) | Acquired::Queued { refusal, .. }) => Some(refusal),
            _ => None,
        }
    }
}

/// The knowledge that a node certainly has not forgotten: all leases that may be valid, and with a record the fences that it
/// was taught. Without one that is enough where there are no fences.
type Memory = Option<Recovered>;

fn covers(memory: &Memory, grant: &Grant) -> bool {
    match memory {
        Some(recovered) => recovered.covers(grant.fence),
        None => planted!("a node that forgot fences votes") || grant.fence.is_none(),
    }
}

impl Quorum {
    /// Requests all of these of a node, with fences from `first` on. Also returns its clock at the vote.
    pub(super) async fn ballots(
        &self,
        node: usize,
        asked: &[Arc<Acquisition>],
        first: Fence,
    ) -> (Vec<Ballot>, Option<Fence>) {
        if asked.is_empty() {
            return (Vec::new(), None);
        }
        match self.admit(node) {
            Ok(in_flight) => {
                let answers = self.store(node).acquire_each_from(asked, first).await;
                self.ballots_of(node, in_flight, asked.len(), answers).await
            }
            Err(error) => (asked.iter().map(|_| Ballot::Failed(error.clone())).collect(), None),
        }
    }

    /// Returns the ballots that are in the answers of a node to `count` requests, and its clock. Grants count only if it has
    /// recovered, which is checked *afterwards*, because any restart that matters happened before the vote.
    pub(super) async fn ballots_of(
        &self,
        node: usize,
        in_flight: CallInFlight<'_>,
        count: usize,
        AcquiredFrom { answers, clock, recovered }: AcquiredFrom,
    ) -> (Vec<Ballot>, Option<Fence>) {
        let answers = in_flight.ended(count, answers);
        let granted = |answer: &Result<Acquired, _>| matches!(answer, Ok(Acquired::Granted(_)));
        let memory = match answers.iter().any(granted) {
            true => self.memory(node, recovered).await,
            false => Ok(None),
        };
        self.meet(node);
        (answers.into_iter().map(|answer| ballot(answer, &memory)).collect(), clock)
    }

    /// Returns the knowledge that the node has certainly not forgotten; an error if it may have forgotten anything.
    async fn memory(&self, node: usize, recovered: Option<Recovered>) -> Result<Memory, StoreError> {
        let incarnation = self.store(node).incarnation().await?;
        let is_first = self.books(|books| books.nodes[node].is_first(&incarnation));
        let recovered = recovered.filter(|recovered| incarnation.has_recovered(Some(recovered)));
        if recovered.is_some() || self.options.fresh_start && is_first {
            return Ok(recovered);
        }
        let now = self.now();
        let age = self.books(|books| books.nodes[node].aged(incarnation, now).age);
        let left = abstains_for(age, self.options.max_ttl);
        match left.is_zero() {
            true => Ok(None),
            false => Err(StoreError::unavailable(format!(
                "known for {age:.0?}, it may have forgotten leases and does not vote for another {left:.0?}"
            ))),
        }
    }
}

fn ballot(answer: Result<Acquired, StoreError>, memory: &Result<Memory, StoreError>) -> Ballot {
    match (answer, memory) {
        (Ok(Acquired::Granted(_)), Err(reason)) => Ballot::Abstains(reason.clone()),
        (Ok(Acquired::Granted(grant)), Ok(memory)) if !covers(memory, &grant) => {
            Ballot::Abstains(StoreError::unavailable(
                "it may have forgotten fences, and votes when it was taught them: by a majority that has not, or when all \
                 nodes answer",
            ))
        }
        (Ok(acquired), _) => Ballot::Counts(acquired),
        (Err(error @ (StoreError::Deadlock { .. } | StoreError::ModeMismatch { .. })), _) => {
            Ballot::Never(error)
        }
        (Err(error), _) => Ballot::Failed(error),
    }
}
