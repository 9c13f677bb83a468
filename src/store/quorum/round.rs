//! One round of questions: every node is asked at once, and the round ends when there are enough answers.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, sleep_until};

use super::{options::Timeouts, shared::Quorum};
use crate::{
    core::Tally,
    store::{NodeFailure, QuorumNode, Reply, StoreError},
};

/// The questions to every node, and the answers so far. Each node answers all questions of the round together.
pub(super) struct Round<T> {
    calls: FuturesUnordered<BoxFuture<'static, (usize, Vec<T>)>>,
    answers: Vec<Option<Vec<T>>>,
    quorum: Arc<Quorum>,
}

impl<T: Send + 'static> Round<Result<T, StoreError>> {
    /// Asks every node one question about this, whatever the state of its circuit breaker.
    pub(super) fn of_one<About: Clone + Send + Sync + 'static>(
        quorum: &Arc<Quorum>,
        about: About,
        question: for<'a> fn(&'a dyn QuorumNode, &'a About) -> Reply<'a, T>,
    ) -> Self {
        Self::ask(quorum, |quorum, node| {
            let about = about.clone();
            async move {
                let answer = async { vec![question(quorum.store(node), &about).await] };
                quorum.insist(node, 1, answer).await
            }
        })
    }

    /// Returns the error that says why there is no majority on one question.
    pub(super) fn short(&self, question: usize, within: Duration) -> StoreError {
        let failures = self.failures(question, within, |answer| answer.as_ref().err());
        let executed = failures.len() < self.answers.len() || failures.iter().any(NodeFailure::is_unknown);
        self.quorum.no_quorum(failures, executed)
    }
}

impl<T: 'static> Round<T> {
    /// Asks every node. Nothing is sent before the answers are awaited.
    pub(super) fn ask<Answers: Future<Output = Vec<T>> + Send + 'static>(
        quorum: &Arc<Quorum>,
        question: impl Fn(Arc<Quorum>, usize) -> Answers,
    ) -> Self {
        let call = |node| {
            let answers = question(Arc::clone(quorum), node);
            Box::pin(async move { (node, answers.await) }) as BoxFuture<'static, _>
        };
        let nodes = 0..quorum.nodes.len();
        let answers = nodes.clone().map(|_| None).collect();
        Self { calls: nodes.map(call).collect(), answers, quorum: Arc::clone(quorum) }
    }

    /// Returns a round that is over, with one question and these answers.
    pub(super) fn of_answers(quorum: &Arc<Quorum>, answers: Vec<Option<T>>) -> Self {
        let answers = answers.into_iter().map(|answer| answer.map(|answer| vec![answer])).collect();
        Self { calls: FuturesUnordered::new(), answers, quorum: Arc::clone(quorum) }
    }

    /// Waits until there are enough answers, all nodes have answered, or the time is over.
    pub(super) async fn gather(&mut self, timeouts: Timeouts, enough: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        let mut over = pin!(sleep_until(started + timeouts.met));
        let mut only_new = false;
        while !enough(self) && (!only_new || self.awaits_a_new_node()) {
            tokio::select! {
                biased;
                answered = self.calls.next() => match answered {
                    Some((which, answers)) => self.answers[which] = Some(answers),
                    None => return,
                },
                () = &mut over => {
                    if only_new {
                        return;
                    }
                    only_new = true;
                    over.as_mut().reset(started + timeouts.new);
                }
            }
        }
    }

    /// Returns true if a node has not answered and may still be connecting.
    fn awaits_a_new_node(&self) -> bool {
        self.quorum.books(|books| {
            self.answers.iter().zip(&books.nodes).any(|(answers, node)| answers.is_none() && !node.is_met)
        })
    }

    /// Waits for the next node to answer that had not answered yet, and returns it.
    pub(super) async fn late(&mut self) -> Option<usize> {
        let (which, answers) = self.calls.next().await?;
        self.answers[which] = Some(answers);
        Some(which)
    }

    /// Hands over the answers of each node to each question: at once where it has answered, and otherwise when it does.
    pub(super) async fn each_answer(mut self, mut take: impl FnMut(usize, usize, &T)) {
        let mut take = |node, answers: &[T]| (0..).zip(answers).for_each(|(which, it)| take(node, which, it));
        (0..self.answers.len()).for_each(|node| take(node, self.of(node)));
        while let Some(node) = self.late().await {
            take(node, self.of(node));
        }
    }

    /// Returns the answers of one node to all questions; none if it has not answered.
    pub(super) fn of(&self, node: usize) -> &[T] {
        self.answers[node].as_deref().unwrap_or_default()
    }

    /// Returns the answers of the nodes that have answered.
    pub(super) fn into_answers(self) -> impl Iterator<Item = T> {
        self.answers.into_iter().flatten().flatten()
    }

    /// Returns the answer of each node to one question; `None` for a node that has not answered.
    pub(super) fn on(&self, question: usize) -> impl ExactSizeIterator<Item = Option<&T>> {
        self.answers.iter().map(move |answers| answers.as_ref().map(|answers| &answers[question]))
    }

    /// Counts the votes on one question. An answer that is no vote is `None`.
    pub(super) fn tally(&self, question: usize, vote: impl Fn(&T) -> Option<bool>) -> Tally {
        let mut tally = Tally { of: self.answers.len(), ..Tally::default() };
        for answer in self.on(question).flatten() {
            match vote(answer) {
                Some(true) => tally.yes += 1,
                Some(false) => tally.no += 1,
                None => tally.silent += 1,
            }
        }
        tally
    }

    /// Returns the nodes without a vote on one question: they answer with an `error`, or have not answered `within` that time.
    pub(super) fn failures<'a>(
        &'a self,
        question: usize,
        within: Duration,
        error: impl Fn(&'a T) -> Option<&'a StoreError>,
    ) -> Vec<NodeFailure> {
        let failure = |(node, answer): (usize, Option<&'a T>)| {
            let error = match answer {
                None => StoreError::timed_out(within),
                Some(answer) => error(answer)?.clone(),
            };
            Some(NodeFailure { node: self.quorum.nodes[node].name.clone(), error })
        };
        self.on(question).enumerate().filter_map(failure).collect()
    }
}
