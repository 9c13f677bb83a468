//! The shared state of all verbs of a quorum: its nodes, its ledger, and the pending releases.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;

use crate::{
    core::{Doubling, Moment, Token, majority},
    env::Clock,
    store::{
        Certainty, Released, StoreError,
        quorum::{
            NodeFailure, QuorumOptions,
            fence_clock::FenceClock,
            ledger::{Ledger, PendingRelease},
            lesson_times::LessonTimes,
            node::Node,
        },
    },
};

#[derive(Debug)]
pub(super) struct Core {
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) options: QuorumOptions,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ledger: Ledger,
    pub(super) fence_clock: FenceClock,
    pub(super) lessons: LessonTimes,
}

impl Core {
    pub(super) fn needed(&self) -> usize {
        majority(self.nodes.len())
    }

    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Returns the error that says that these nodes have no vote.
    pub(super) fn no_quorum(&self, failures: Vec<NodeFailure>, certainty: Certainty) -> StoreError {
        StoreError::NoQuorum { needed: self.needed(), of: self.nodes.len(), failures, certainty }
    }

    /// Queues the release of a hold on a node. It is tried in the background until it is certain or the hold has ended.
    pub(super) fn release_later(self: &Arc<Self>, node: usize, pending: PendingRelease) {
        if self.ledger.release_later(node, pending) {
            tokio::spawn(work_off(Arc::clone(self), node));
        }
    }

    /// Queues again the release of what an earlier attempt left on a node that this attempt did not reach.
    pub(super) fn release_again(self: &Arc<Self>, node: usize, token: Token, attempt: u64) {
        if self.ledger.release_again(node, token, attempt) {
            tokio::spawn(work_off(Arc::clone(self), node));
        }
    }

    /// Queues the release once more after a pause, which doubles each time. A hold that was not held when it was released
    /// may belong to an acquisition that is still to be executed.
    fn release_after_pause(self: &Arc<Self>, node: usize, pending: PendingRelease) {
        let Some(pause) = pending.again.filter(|pause| *pause < pending.end.remaining(self.now())) else {
            return;
        };
        let core = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            core.release_later(node, PendingRelease { again: Some(2 * pause), ..pending });
        });
    }
}

/// Executes the pending releases of a node until none is left.
async fn work_off(core: Arc<Core>, node: usize) {
    const AT_ONCE: usize = 256;
    const FIRST_PAUSE: Duration = Duration::from_millis(20);
    const LONGEST_PAUSE: Duration = Duration::from_secs(1);
    let mut pauses = Doubling::new(FIRST_PAUSE, LONGEST_PAUSE);
    let mut taken = Taken { core: &core, node, pending: Vec::new(), done: false };
    loop {
        let now = core.now();
        taken.pending = core.ledger.take(node, AT_ONCE, now);
        if taken.pending.is_empty() {
            taken.done = true;
            return;
        }
        let pending = &taken.pending;
        let releases: Vec<_> =
            pending.iter().map(|pending| (&pending.hold, pending.opening.remaining(now))).collect();
        let to = &core.nodes[node];
        let answers = to.insist(pending.len(), to.store.release_each(&releases)).await;
        let failed = answers.iter().any(Result::is_err);
        for (pending, answer) in std::mem::take(&mut taken.pending).into_iter().zip(answers) {
            match answer {
                Ok(released) => {
                    core.ledger.settled(node, &pending);
                    if matches!(released, Released::NotHeld { .. }) {
                        core.release_after_pause(node, pending);
                    }
                }
                Err(_) => core.ledger.failed(node, pending),
            }
        }
        if failed {
            tokio::time::sleep(pauses.next()).await;
        } else {
            pauses.reset();
        }
    }
}

/// The releases in progress. If the runtime and with it the task end meanwhile, they are pending again, and the next
/// release that is queued starts the work again.
struct Taken<'a> {
    core: &'a Core,
    node: usize,
    pending: Vec<PendingRelease>,
    done: bool,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.core.ledger.abandon(self.node, std::mem::take(&mut self.pending));
        }
    }
}

/// Runs a verb in a task of its own. The task goes on after it has replied, and takes care of late answers.
pub(super) async fn in_background<T, Verb>(
    count: usize,
    verb: impl FnOnce(oneshot::Sender<Vec<Result<T, StoreError>>>) -> Verb,
) -> Vec<Result<T, StoreError>>
where
    Verb: Future<Output = ()> + Send + 'static,
{
    let (reply, answers) = oneshot::channel();
    tokio::spawn(verb(reply));
    let ended =
        |_| (0..count).map(|_| Err(StoreError::reply_lost("the task that counts the votes ended"))).collect();
    answers.await.unwrap_or_else(ended)
}
