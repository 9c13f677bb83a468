//! Hand-offs: each node releases a hold and is asked for its resource in one call.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;

use super::{
    ballot::Ballot,
    releases::PendingRelease,
    renew_release::{RELEASED, TRIED_FOR, Votes, released, verdict},
    round::Round,
    shared::Quorum,
};
use crate::{
    core::{Fence, Verdict},
    store::{Acquisition, Hold, Released, StoreError},
};

/// A hold that each node releases in the call that asks for its resource.
pub(super) struct ReleasedFirst {
    hold: Hold,
    /// The number of the latest attempt before.
    attempt: u64,
    nodes: Mutex<Vec<OnNode>>,
}

/// True if the release was sent to a node, and the answer.
type OnNode = (bool, Option<Result<Released, StoreError>>);

impl ReleasedFirst {
    pub(super) fn new(quorum: &Quorum, hold: Hold) -> Self {
        let attempt = quorum.books(|books| books.begin_release([&hold].into_iter()));
        Self { hold, attempt, nodes: Mutex::new(vec![(false, None); quorum.nodes.len()]) }
    }

    /// Returns true if it is to be released on this node. In a second vote it is not: what the call of the first one did is
    /// unknown if nobody waited for its answer.
    pub(super) fn begins_on(&self, quorum: &Arc<Quorum>, node: usize) -> bool {
        let (was_sent, answer) = std::mem::replace(&mut self.nodes.lock()[node], (true, None));
        if was_sent {
            let lost = || Err(StoreError::reply_lost("hand_off: its answer was not waited for"));
            self.answered(quorum, node, answer.unwrap_or_else(lost));
        }
        !was_sent
    }

    /// Returns true if enough nodes have answered.
    pub(super) fn is_decided(&self, quorum: &Arc<Quorum>) -> bool {
        verdict(&self.round(quorum), 0, RELEASED) != Verdict::Open
            || planted!("a hand-off is decided before its release is")
    }

    fn round(&self, quorum: &Arc<Quorum>) -> Votes<Released> {
        Round::of_answers(quorum, self.nodes.lock().iter().map(|(_, answer)| answer.clone()).collect())
    }

    /// Returns what the release did, after nodes had this time to answer. The error says nothing of the acquisition, which may have
    /// been executed where the release was not.
    pub(super) fn released(&self, quorum: &Arc<Quorum>, within: Duration) -> Result<Released, StoreError> {
        released(&self.round(quorum), 0, within).map_err(StoreError::perhaps_executed)
    }

    /// Releases it on a node alone.
    pub(super) async fn release(&self, quorum: &Arc<Quorum>, node: usize) {
        let answer = async { vec![quorum.store(node).release(&self.hold, Duration::ZERO).await] };
        let answers = quorum.ask(node, 1, answer).await;
        answers.into_iter().for_each(|answer| self.answered(quorum, node, answer));
    }

    /// Releases it on a node, and requests its resource there, with a fence from `first` on.
    pub(super) async fn release_for(
        &self,
        quorum: &Arc<Quorum>,
        node: usize,
        to: &Arc<Acquisition>,
        first: Fence,
    ) -> (Vec<Ballot>, Option<Fence>) {
        match quorum.admit(node) {
            Ok(in_flight) => {
                let (released, acquired) = quorum.store(node).hand_off_from(&self.hold, to, first).await;
                self.answered(quorum, node, released);
                quorum.ballots_of(node, in_flight, 1, acquired).await
            }
            Err(error) => {
                self.answered(quorum, node, Err(error.clone()));
                (vec![Ballot::Failed(error)], None)
            }
        }
    }

    fn answered(&self, quorum: &Arc<Quorum>, node: usize, answer: Result<Released, StoreError>) {
        if answer.is_err() && !planted!("a hold that is handed off stays where a node failed") {
            let now = quorum.now();
            let end = now + TRIED_FOR;
            quorum.release_later(node, PendingRelease::new(self.hold.clone(), now, end, self.attempt));
        }
        self.nodes.lock()[node].1 = Some(answer);
    }

    /// Releases what an earlier attempt may still leave on nodes.
    pub(super) fn release_again(&self, quorum: &Arc<Quorum>) {
        for (node, token) in quorum.books(|books| books.end_release([self.hold.token].into_iter())) {
            quorum.release_again(node, token, self.attempt);
        }
    }
}
