//! Acquisitions by a majority: the votes, the fence that is written back, and the release of the rest.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{join, join_all},
};
use tokio::sync::oneshot;

use crate::{
    core::{Fence, Tally, Verdict, granted_fence, is_known, validity_left},
    store::{
        Acquired, Acquisition, Certainty, Grant, Refusal, StoreError,
        all::as_try,
        quorum::{
            asking::{median, raise},
            core::Core,
            ledger::{Granted, PendingRelease},
            node::{Ballot, Node},
            poll::Round,
            voting::{Attempt, said, tally},
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
    let asked: Arc<[_]> = asked.iter().map(|asked| Arc::new(as_try(asked))).collect();
    let sent = core.now();
    let (number, expected) = core.ledger.begin(&asked, sent);
    let shortest = asked.iter().map(|asked| asked.ttl).min().unwrap_or_default();
    let timeouts = core.options.timeouts_for(shortest);
    let (first, clock) = (core.fence_clock.propose(asked.len(), sent), Arc::default());
    let voted_twice = AtomicBool::new(false);
    let attempt = Attempt { core, asked, number, expected, first, clock, sent, timeouts, voted_twice };
    let votes = attempt.votes().await;
    attempt.follow_clocks(&votes);
    let mut answers: Vec<Answer> = attempt.requests().map(|which| attempt.count(&votes, which)).collect();
    let unknown = attempt.unknown_fences(&votes, &answers);
    attempt.write_back(Arc::clone(&unknown), &mut answers).await;
    attempt.book(&mut answers);
    let granted: Vec<Option<Grant>> = answers.iter().map(grant_of).collect();
    let granted = match reply.send(answers) {
        Ok(()) => granted,
        // The caller is gone, so nobody knows of the grants.
        Err(_) => attempt.cancel(),
    };
    attempt.tidy_up(votes, &granted, &unknown).await;
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

    /// Returns the result of the votes on one request.
    fn count(&self, votes: &Round<Ballot>, which: usize) -> Answer {
        let tally = tally(votes, which);
        let (mut grants, mut refusals, mut never) = (Vec::new(), Vec::new(), Vec::new());
        for ballot in votes.on(which).flatten() {
            match ballot {
                Ballot::Yes(grant) => grants.push(*grant),
                Ballot::No(refusal) => refusals.push(refusal),
                Ballot::Never(error) => never.push(error),
                Ballot::Abstains(_) | Ballot::Failed(_) => {}
            }
        }
        match tally.on_request() {
            Verdict::Yes => {
                self.in_time(which)?;
                let fence = granted_fence(self.expected[which], said(votes, which), self.core.nodes.len());
                Ok(Acquired::Granted(Grant { fence, holds: median(grants.iter().map(|grant| grant.holds)) }))
            }
            Verdict::No => match never.first() {
                Some(&error) if never.len() > refusals.len() => Err(error.clone()),
                _ => Ok(Acquired::Refused(self.refusal(refusals, grants.len()))),
            },
            Verdict::Open | Verdict::Short => Err(self.no_quorum(votes, which, grants.len())),
        }
    }

    /// Returns an error if the grant is no longer valid, since only a valid grant is given out. Recovery relies on that:
    /// when a node is taught, every grant that its earlier incarnation contributed to was given out.
    fn in_time(&self, which: usize) -> Result<(), StoreError> {
        let spent = self.sent.elapsed(self.core.now());
        match validity_left(self.asked[which].ttl, spent).is_zero() {
            true => Err(StoreError::timed_out(spent)),
            false => Ok(()),
        }
    }

    /// Returns the holder that is in the way on most nodes, and the time until enough nodes have opened for a majority to
    /// be free.
    fn refusal(&self, mut refusals: Vec<&Refusal>, free: usize) -> Refusal {
        refusals.sort_by_key(|refusal| refusal.remaining);
        let missing = self.core.needed() - free;
        let remaining = refusals[missing.min(refusals.len()) - 1].remaining;
        let named =
            |refusal: &Refusal| refusals.iter().filter(|other| other.by.token == refusal.by.token).count();
        // A node may have admitted another token for a moment, to which the quorum granted nothing.
        let most = refusals.iter().max_by_key(|refusal| (named(refusal), refusal.remaining <= remaining));
        most.map_or_else(|| refusals[0].clone(), |most| Refusal { remaining, ..(*most).clone() })
    }

    fn no_quorum(&self, votes: &Round<Ballot>, which: usize, yes: usize) -> StoreError {
        let reason = |(node, ballot): (&Arc<Node>, Option<&Ballot>)| match ballot {
            None => Some(node.failure(StoreError::timed_out(self.timeouts.met))),
            Some(Ballot::Abstains(error) | Ballot::Failed(error)) => Some(node.failure(error.clone())),
            Some(Ballot::Yes(_) | Ballot::No(_) | Ballot::Never(_)) => None,
        };
        let failures: Vec<_> = self.core.nodes.iter().zip(votes.on(which)).filter_map(reason).collect();
        let perhaps = failures.iter().filter(|failure| failure.is_unknown()).count();
        let certainty =
            if yes + perhaps >= self.core.needed() { Certainty::Unknown } else { Certainty::NotExecuted };
        self.core.no_quorum(failures, certainty)
    }

    /// Returns the fences that are not known to a majority of the holders.
    fn unknown_fences(&self, votes: &Round<Ballot>, answers: &[Answer]) -> Arc<[(usize, Fence)]> {
        let fences = answers.iter().enumerate();
        let fences = fences.filter_map(|(which, answer)| Some((which, grant_of(answer)?.fence?)));
        let of = self.core.nodes.len();
        fences.filter(|&(which, fence)| !is_known(fence, said(votes, which), of)).collect()
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
    fn book(&self, answers: &mut [Answer]) {
        for (asked, answer) in self.asked.iter().zip(answers) {
            let Some(grant) = grant_of(answer) else {
                continue;
            };
            let granted = Granted { asked: Arc::clone(asked), fence: grant.fence };
            if !self.core.ledger.grant(self.number, granted) {
                let doing = "acquire: it was released or asked for again meanwhile".to_owned();
                *answer = Err(StoreError::reply_lost(doing));
            }
        }
    }

    /// Cancels all grants of the attempt, because nobody knows of them.
    fn cancel(&self) -> Vec<Option<Grant>> {
        self.core.ledger.remove(self.asked.iter().map(|asked| &asked.hold));
        vec![None; self.asked.len()]
    }

    /// Releases what was not granted, and raises the fence of nodes that gave another one, also of nodes that answer
    /// late.
    async fn tidy_up(&self, votes: Round<Ballot>, granted: &[Option<Grant>], written: &[(usize, Fence)]) {
        // This comes first: from here on no pending release is set aside for this attempt.
        self.core.ledger.finish(self.number, &self.asked);
        for (which, grant) in granted.iter().enumerate() {
            if planted!("what a node grants to a failed attempt is left there") {
                break;
            }
            for (node, ballot) in votes.on(which).enumerate() {
                if let Some(ballot) = ballot.filter(|_| grant.is_none()) {
                    self.release_later(node, which, ballot);
                }
            }
        }
        let others = self.other_fences(&votes, granted, written);
        let told = join_all(others.iter().map(|(node, raises)| self.raise_late(*node, raises)));
        join(told, self.await_late(votes, granted)).await;
    }

    async fn await_late(&self, mut votes: Round<Ballot>, granted: &[Option<Grant>]) {
        while let Some((node, ballots)) = votes.late().await {
            let mut raises = Vec::new();
            for (which, ballot) in ballots.iter().enumerate() {
                match granted[which] {
                    Some(grant) if self.core.ledger.holds(self.asked[which].hold.token, self.core.now()) => {
                        let other =
                            grant.fence.filter(|_| ballot.may_hold() && ballot.fence() != grant.fence);
                        raises.extend(other.map(|fence| (which, fence)));
                    }
                    _ if planted!("what a node grants late to a failed attempt is left there") => {}
                    // Not granted, or already over: it has ended, or was released, and this node may have executed the
                    // release first.
                    _ => self.release_later(node, which, ballot),
                }
            }
            self.raise_late(node, &raises).await;
        }
    }

    /// Returns the fences to raise on each node: those of nodes that answered with another fence than the granted one and
    /// were not yet asked to write it.
    fn other_fences(
        &self,
        votes: &Round<Ballot>,
        granted: &[Option<Grant>],
        written: &[(usize, Fence)],
    ) -> Vec<(usize, Vec<(usize, Fence)>)> {
        let unwritten =
            granted.iter().enumerate().filter_map(|(which, grant)| Some((which, (*grant)?.fence?)));
        let unwritten: Vec<_> = unwritten.filter(|raise| !written.contains(raise)).collect();
        let others = |node| {
            let differs = |&(which, fence): &(usize, Fence)| {
                let said = votes.on(which).nth(node).flatten().and_then(Ballot::fence);
                said.is_some_and(|said| said != fence)
            };
            unwritten.iter().copied().filter(differs).collect::<Vec<_>>()
        };
        let nodes = (0..self.core.nodes.len()).map(|node| (node, others(node)));
        nodes.filter(|(_, raises)| !raises.is_empty()).collect()
    }

    async fn raise_late(&self, node: usize, raises: &[(usize, Fence)]) {
        if raises.is_empty() {
            return;
        }
        let node = &self.core.nodes[node];
        for error in raise(&self.core, node, &self.asked, raises).await.into_iter().filter_map(Result::err) {
            tracing::debug!(
                node = node.name,
                error = &error as &dyn std::error::Error,
                "a late fence was not written"
            );
        }
    }

    /// Queues the release of a hold that a ballot for a request without a grant may have left on its node. A ballot that
    /// was certainly not executed has left nothing, but a hold that an earlier attempt left there is pending again.
    fn release_later(&self, node: usize, which: usize, ballot: &Ballot) {
        const FIRST_PAUSE: Duration = Duration::from_millis(50);
        let Acquisition { hold, ttl, .. } = &*self.asked[which];
        let failed = matches!(ballot, Ballot::Failed(_));
        // A node that the second vote did not reach may have granted in the first.
        let granted_first = failed && self.voted_twice.load(Ordering::Relaxed);
        if !ballot.may_hold() && !granted_first {
            if failed {
                self.core.release_again(node, hold.token, self.number);
            }
            return;
        }
        let now = self.core.now();
        let again = failed.then_some(FIRST_PAUSE);
        let pending =
            PendingRelease { hold: hold.clone(), opening: now, end: now + *ttl, attempt: self.number, again };
        self.core.release_later(node, pending);
    }
}
