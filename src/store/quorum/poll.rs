//! One round of questions: every node is asked at once, and the round ends when there are enough answers.

use std::{pin::pin, sync::Arc};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, sleep_until};

use crate::store::quorum::{node::Node, options::Timeouts};

/// The questions to every node, and the answers so far. Each node answers all questions of the round together.
pub(super) struct Round<T> {
    calls: FuturesUnordered<BoxFuture<'static, (usize, Vec<T>)>>,
    answers: Vec<Option<Vec<T>>>,
    nodes: Vec<Arc<Node>>,
}

impl<T: 'static> Round<T> {
    /// Asks every node. Nothing is sent before the answers are awaited.
    pub(super) fn ask(
        nodes: &[Arc<Node>],
        question: impl Fn(usize, Arc<Node>) -> BoxFuture<'static, Vec<T>>,
    ) -> Self {
        let call = |(which, node): (usize, &Arc<Node>)| {
            let answer = question(which, Arc::clone(node));
            Box::pin(async move { (which, answer.await) }) as BoxFuture<'static, _>
        };
        let calls = nodes.iter().enumerate().map(call).collect();
        Self { calls, answers: nodes.iter().map(|_| None).collect(), nodes: nodes.to_vec() }
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
        self.nodes.iter().zip(&self.answers).any(|(node, answers)| answers.is_none() && node.is_new())
    }

    /// Waits for the next node to answer that had not answered yet, and returns it.
    pub(super) async fn late(&mut self) -> Option<usize> {
        let (which, answers) = self.calls.next().await?;
        self.answers[which] = Some(answers);
        Some(which)
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
}
