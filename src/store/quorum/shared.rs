//! The state that all verbs of a quorum share: its nodes, its books, and the calls to the nodes.

use std::{iter, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

use super::{books::Books, circuit_breaker::Passage, node::NamedNode, options::QuorumOptions};
use crate::{
    core::{Moment, majority},
    runtime::env::Clock,
    store::{Answers, Certainty, NodeFailure, QuorumNode, StoreError},
};

#[derive(Debug)]
pub(super) struct Quorum {
    pub(super) nodes: Vec<NamedNode>,
    pub(super) options: QuorumOptions,
    pub(super) clock: Arc<dyn Clock>,
    books: Mutex<Books>,
    /// Notifies when nodes were taught, or could not be. Attempts that wait for it go on in the order in which they came,
    /// which a watch channel would leave to chance.
    pub(super) lesson_over: Notify,
}

/// A call in flight. A call that is dropped says nothing about the node.
pub(super) struct CallInFlight<'a> {
    quorum: &'a Quorum,
    node: usize,
    /// `None` once it has ended.
    passage: Option<Passage>,
}

impl Quorum {
    pub(super) fn new(nodes: Vec<NamedNode>, options: QuorumOptions, clock: Arc<dyn Clock>) -> Self {
        let books = Mutex::new(Books::new(nodes.len()));
        Self { nodes, options, clock, books, lesson_over: Notify::new() }
    }

    pub(super) fn needed(&self) -> usize {
        majority(self.nodes.len())
    }

    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(super) fn store(&self, node: usize) -> &dyn QuorumNode {
        &*self.nodes[node].store
    }

    /// Reads and writes the books. They are open only for this function, which cannot await.
    pub(super) fn books<T>(&self, entry: impl FnOnce(&mut Books) -> T) -> T {
        entry(&mut self.books.lock())
    }

    /// Returns the error that says that these nodes have no vote. The verb may be `executed` on a majority all the same.
    pub(super) fn no_quorum(&self, failures: Vec<NodeFailure>, executed: bool) -> StoreError {
        let certainty = if executed { Certainty::Unknown } else { Certainty::NotExecuted };
        StoreError::NoQuorum { needed: self.needed(), of: self.nodes.len(), failures, certainty }
    }

    /// Records that a call to this node has ended.
    pub(super) fn meet(&self, node: usize) {
        self.books(|books| books.nodes[node].is_met = true);
    }

    /// Begins a call, unless the circuit breaker of the node refuses it.
    pub(super) fn admit(&self, node: usize) -> Result<CallInFlight<'_>, StoreError> {
        let options = &self.options;
        let passage = self.books(|books| {
            let observed = &mut books.nodes[node];
            let silence = 4 * options.node_timeout;
            let silence = if observed.is_met { silence } else { silence.max(options.connect_timeout) };
            observed.breaker.admit(silence, Instant::now())
        });
        Ok(CallInFlight { quorum: self, node, passage: Some(passage?) })
    }

    /// Makes a call of `count` questions, unless the node's circuit breaker refuses it.
    pub(super) async fn ask<T>(
        &self,
        node: usize,
        count: usize,
        call: impl Future<Output = Answers<T>>,
    ) -> Answers<T> {
        match self.admit(node) {
            Ok(in_flight) => in_flight.answers(count, call).await,
            Err(error) => iter::repeat_n(error, count).map(Err).collect(),
        }
    }

    /// Makes a call of `count` questions whatever the state of the node's circuit breaker. Without questions there is none.
    pub(super) async fn insist<T>(
        &self,
        node: usize,
        count: usize,
        call: impl Future<Output = Answers<T>>,
    ) -> Answers<T> {
        if count == 0 {
            return Vec::new();
        }
        let passage = self.books(|books| books.nodes[node].breaker.begin(Instant::now()));
        CallInFlight { quorum: self, node, passage: Some(passage) }.answers(count, call).await
    }
}

impl CallInFlight<'_> {
    async fn answers<T>(self, count: usize, call: impl Future<Output = Answers<T>>) -> Answers<T> {
        let (quorum, node) = (self.quorum, self.node);
        let answers = self.ended(count, call.await);
        quorum.meet(node);
        answers
    }

    /// Records the answers to the call. Returns them if there are as many as there were questions, otherwise lost answers.
    pub(super) fn ended<T>(mut self, count: usize, mut answers: Answers<T>) -> Answers<T> {
        if answers.len() != count {
            let lost = StoreError::reply_lost(format!("{} answers to {count} questions", answers.len()));
            answers = iter::repeat_n(lost, count).map(Err).collect();
        }
        self.record(&answers);
        answers
    }

    fn record<T>(&mut self, answers: &[Result<T, StoreError>]) {
        if let Some(passage) = self.passage.take() {
            let now = Instant::now();
            self.quorum.books(|books| books.nodes[self.node].breaker.ended(passage, answers, now));
        }
    }
}

impl Drop for CallInFlight<'_> {
    fn drop(&mut self) {
        self.record::<()>(&[]);
    }
}

/// Runs a verb in a task of its own. The task goes on after it has replied, and takes care of late answers.
pub(super) async fn in_background<T, Verb: Future<Output = ()> + Send + 'static>(
    count: usize,
    verb: impl FnOnce(oneshot::Sender<Answers<T>>) -> Verb,
) -> Answers<T> {
    let (reply, answers) = oneshot::channel();
    tokio::spawn(verb(reply));
    answers.await.unwrap_or_else(|_| {
        let lost = StoreError::reply_lost("the task that counts the votes ended");
        iter::repeat_n(lost, count).map(Err).collect()
    })
}

/// Returns the median, which stands for what most of the nodes report.
pub(super) fn median(counts: impl Iterator<Item = u64>) -> u64 {
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or_default()
}
