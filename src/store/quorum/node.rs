//! One node of a quorum: a store, and whether it may vote.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    NodeFailure, QuorumOptions,
    health::{Health, UnderWay},
};
use crate::{
    protocol::{Fence, abstains_for},
    store::{Acquired, Acquisition, Grant, Paced, Refusal, Store, StoreError},
};

pub(super) struct Node {
    pub(super) name: String,
    pub(super) store: Arc<dyn Store>,
    /// The life in which it was met first.
    first: OnceLock<String>,
    /// Whether a call to it has ended, in whatever way.
    met: AtomicBool,
    health: Health,
}

/// What a node says to an acquisition.
pub(super) enum Ballot {
    Yes(Grant),
    /// It granted, but that does not count, for this reason.
    Abstains(StoreError),
    No(Refusal),
    /// It is refused because waiting would not help.
    Never(StoreError),
    Failed(StoreError),
}

impl Ballot {
    /// The fence that it voted for it with.
    pub(super) fn fence(&self) -> Option<Fence> {
        match self {
            Self::Yes(grant) => grant.fence,
            _ => None,
        }
    }

    /// Whether the token, or what an earlier attempt for it left there, may have to be given back.
    pub(super) fn leaves_a_debt(&self) -> bool {
        !matches!(self, Self::No(_) | Self::Never(_))
    }

    /// Whether the token may hold there.
    pub(super) fn may_hold(&self) -> bool {
        match self {
            Self::Yes(_) | Self::Abstains(_) => true,
            Self::No(_) | Self::Never(_) => false,
            Self::Failed(error) => error.certainty() == crate::store::Certainty::Unknown,
        }
    }
}

impl Node {
    pub(super) fn new(name: String, store: Arc<dyn Store>) -> Self {
        Self { name, store, first: OnceLock::new(), met: AtomicBool::new(false), health: Health::default() }
    }

    pub(super) fn failure(&self, error: StoreError) -> NodeFailure {
        NodeFailure { node: self.name.clone(), error }
    }

    /// Whether no call to it has ended yet: it may have to be connected first, which takes longer than an answer.
    pub(super) fn is_new(&self) -> bool {
        !self.met.load(Ordering::Relaxed)
    }

    fn meet(&self) {
        self.met.store(true, Ordering::Relaxed);
    }

    /// Makes this call of so many questions, unless the node is left alone.
    pub(super) async fn ask<T>(
        &self,
        count: usize,
        options: &QuorumOptions,
        call: impl Future<Output = Vec<Result<T, StoreError>>>,
    ) -> Vec<Result<T, StoreError>> {
        let under_way = match self.admit(options) {
            Ok(under_way) => under_way,
            Err(error) => return (0..count).map(|_| Err(error.clone())).collect(),
        };
        let answers = counted(count, call.await);
        under_way.ended(&answers);
        self.meet();
        answers
    }

    /// Makes this call of so many questions however the node does.
    pub(super) async fn insist<T>(
        &self,
        count: usize,
        call: impl Future<Output = Vec<Result<T, StoreError>>>,
    ) -> Vec<Result<T, StoreError>> {
        let under_way = self.health.watch();
        let answers = counted(count, call.await);
        under_way.ended(&answers);
        self.meet();
        answers
    }

    fn admit(&self, options: &QuorumOptions) -> Result<UnderWay<'_>, StoreError> {
        let silence = options.silence();
        self.health.admit(if self.is_new() { silence.max(options.connect_timeout) } else { silence })
    }

    /// Asks for all of these, as tries, with fences from this one on. What is granted counts only if the node may vote
    /// *afterwards*: it was restarted before it voted, if at all. Answers also the clock that it had then.
    pub(super) async fn vote(
        &self,
        asked: &[Arc<Acquisition>],
        first: Fence,
        options: &QuorumOptions,
    ) -> (Vec<Ballot>, Option<Fence>) {
        let under_way = match self.admit(options) {
            Ok(under_way) => under_way,
            Err(error) => return (asked.iter().map(|_| Ballot::Failed(error.clone())).collect(), None),
        };
        let Paced { answers, clock } = self.store.acquire_each_from(asked, first).await;
        let answers = counted(asked.len(), answers);
        under_way.ended(&answers);
        let ballots = self.ballots(answers, options).await;
        self.meet();
        (ballots, clock)
    }

    async fn ballots(
        &self,
        answers: Vec<Result<Acquired, StoreError>>,
        options: &QuorumOptions,
    ) -> Vec<Ballot> {
        let granted = |answer: &Result<Acquired, _>| matches!(answer, Ok(Acquired::Granted(_)));
        let abstains = match answers.iter().any(granted) {
            true => self.may_vote(options).await.err(),
            false => None,
        };
        let ballot = |answer| match (answer, &abstains) {
            (Ok(Acquired::Granted(_)), Some(reason)) => Ballot::Abstains(reason.clone()),
            (Ok(Acquired::Granted(grant)), None) => Ballot::Yes(grant),
            (Ok(Acquired::Refused(refusal)), _) => Ballot::No(refusal),
            (Ok(other), _) => Ballot::Failed(lost(format!("acquire: a try was answered {other:?}"))),
            (Err(error @ (StoreError::Deadlock { .. } | StoreError::CapacityMismatch { .. })), _) => {
                Ballot::Never(error)
            }
            (Err(error), _) => Ballot::Failed(error),
        };
        answers.into_iter().map(ballot).collect()
    }

    async fn may_vote(&self, options: &QuorumOptions) -> Result<(), StoreError> {
        let instance = self.store.instance().await?;
        let first = self.first.get_or_init(|| instance.id.clone());
        let left = abstains_for(instance.age, options.max_ttl);
        if instance.durable || left.is_zero() || options.fresh_start && *first == instance.id {
            return Ok(());
        }
        let age = instance.age;
        let reason = format!(
            "started {age:.0?} ago, it may have forgotten leases and does not vote for another {left:.0?}"
        );
        Err(StoreError::Unavailable { reason, source: None })
    }
}

/// The answers, if there are as many as there were questions.
fn counted<T>(count: usize, answers: Vec<Result<T, StoreError>>) -> Vec<Result<T, StoreError>> {
    if answers.len() == count {
        return answers;
    }
    let doing = format!("{} answers to {count} questions", answers.len());
    (0..count).map(|_| Err(lost(doing.clone()))).collect()
}

pub(super) fn lost(doing: String) -> StoreError {
    StoreError::Lost { doing, source: None }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
