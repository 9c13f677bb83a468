//! Acquisitions by a majority: the votes, the fence that is written back, and the end of the attempt.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::{
    core::{Fence, Tally, Verdict},
    store::{
        Acquired, Acquisition, Certainty, Grant, StoreError,
        quorum::{
            asking::raise,
            core::Core,
            counting::placed,
            given_fence::GivenFence,
            ledger::Granted,
            node::{Ballot, Node},
            poll::Round,
            voting::{Attempt, said},
        },
    },
};

type Answer = Result<Acquired, StoreError>;

/// Has the nodes vote on all of these, and replies as soon as each is decided.
pub(super) async fn acquire(
    core: Arc<Core>,
    asked: Vec<Arc<Acquisition>>,
    reply: oneshot::Sender<Vec<Answer>>,
) {
    let sent = core.now();
    let waited = asked.iter().map(|asked| core.ledger.waits(asked.hold.token, None)).collect();
    let (number, expected) = core.ledger.begin(&asked, sent);
    let shortest = asked.iter().map(|asked| asked.ttl).min().unwrap_or_default();
    let timeouts = core.options.timeouts_for(shortest);
    let (first, clock) = (core.fence_clock.propose(asked.len(), sent), Arc::default());
    let place = core.fence_clock.place(sent);
    let at_its_place = |asked: Arc<Acquisition>| match core.waiters.begin(&asked, number, place, sent) {
        None => asked,
        place => Arc::new(placed(&asked, place)),
    };
    let asked: Arc<[_]> = asked.into_iter().map(at_its_place).collect();
    let voted_twice = AtomicBool::new(false);
    let attempt =
        Attempt { core, asked, number, expected, waited, first, clock, sent, timeouts, voted_twice };
    let votes = attempt.votes().await;
    attempt.follow_clocks(&votes);
    let mut answers: Vec<Answer> = attempt.requests().map(|which| attempt.count(&votes, which)).collect();
    let unknown = attempt.unknown_fences(&votes, &answers);
    attempt.write_back(Arc::clone(&unknown), &mut answers).await;
    attempt.book(&votes, &mut answers);
    let (granted, waits): (Vec<Option<Grant>>, Vec<bool>) = answers
        .iter()
        .enumerate()
        .map(|(which, answer)| (grant_of(answer), attempt.waits_after(which, answer)))
        .unzip();
    let (granted, waits) = match reply.send(answers) {
        Ok(()) => (granted, waits),
        // The caller is gone, so nobody knows of the grants.
        Err(_) => attempt.cancel(),
    };
    attempt.tidy_up(votes, (&granted, &waits), &unknown).await;
}

fn grant_of(answer: &Answer) -> Option<Grant> {
    match answer {
        Ok(Acquired::Granted(grant)) => Some(*grant),
        _ => None,
    }
}

impl Attempt {
    /// Feeds the clocks and the fences of the nodes into the next proposal.
    fn follow_clocks(&self, votes: &Round<Ballot>) {
        let fence_clock = &self.core.fence_clock;
        match self.clock.load(Ordering::Relaxed) {
            0 => {}
            clock => fence_clock.follow(Fence::new(clock), self.sent),
        }
        let fences = self.requests().flat_map(|which| votes.on(which).flatten().filter_map(Ballot::fence));
        if let Some(largest) = fences.max() {
            fence_clock.seen(largest);
        }
    }

    /// Returns the fences that are not known to a majority of the holders.
    fn unknown_fences(&self, votes: &Round<Ballot>, answers: &[Answer]) -> Arc<[(usize, Fence)]> {
        let fences = answers.iter().enumerate();
        let fences = fences.filter_map(|(which, answer)| Some((which, grant_of(answer)?.fence?)));
        fences.filter(|&(which, fence)| !self.is_known(votes, which, fence)).collect()
    }

    /// Raises fences on the nodes. They stay monotonic only if a majority of the holders knows the fence that is given
    /// out.
    async fn write_back(&self, raises: Arc<[(usize, Fence)]>, answers: &mut [Answer]) {
        if raises.is_empty() || planted!("the largest fence is not written back") {
            return;
        }
        let mut raised = Round::ask(&self.core.nodes, |_, node| {
            let (core, asked, raises) =
                (Arc::clone(&self.core), Arc::clone(&self.asked), Arc::clone(&raises));
            async move { raise(&core, &node, &asked, &raises).await }.boxed()
        });
        let verdict = |raised: &Round<Result<bool, StoreError>>, at| {
            let mut tally = Tally::new(self.core.nodes.len());
            for answer in raised.on(at).flatten() {
                match answer {
                    Ok(true) => tally.yes(),
                    // The node may still execute it later.
                    Ok(false) | Err(_) => tally.silent(),
                }
            }
            tally.on_state()
        };
        // The time to connect counts once for both rounds, so that an answer does not come later than promised.
        let timeouts = self.timeouts.second_round(self.sent.elapsed(self.core.now()));
        raised
            .gather(timeouts, |raised| (0..raises.len()).all(|at| verdict(raised, at) != Verdict::Open))
            .await;
        for (at, (which, _)) in raises.iter().enumerate() {
            if verdict(&raised, at) != Verdict::Yes {
                answers[*which] = Err(self.not_raised(&raised, at));
            } else if let Err(error) = self.in_time(*which) {
                answers[*which] = Err(error);
            }
        }
        // Late nodes are raised all the same.
        tokio::spawn(async move { while raised.late().await.is_some() {} });
    }

    fn not_raised(&self, raised: &Round<Result<bool, StoreError>>, at: usize) -> StoreError {
        let reason = |(node, answer): (&Arc<Node>, Option<&Result<bool, StoreError>>)| match answer {
            None => Some(node.failure(StoreError::timed_out(self.timeouts.met))),
            Some(Err(error)) => Some(node.failure(error.clone())),
            Some(Ok(_)) => None,
        };
        let failures = self.core.nodes.iter().zip(raised.on(at)).filter_map(reason).collect();
        self.core.no_quorum(failures, Certainty::Unknown)
    }

    /// Records the grants. A token that was released meanwhile is not recorded.
    fn book(&self, votes: &Round<Ballot>, answers: &mut [Answer]) {
        for (which, (asked, answer)) in self.asked.iter().zip(answers).enumerate() {
            let Some(grant) = grant_of(answer) else {
                continue;
            };
            let fence = grant.fence.map(|fence| GivenFence::new(fence, self.expected[which].as_ref()));
            if let Some(fence) = &fence {
                said(votes, which).for_each(|(node, said)| fence.said(node, said));
            }
            let granted = Granted { asked: Arc::clone(asked), fence };
            if !self.core.ledger.grant(self.number, granted) {
                let doing = "acquire: it was released or asked for again meanwhile".to_owned();
                *answer = Err(StoreError::reply_lost(doing));
            }
        }
    }

    /// Cancels all grants of the attempt, because nobody knows of them.
    fn cancel(&self) -> (Vec<Option<Grant>>, Vec<bool>) {
        self.core.forget(self.asked.iter().map(|asked| &asked.hold));
        (vec![None; self.asked.len()], vec![false; self.asked.len()])
    }

    /// Returns true if the token waits from now on: it has queue tickets, and whoever asked will release it.
    fn waits_after(&self, which: usize, answer: &Answer) -> bool {
        match answer {
            Ok(Acquired::Queued { .. }) => true,
            Err(error) => self.waited[which] && error.is_transient(),
            Ok(_) => false,
        }
    }
}
