//! Acquisitions by a majority: the votes, the fence that is written back, and the end of the attempt.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tokio::sync::oneshot;

use crate::{
    core::{Fence, Verdict},
    store::{
        Acquired, Acquisition, Answers, Grant, StoreError,
        quorum::{
            ballot::Ballot,
            fences::GivenFence,
            round::Round,
            shared::Quorum,
            tokens::Granted,
            voting::{QuorumAttempt, Raises, said},
        },
    },
};

type AcquireAnswer = Result<Acquired, StoreError>;

/// Has the nodes vote on all of these, and replies as soon as each is decided.
pub(super) async fn acquire(
    quorum: Arc<Quorum>,
    mut asked: Vec<Arc<Acquisition>>,
    reply: oneshot::Sender<Answers<Acquired>>,
) {
    let sent = quorum.now();
    let shortest = asked.iter().map(|asked| asked.ttl).min().unwrap_or_default();
    let timeouts = quorum.options.timeouts_for(shortest);
    let (first, (number, before)) =
        quorum.books(|books| (books.fence_clock.propose(asked.len(), sent), books.begin(&mut asked, sent)));
    let (clock, voted_twice) = (AtomicU64::default(), AtomicBool::default());
    let attempt = QuorumAttempt { quorum, asked, number, before, first, clock, sent, timeouts, voted_twice };
    let attempt = Arc::new(attempt);
    let votes = attempt.votes().await;
    attempt.follow_clocks(&votes);
    let mut answers: Answers<Acquired> =
        attempt.requests().map(|which| attempt.count(&votes, which)).collect();
    let unknown = attempt.unknown_fences(&votes, &answers);
    attempt.write_back(&unknown, &mut answers).await;
    attempt.book(&votes, &mut answers);
    let mut granted: Vec<Option<Grant>> = answers.iter().map(grant_of).collect();
    let mut waits: Vec<bool> = answers
        .iter()
        .zip(&attempt.before)
        .map(|(answer, before)| waits_after(answer, before.waited))
        .collect();
    if reply.send(answers).is_err() {
        // The caller is gone, so nobody knows of the grants.
        attempt.quorum.books(|books| books.forget(attempt.asked.iter().map(|asked| &asked.hold)));
        granted.fill(None);
        waits.fill(false);
    }
    attempt.tidy_up(votes, (&granted, &waits), &unknown).await;
}

fn grant_of(answer: &AcquireAnswer) -> Option<Grant> {
    match answer {
        Ok(Acquired::Granted(grant)) => Some(*grant),
        _ => None,
    }
}

/// Returns true if the token waits from now on: it has queue tickets, and whoever asked will release it.
fn waits_after(answer: &AcquireAnswer, waited: bool) -> bool {
    match answer {
        Ok(Acquired::Queued { .. }) => true,
        Err(error) => waited && error.is_transient(),
        Ok(_) => false,
    }
}

impl QuorumAttempt {
    /// Feeds the clocks and the fences of the nodes into the next proposal.
    fn follow_clocks(&self, votes: &Round<Ballot>) {
        let clock = self.clock.load(Ordering::Relaxed);
        let fences = self.requests().flat_map(|which| said(votes, which).map(|(_, said)| said));
        let largest = fences.max();
        self.quorum.books(|books| {
            if clock > 0 {
                books.fence_clock.follow(Fence::new(clock), self.sent);
            }
            if let Some(largest) = largest {
                books.fence_clock.seen(largest);
            }
        });
    }

    /// Returns the fences that are not known to a majority of the holders.
    fn unknown_fences(&self, votes: &Round<Ballot>, answers: &[AcquireAnswer]) -> Arc<Raises> {
        let fences = answers.iter().enumerate();
        let fences = fences.filter_map(|(which, answer)| Some((which, grant_of(answer)?.fence?)));
        fences.filter(|&(which, fence)| !self.is_known(votes, which, fence)).collect()
    }

    /// Raises fences on the nodes. They stay monotonic only if a majority of the holders knows the fence that is given
    /// out.
    async fn write_back(self: &Arc<Self>, raises: &Arc<Raises>, answers: &mut [AcquireAnswer]) {
        if raises.is_empty() || planted!("the largest fence is not written back") {
            return;
        }
        let mut raised = Round::ask(&self.quorum, |_, node| {
            let (attempt, raises) = (Arc::clone(self), Arc::clone(raises));
            async move { attempt.raise(node, &raises).await }
        });
        // A node on which the token does not hold may still execute the acquisition later.
        let vote = |answer: &Result<bool, _>| answer.as_ref().is_ok_and(|holds| *holds).then_some(true);
        let verdict = |raised: &Round<_>, at| raised.tally(at, vote).on_state();
        // The time to connect counts once for both rounds, so that an answer does not come later than promised.
        let timeouts = self.timeouts.second_round(self.sent.elapsed(self.quorum.now()));
        raised
            .gather(timeouts, |raised| (0..raises.len()).all(|at| verdict(raised, at) != Verdict::Open))
            .await;
        for (at, (which, _)) in raises.iter().enumerate() {
            if verdict(&raised, at) != Verdict::Yes {
                let failures = raised.failures(at, self.timeouts.met, |answer| answer.as_ref().err());
                answers[*which] = Err(self.quorum.no_quorum(failures, true));
            } else if let Err(error) = self.in_time(*which) {
                answers[*which] = Err(error);
            }
        }
        // Late nodes are raised all the same.
        tokio::spawn(raised.each_answer(|_, _, _| {}));
    }

    /// Records the grants. A token that was released meanwhile is not recorded.
    fn book(&self, votes: &Round<Ballot>, answers: &mut [AcquireAnswer]) {
        for (which, answer) in answers.iter_mut().enumerate() {
            let Some(grant) = grant_of(answer) else { continue };
            let (expected, nodes) = (self.before[which].expected.as_ref(), self.quorum.nodes.len());
            let fence = grant.fence.map(|fence| GivenFence::new(fence, nodes, expected));
            if let Some(fence) = &fence {
                said(votes, which).for_each(|(node, said)| fence.said(node, said));
            }
            let granted = Granted { asked: Arc::clone(&self.asked[which]), fence };
            if !self.quorum.books(|books| books.tokens.grant(self.number, granted)) {
                let doing = "acquire: it was released or asked for again meanwhile";
                *answer = Err(StoreError::reply_lost(doing));
            }
        }
    }
}
