//! The vote of the nodes on an attempt, and a second vote when nodes have recovered meanwhile.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{
    ballot::Ballot, hand_off::ReleasedFirst, options::Timeouts, recovery, round::Round, shared::Quorum,
    tokens::Before,
};
use crate::{
    core::{Fence, Moment, Verdict, is_known},
    store::{Acquisition, Answers, Hold, Released, StoreError},
};

/// The fences that are to be raised: each with the index of its request.
pub(super) type Raises = [(usize, Fence)];

/// One attempt on several tokens.
pub(super) struct QuorumAttempt {
    pub(super) quorum: Arc<Quorum>,
    pub(super) asked: Vec<Arc<Acquisition>>,
    pub(super) number: u64,
    /// The knowledge of each token before.
    pub(super) before: Vec<Before>,
    /// The fence that is proposed for the first request.
    pub(super) first: Fence,
    /// The latest clock reading of any node, in µs.
    pub(super) clock: AtomicU64,
    pub(super) sent: Moment,
    pub(super) timeouts: Timeouts,
    /// Set when nodes recovered meanwhile and all were asked again.
    pub(super) voted_twice: AtomicBool,
    /// The hold that is handed off to the only request.
    pub(super) from: Option<Arc<ReleasedFirst>>,
}

fn abstentions(votes: &Round<Ballot>, which: usize) -> usize {
    votes.on(which).flatten().filter(|ballot| matches!(ballot, Ballot::Abstains(_))).count()
}

/// Returns the fences that the nodes gave to a request, each with its node.
pub(super) fn said(votes: &Round<Ballot>, which: usize) -> impl Iterator<Item = (usize, Fence)> {
    votes.on(which).enumerate().filter_map(|(node, ballot)| Some((node, ballot?.fence()?)))
}

impl QuorumAttempt {
    pub(super) fn requests(&self) -> std::ops::Range<usize> {
        0..self.asked.len()
    }

    /// Returns true if a majority knows this fence of a request. A node where the live hold has a larger one knows that of the
    /// hold as well.
    pub(super) fn is_known(&self, votes: &Round<Ballot>, which: usize, fence: Fence) -> bool {
        is_known(fence, self.meant(votes, which, fence), self.quorum.nodes.len())
    }

    fn meant(&self, votes: &Round<Ballot>, which: usize, fence: Fence) -> impl Iterator<Item = Fence> {
        let expected = self.before[which].expected.as_ref().filter(|expected| expected.get() == fence);
        said(votes, which)
            .map(move |(node, said)| expected.map_or(said, |expected| expected.meant(node, said)))
    }

    /// Returns the votes of the nodes. Votes again if nodes that abstained have recovered in time and are needed.
    pub(super) async fn votes(self: &Arc<Self>) -> Round<Ballot> {
        let voted = Instant::now();
        let votes = self.gathered(self.timeouts).await;
        let abstained: usize = self.requests().map(|which| abstentions(&votes, which)).sum();
        if abstained == 0 {
            return votes;
        }
        recovery::recover_later(&self.quorum, voted);
        let needed = self.quorum.needed();
        let short = |which| {
            let yes = votes.tally(which, Ballot::vote).yes;
            yes < needed && yes + abstentions(&votes, which) >= needed
        };
        let left = self.timeouts.left(voted.elapsed());
        if self.requests().any(short) && recovery::recovered(&self.quorum, voted, left.new).await {
            self.voted_twice.store(true, Ordering::Relaxed);
            let mut released = self.release_abstained(&votes);
            released.gather(self.timeouts.left(voted.elapsed()), |_| false).await;
            // A release that is executed later could undo the next vote.
            if released.into_answers().filter(Result::is_ok).count() == abstained {
                return self.gathered(self.timeouts.left(voted.elapsed())).await;
            }
        }
        votes
    }

    /// Releases, before the next vote, what nodes granted before they had recovered, since those grants never count.
    fn release_abstained(&self, votes: &Round<Ballot>) -> Round<Result<Released, StoreError>> {
        Round::ask(&self.quorum, |quorum, node| {
            let ballots = self.asked.iter().zip(votes.of(node));
            let abstained = ballots.filter(|(_, ballot)| matches!(ballot, Ballot::Abstains(_)));
            let holds: Vec<Hold> = abstained.map(|(asked, _)| asked.hold.clone()).collect();
            async move {
                let releases: Vec<_> = holds.iter().map(|hold| (hold, Duration::ZERO)).collect();
                quorum.insist(node, releases.len(), quorum.store(node).release_each(&releases)).await
            }
        })
    }

    async fn gathered(self: &Arc<Self>, timeouts: Timeouts) -> Round<Ballot> {
        let mut votes = Round::ask(&self.quorum, |_, node| {
            let attempt = Arc::clone(self);
            async move { attempt.ballots_of(node).await }
        });
        let is_released = || self.from.as_ref().is_none_or(|from| from.is_decided(&self.quorum));
        let are_decided = |votes: &Round<_>| self.requests().all(|which| self.is_decided(votes, which));
        votes.gather(timeouts, |votes| are_decided(votes) && is_released()).await;
        votes
    }

    /// Returns true if there is nothing left to wait for, not even nodes that may still know the expected fence.
    fn is_decided(&self, votes: &Round<Ballot>, which: usize) -> bool {
        let verdict = votes.tally(which, Ballot::vote).on_request();
        let (Verdict::Yes, Some(expected)) = (verdict, &self.before[which].expected) else {
            return verdict != Verdict::Open;
        };
        let fence = expected.get();
        let know = self.meant(votes, which, fence).filter(|meant| *meant == fence).count();
        let needed = self.quorum.needed();
        let open = votes.on(which).filter(Option::is_none).count();
        know >= needed || know + open < needed
    }
}

/// The requests to one node.
impl QuorumAttempt {
    /// Asks a node for its votes. The node has no vote on a token that it is releasing at this moment: an acquisition that
    /// overtook the release would be undone by it. Waiters may have given way just now, so they are asked for after the answer
    /// to that, unless it takes more than half of the time that the node has to answer. On slow links they would meet what they
    /// gave back themselves again and again.
    async fn ballots_of(&self, node: usize) -> Vec<Ballot> {
        let (quorum, asked) = (&self.quorum, &self.asked);
        let want_again = |now| quorum.books(|books| books.want_again(node, asked, self.number, now));
        let mut too_late = want_again(quorum.now());
        let mut from = self.from.as_deref().filter(|from| from.begins_on(quorum, node));
        if let Some(from) = from.take_if(|_| too_late.contains(&true)) {
            // It does not wait for what the request has to wait for.
            from.release(quorum, node).await;
        }
        // Votes on others do not wait for them.
        let waits = too_late.iter().all(|late| *late) && asked.iter().all(|asked| asked.ticket.is_some());
        if waits {
            // One that is not answered in time is still in flight.
            let _in_time = tokio::time::timeout(self.timeouts.met / 2, self.releases_answered(node)).await;
            too_late = want_again(quorum.now());
        }
        let fit = match too_late.contains(&true) {
            true => {
                let fit = asked.iter().zip(&too_late).filter(|(_, late)| !**late);
                Cow::Owned(fit.map(|(asked, _)| Arc::clone(asked)).collect())
            }
            false => Cow::Borrowed(asked),
        };
        let (ballots, read) = match (from, fit.as_slice()) {
            (Some(from), [to]) => from.release_for(quorum, node, to, self.first).await,
            _ => quorum.ballots(node, &fit, self.first).await,
        };
        // The time that a node tells after a wait says nothing of how far its clock is ahead.
        if let Some(read) = read.filter(|_| !waits) {
            self.clock.fetch_max(read.get(), Ordering::Relaxed);
            let now = quorum.now();
            quorum.books(|books| books.fence_clock.at_least(read, now));
        }
        let mut ballots = ballots.into_iter();
        let mut ballot = |late| if late { None } else { ballots.next() };
        let reason = "what an earlier attempt left there is still being released, or this one is over";
        let failed = || Ballot::Failed(StoreError::unavailable(reason));
        too_late.into_iter().map(|late| ballot(late).unwrap_or_else(failed)).collect()
    }

    /// Waits until the node has answered all releases of these tokens that it was asked for.
    async fn releases_answered(&self, node: usize) {
        let tokens = || self.asked.iter().map(|asked| asked.hold.token);
        let next_answer = || {
            self.quorum.books(|books| {
                // An answer that comes after the check counts.
                Some(books.releases[node].unanswered(tokens())?.notified_owned())
            })
        };
        while let Some(answer) = next_answer() {
            answer.await;
        }
    }

    /// Writes these fences to a node.
    pub(super) async fn raise(&self, node: usize, raises: &Raises) -> Answers<bool> {
        let raises: Vec<(&Hold, Fence)> =
            raises.iter().map(|(which, fence)| (&self.asked[*which].hold, *fence)).collect();
        let call = self.quorum.store(node).raise_fences(&raises);
        self.quorum.ask(node, raises.len(), call).await
    }
}
