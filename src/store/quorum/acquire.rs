//! Acquisitions by a majority: the votes and their counting, the fence that is written back, and the end of the attempt.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tokio::sync::oneshot;

use crate::{
    core::{Fence, Mode, Verdict, granted_fence, validity_left},
    store::{
        Acquired, Acquisition, Answers, Grant, HandedOff, Hold, Refusal, StoreError,
        quorum::{
            ballot::Ballot,
            fences::GivenFence,
            hand_off::ReleasedFirst,
            round::Round,
            shared::{Quorum, median},
            tokens::{Before, Granted},
            voting::{QuorumAttempt, Raises, said},
        },
    },
};

type AcquireAnswer = Result<Acquired, StoreError>;

/// Has the nodes vote on all of these, and replies as soon as each is decided.
pub(super) async fn acquire(
    quorum: Arc<Quorum>,
    asked: Vec<Arc<Acquisition>>,
    reply: oneshot::Sender<Answers<Acquired>>,
) {
    let attempt = QuorumAttempt::begin(quorum, asked, None);
    attempt.run(|_, answers| reply.send(answers).is_ok()).await;
}

/// Releases a hold and has the nodes vote on its resource for another token, and replies as soon as both are decided.
pub(super) async fn hand_off(
    quorum: Arc<Quorum>,
    from: Hold,
    to: Arc<Acquisition>,
    reply: oneshot::Sender<Answers<HandedOff>>,
) {
    let from = Arc::new(ReleasedFirst::new(&quorum, from));
    let attempt = QuorumAttempt::begin(quorum, vec![to], Some(Arc::clone(&from)));
    let told = |attempt: &QuorumAttempt, acquired: Answers<Acquired>| {
        let handed_off = |acquired| {
            let released = from.released(&attempt.quorum, attempt.timeouts.met)?;
            let others_wait = !matches!(acquired, Ok(Acquired::Granted(_)));
            Ok(HandedOff { released, acquired, others_wait })
        };
        reply.send(acquired.into_iter().map(handed_off).collect()).is_ok()
    };
    attempt.run(told).await;
}

impl QuorumAttempt {
    /// Begins an attempt on these, for which a hold of the resource may be released first.
    pub(super) fn begin(
        quorum: Arc<Quorum>,
        mut asked: Vec<Arc<Acquisition>>,
        from: Option<Arc<ReleasedFirst>>,
    ) -> Arc<Self> {
        let sent = quorum.now();
        let shortest = asked.iter().map(|asked| asked.ttl).min().unwrap_or_default();
        let timeouts = quorum.options.timeouts_for(shortest);
        let (first, (number, before)) = quorum.books(|books| {
            let place = books.fence_clock.place(sent);
            (books.fence_clock.propose(asked.len(), sent), books.tokens.begin(&mut asked, place, sent))
        });
        let (clock, voted_twice) = (AtomicU64::default(), AtomicBool::default());
        Arc::new(Self { quorum, asked, number, before, first, clock, sent, timeouts, voted_twice, from })
    }

    /// Has the nodes vote, and tells the answers, unless that returns false because nobody waits for them any more.
    pub(super) async fn run(self: Arc<Self>, tell: impl FnOnce(&Self, Answers<Acquired>) -> bool) {
        let votes = self.votes().await;
        self.follow_clocks(&votes);
        let mut answers: Answers<Acquired> = self.requests().map(|which| self.count(&votes, which)).collect();
        let unknown = self.unknown_fences(&votes, &answers);
        self.write_back(&unknown, &mut answers).await;
        let from = self.from.as_ref().map(|from| from.released(&self.quorum, self.timeouts.met));
        if let Some(Err(error)) = from {
            // It is the answer to the hand-off: nobody would hear of a grant.
            let granted = answers.iter_mut().filter(|answer| grant_of(answer).is_some());
            granted.for_each(|answer| *answer = Err(error.clone()));
        }
        self.book(&votes, &mut answers);
        let mut granted: Vec<Option<Grant>> = answers.iter().map(grant_of).collect();
        let mut waits: Vec<bool> = answers.iter().zip(&self.before).map(waits_after).collect();
        if !tell(&self, answers) {
            // Nobody knows of the grants.
            self.quorum.books(|books| books.forget(self.asked.iter().map(|asked| &asked.hold)));
            granted.fill(None);
            waits.fill(false);
        }
        if let Some(from) = &self.from {
            from.release_again(&self.quorum);
        }
        self.tidy_up(votes, (&granted, &waits), &unknown).await;
    }
}

fn grant_of(answer: &AcquireAnswer) -> Option<Grant> {
    match answer {
        Ok(Acquired::Granted(grant)) => Some(*grant),
        _ => None,
    }
}

/// Returns true if the token waits from now on: it has queue tickets, and whoever asked will release it.
fn waits_after((answer, before): (&AcquireAnswer, &Before)) -> bool {
    match answer {
        Ok(Acquired::Queued { .. }) => true,
        Err(error) => before.waited && error.is_transient(),
        Ok(_) => false,
    }
}

impl QuorumAttempt {
    /// Feeds the clocks and the fences of the nodes into the next proposal.
    fn follow_clocks(&self, votes: &Round<Ballot>) {
        let clock = self.clock.load(Ordering::Relaxed);
        let largest = self.requests().flat_map(|which| said(votes, which)).map(|(_, said)| said).max();
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

    /// Raises fences on the nodes: they stay monotonic only if a majority of the holders knows the fence that is given out.
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
            let granted = Granted { attempt: self.number, asked: Arc::clone(&self.asked[which]), fence };
            if !self.quorum.books(|books| books.tokens.grant(granted)) {
                let doing = "acquire: it was released or asked for again meanwhile";
                *answer = Err(StoreError::reply_lost(doing));
            }
        }
    }
}

/// The counting of votes: the answer to each request.
impl QuorumAttempt {
    /// Returns the result of the votes on one request.
    fn count(&self, votes: &Round<Ballot>, which: usize) -> Result<Acquired, StoreError> {
        let grants: Vec<Grant> = votes.on(which).flatten().filter_map(Ballot::grant).collect();
        match votes.tally(which, Ballot::vote).on_request() {
            Verdict::Yes => {
                self.in_time(which)?;
                let expected = self.before[which].expected.as_ref().map(|expected| expected.get());
                let is_known = |fence| self.is_known(votes, which, fence);
                let fence = granted_fence(expected, is_known, said(votes, which).map(|(_, said)| said));
                // Each node has its own numbers.
                let holds = median(grants.iter().map(|grant| grant.holds));
                Ok(Acquired::Granted(Grant { fence, holds, slot: None }))
            }
            Verdict::No => self.kept_out(votes, which, grants.len()),
            Verdict::Open | Verdict::Short => Err(self.no_quorum(votes, which, grants.len())),
        }
    }

    /// Returns the answer to a request that is refused by enough nodes. It waits if it has a place in the queues of a
    /// majority: those that granted it queue it again.
    fn kept_out(&self, votes: &Round<Ballot>, which: usize, yes: usize) -> Result<Acquired, StoreError> {
        let (mut ahead, mut full, mut never) = (Vec::new(), Vec::new(), Vec::new());
        for ballot in votes.on(which).flatten() {
            match ballot {
                Ballot::Counts(Acquired::Queued { ahead: others, .. }) => ahead.push(*others),
                Ballot::Counts(Acquired::Full { waiters }) => full.push(*waiters),
                Ballot::Never(error) => never.push(error),
                _ => {}
            }
        }
        let refusals: Vec<&Refusal> = votes.on(which).flatten().filter_map(Ballot::refusal).collect();
        match never.first() {
            Some(&error) if never.len() > refusals.len() => return Err(error.clone()),
            _ if full.len() > refusals.len() => {
                return Ok(Acquired::Full { waiters: median(full.into_iter()) });
            }
            _ => {}
        }
        let mut refusal = self.refusal(refusals, yes);
        let places = ahead.len() + if self.can_give_way(which) { yes } else { 0 };
        if places < self.quorum.needed() {
            return Ok(Acquired::Refused(refusal));
        }
        if yes > 0 {
            let patience =
                self.quorum.books(|books| books.tokens.patience_after_split(self.asked[which].hold.token));
            refusal.remaining = refusal.remaining.min(patience);
        }
        Ok(Acquired::Queued { refusal, ahead: median(ahead.into_iter()) })
    }

    /// Returns an error if the grant is no longer valid, since only a valid grant is given out. Recovery relies on that:
    /// when a node is taught, every grant that its earlier incarnation contributed to was given out.
    fn in_time(&self, which: usize) -> Result<(), StoreError> {
        let spent = self.sent.elapsed(self.quorum.now());
        match validity_left(self.asked[which].ttl, spent).is_zero() {
            true => Err(StoreError::timed_out(spent)),
            false => Ok(()),
        }
    }

    /// Returns the holder that is in the way on most nodes, and the time until enough of them have opened for a majority.
    fn refusal(&self, mut refusals: Vec<&Refusal>, free: usize) -> Refusal {
        refusals.sort_by_key(|refusal| refusal.remaining);
        let missing = self.quorum.needed() - free;
        let remaining = refusals[missing.min(refusals.len()) - 1].remaining;
        let named =
            |refusal: &Refusal| refusals.iter().filter(|other| other.by.token == refusal.by.token).count();
        // A node may have admitted another token for a moment, to which the quorum granted nothing.
        let most = refusals.iter().max_by_key(|refusal| (named(refusal), refusal.remaining <= remaining));
        most.map_or_else(|| refusals[0].clone(), |most| Refusal { remaining, ..(*most).clone() })
    }

    fn no_quorum(&self, votes: &Round<Ballot>, which: usize, yes: usize) -> StoreError {
        let failures = votes.failures(which, self.timeouts.met, Ballot::failure);
        let perhaps = failures.iter().filter(|failure| failure.is_unknown()).count();
        self.quorum.no_quorum(failures, yes + perhaps >= self.quorum.needed())
    }

    /// Returns true if a node can release a hold of this request and queue it again by one call.
    pub(super) fn can_give_way(&self, which: usize) -> bool {
        let asked = &self.asked[which];
        asked.ticket.is_some() && asked.mode == Mode::Exclusive && asked.hold.owner.is_none()
    }
}
