//! One round of questions: every node is asked at once, and answers are waited for until there are enough.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, timeout_at};

use super::node::Node;

/// What is asked of every node, and what those answered that have; each answers all questions of the round together.
pub(super) struct Round<T> {
    calls: FuturesUnordered<BoxFuture<'static, (usize, Vec<T>)>>,
    answers: Vec<Option<Vec<T>>>,
}

impl<T: 'static> Round<T> {
    /// Asks every node. Nothing is sent before the answers are waited for.
    pub(super) fn ask(
        nodes: &[Arc<Node>],
        question: impl Fn(usize, Arc<Node>) -> BoxFuture<'static, Vec<T>>,
    ) -> Self {
        let call = |(which, node): (usize, &Arc<Node>)| {
            let answer = question(which, Arc::clone(node));
            Box::pin(async move { (which, answer.await) }) as BoxFuture<'static, _>
        };
        let calls = nodes.iter().enumerate().map(call).collect();
        Self { calls, answers: nodes.iter().map(|_| None).collect() }
    }

    /// Waits until the answers are enough, or all are there, or the time is over.
    pub(super) async fn gather(&mut self, within: Duration, enough: impl Fn(&Self) -> bool) {
        let end = Instant::now() + within;
        while !enough(self) {
            let Ok(Some((which, answers))) = timeout_at(end, self.calls.next()).await else {
                return;
            };
            self.answers[which] = Some(answers);
        }
    }

    /// The next node to answer that had not.
    pub(super) async fn late(&mut self) -> Option<(usize, Vec<T>)> {
        self.calls.next().await
    }

    /// What those said that have answered.
    pub(super) fn into_answers(self) -> impl Iterator<Item = T> {
        self.answers.into_iter().flatten().flatten()
    }

    /// What each node said to one of the questions; `None` from one that has not answered.
    pub(super) fn on(&self, question: usize) -> impl ExactSizeIterator<Item = Option<&T>> {
        self.answers.iter().map(move |answers| answers.as_ref().map(|answers| &answers[question]))
    }
}
