//! Hand-offs: each node releases a hold and is asked for its resource in one call.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;

use crate::{
    core::{Fence, Verdict},
    store::{
        Acquired, Acquisition, HandedOff, Hold, Released, StoreError,
        quorum::{
            ballot::Ballot,
            releases::PendingRelease,
            renew_release::{RELEASED, TRIED_FOR, Votes, released, verdict},
            round::Round,
            shared::Quorum,
        },
    },
};

/// A hold that each node releases in the call that asks for its resource.
pub(super) struct ReleasedFirst {
    hold: Hold,
    /// The number of the latest attempt before.
    attempt: u64,
    answers: Mutex<Vec<Option<Result<Released, StoreError>>>>,
}

impl ReleasedFirst {
    pub(super) fn new(quorum: &Quorum, hold: Hold) -> Self {
        let attempt = quorum.books(|books| books.forget([&hold].into_iter()));
        Self { hold, attempt, answers: Mutex::new(vec![None; quorum.nodes.len()]) }
    }

    /// Returns true if this node has not been asked to release it.
    pub(super) fn is_left_on(&self, node: usize) -> bool {
        self.answers.lock()[node].is_none()
    }

    /// Returns true if enough nodes have answered.
    pub(super) fn is_decided(&self, quorum: &Arc<Quorum>) -> bool {
        verdict(&self.round(quorum), 0, RELEASED) != Verdict::Open
    }

    fn round(&self, quorum: &Arc<Quorum>) -> Votes<Released> {
        Round::of_answers(quorum, self.answers.lock().clone())
    }

    /// Returns the answer to the hand-off, after nodes had this time to answer.
    pub(super) fn handed_off(
        &self,
        quorum: &Arc<Quorum>,
        within: Duration,
        acquired: Result<Acquired, StoreError>,
    ) -> Result<HandedOff, StoreError> {
        let others_wait = !matches!(acquired, Ok(Acquired::Granted(_)));
        Ok(HandedOff { released: released(&self.round(quorum), 0, within)?, acquired, others_wait })
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
            quorum.release_later(
                node,
                PendingRelease::new(self.hold.clone(), now, now + TRIED_FOR, self.attempt),
            );
        }
        self.answers.lock()[node] = Some(answer);
    }

    /// Releases what an earlier attempt may still leave on nodes.
    pub(super) fn release_again(&self, quorum: &Arc<Quorum>) {
        for (node, token) in quorum.books(|books| books.aside([self.hold.token].into_iter())) {
            quorum.release_again(node, token, self.attempt);
        }
    }
}
