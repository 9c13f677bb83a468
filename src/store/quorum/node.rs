//! One node of a quorum: a store, and the state that tells if it may vote.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    core::{Fence, abstains_for},
    runtime::env::Clock,
    store::{
        Acquired, AcquiredFrom, Acquisition, Grant, Incarnation, QuorumNode, Recovered, Refusal, StoreError,
        quorum::{
            NodeFailure, QuorumOptions,
            circuit_breaker::{CallInFlight, CircuitBreaker},
            sightings::Sighting,
        },
    },
};

pub(super) struct Node {
    pub(super) name: String,
    pub(super) store: Arc<dyn QuorumNode>,
    /// The first incarnation that was met.
    first: OnceLock<String>,
    /// Set once a call to the node has ended, with or without success.
    met: AtomicBool,
    breaker: CircuitBreaker,
    /// The age of its incarnation, by what was observed.
    pub(super) sighting: Sighting,
}

/// The ballot of a node on an acquisition.
pub(super) enum Ballot {
    Yes(Grant),
    /// It granted, but may have forgotten a lease or a fence that speaks against the grant. The grant does not count, for
    /// this reason.
    Abstains(StoreError),
    No(Refusal),
    /// It keeps a queue ticket.
    Queued {
        /// A holder that is in the way.
        refusal: Refusal,
        /// The number of waiters ahead there.
        ahead: u64,
    },
    /// It refused, because this many wait there.
    Full(u64),
    /// It refused because waiting would not help.
    Never(StoreError),
    Failed(StoreError),
}

impl Ballot {
    /// Returns its vote for the request.
    pub(super) fn grant(&self) -> Option<Grant> {
        match self {
            Self::Yes(grant) => Some(*grant),
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
            Self::Yes(_) | Self::Abstains(_) => true,
            Self::No(_) | Self::Queued { .. } | Self::Full(_) | Self::Never(_) => false,
            Self::Failed(error) => error.certainty() == crate::store::Certainty::Unknown,
        }
    }

    /// Returns true if there may be a hold or a queue ticket of the token there.
    pub(super) fn may_leave_something(&self) -> bool {
        let kept = planted!("a place is kept on a node that answers late");
        self.may_hold() || matches!(self, Self::Queued { .. }) && !kept
    }

    /// Returns the refusal, if the node named a holder that is in the way.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::No(refusal) | Self::Queued { refusal, .. } => Some(refusal),
            _ => None,
        }
    }
}

impl Node {
    pub(super) fn new(name: String, store: Arc<dyn QuorumNode>) -> Self {
        Self {
            name,
            store,
            first: OnceLock::new(),
            met: AtomicBool::new(false),
            breaker: CircuitBreaker::default(),
            sighting: Sighting::default(),
        }
    }

    pub(super) fn failure(&self, error: StoreError) -> NodeFailure {
        NodeFailure { node: self.name.clone(), error }
    }

    /// Returns true if no call to it has ended yet. It may have to be connected first, which takes longer than an answer.
    pub(super) fn is_new(&self) -> bool {
        !self.met.load(Ordering::Relaxed)
    }

    fn meet(&self) {
        self.met.store(true, Ordering::Relaxed);
    }

    /// Makes a call of `count` questions, unless the node's circuit breaker refuses it.
    pub(super) async fn ask<T>(
        &self,
        count: usize,
        options: &QuorumOptions,
        call: impl Future<Output = Vec<Result<T, StoreError>>>,
    ) -> Vec<Result<T, StoreError>> {
        let in_flight = match self.admit(options) {
            Ok(in_flight) => in_flight,
            Err(error) => return (0..count).map(|_| Err(error.clone())).collect(),
        };
        let answers = counted(count, call.await);
        in_flight.ended(&answers);
        self.meet();
        answers
    }

    /// Makes a call of `count` questions whatever the state of the node's circuit breaker.
    pub(super) async fn insist<T>(
        &self,
        count: usize,
        call: impl Future<Output = Vec<Result<T, StoreError>>>,
    ) -> Vec<Result<T, StoreError>> {
        let in_flight = self.breaker.watch();
        let answers = counted(count, call.await);
        in_flight.ended(&answers);
        self.meet();
        answers
    }

    fn admit(&self, options: &QuorumOptions) -> Result<CallInFlight<'_>, StoreError> {
        let silence = options.silence();
        self.breaker.admit(if self.is_new() { silence.max(options.connect_timeout) } else { silence })
    }

    /// Requests all of these, with fences from `first` on. Grants count only if the node has recovered. That is
    /// checked *afterwards*, because any restart that matters happened before the vote. Also returns the clock of the
    /// node at the vote.
    pub(super) async fn vote(
        &self,
        asked: &[Arc<Acquisition>],
        first: Fence,
        options: &QuorumOptions,
        own: &dyn Clock,
    ) -> (Vec<Ballot>, Option<Fence>) {
        let in_flight = match self.admit(options) {
            Ok(in_flight) => in_flight,
            Err(error) => return (asked.iter().map(|_| Ballot::Failed(error.clone())).collect(), None),
        };
        let AcquiredFrom { answers, clock, recovered } = self.store.acquire_each_from(asked, first).await;
        let answers = counted(asked.len(), answers);
        in_flight.ended(&answers);
        let granted = |answer: &Result<Acquired, _>| matches!(answer, Ok(Acquired::Granted(_)));
        let memory = match answers.iter().any(granted) {
            true => self.memory(recovered, options, own).await,
            false => Ok(Memory::Leases),
        };
        self.meet();
        (answers.into_iter().map(|answer| ballot(answer, &memory)).collect(), clock)
    }

    /// Returns true if this is the first incarnation that was met.
    pub(super) fn is_first(&self, incarnation: &Incarnation) -> bool {
        *self.first.get_or_init(|| incarnation.id.clone()) == incarnation.id
    }

    /// Returns what the node certainly has not forgotten; an error if it may have forgotten anything.
    async fn memory(
        &self,
        recovered: Option<Recovered>,
        options: &QuorumOptions,
        clock: &dyn Clock,
    ) -> Result<Memory, StoreError> {
        let incarnation = self.store.incarnation().await?;
        let is_first = self.is_first(&incarnation);
        match recovered.filter(|recovered| incarnation.has_recovered(Some(recovered))) {
            Some(recovered) => Ok(Memory::Fences(recovered)),
            None if options.fresh_start && is_first => Ok(Memory::Leases),
            None => {
                old_enough(&self.sighting.aged(incarnation, clock.now()), options).map(|()| Memory::Leases)
            }
        }
    }
}

/// The knowledge that a node shares with the others.
enum Memory {
    /// All leases that may be valid, and the fences that it was taught.
    Fences(Recovered),
    /// All leases that may be valid, which is enough where there are no fences.
    Leases,
}

impl Memory {
    fn covers(&self, grant: &Grant) -> bool {
        match self {
            Self::Fences(recovered) => recovered.covers(grant.fence),
            Self::Leases => planted!("a node that forgot fences votes") || grant.fence.is_none(),
        }
    }
}

fn ballot(answer: Result<Acquired, StoreError>, memory: &Result<Memory, StoreError>) -> Ballot {
    match (answer, memory) {
        (Ok(Acquired::Granted(_)), Err(reason)) => Ballot::Abstains(reason.clone()),
        (Ok(Acquired::Granted(grant)), Ok(memory)) if memory.covers(&grant) => Ballot::Yes(grant),
        (Ok(Acquired::Granted(_)), Ok(_)) => Ballot::Abstains(forgetful()),
        (Ok(Acquired::Refused(refusal)), _) => Ballot::No(refusal),
        (Ok(Acquired::Queued { refusal, ahead }), _) => Ballot::Queued { refusal, ahead },
        (Ok(Acquired::Full { waiters }), _) => Ballot::Full(waiters),
        (Err(error @ (StoreError::Deadlock { .. } | StoreError::ModeMismatch { .. })), _) => {
            Ballot::Never(error)
        }
        (Err(error), _) => Ballot::Failed(error),
    }
}

fn old_enough(incarnation: &Incarnation, options: &QuorumOptions) -> Result<(), StoreError> {
    let left = abstains_for(incarnation.age, options.max_ttl);
    if left.is_zero() {
        return Ok(());
    }
    let age = incarnation.age;
    let reason =
        format!("known for {age:.0?}, it may have forgotten leases and does not vote for another {left:.0?}");
    Err(StoreError::unavailable(reason))
}

fn forgetful() -> StoreError {
    let reason = "it may have forgotten fences, and votes when it was taught them: by a majority that has not, or when all \
                  nodes answer";
    StoreError::unavailable(reason)
}

/// Returns the answers if there are as many as there were questions, otherwise lost answers.
fn counted<T>(count: usize, answers: Vec<Result<T, StoreError>>) -> Vec<Result<T, StoreError>> {
    if answers.len() == count {
        return answers;
    }
    let doing = format!("{} answers to {count} questions", answers.len());
    (0..count).map(|_| Err(StoreError::reply_lost(doing.clone()))).collect()
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
