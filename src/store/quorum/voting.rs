//! The vote of the nodes on an attempt, and a second vote when nodes have recovered meanwhile.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tokio::time::Instant;

use crate::{
    core::{Fence, Moment, Tally, Verdict, is_known},
    store::{
        Acquisition, Hold,
        quorum::{
            asking::vote, core::Core, given_fence::GivenFence, node::Ballot, options::Timeouts, poll::Round,
            recovery,
        },
    },
};

/// One attempt on several tokens.
pub(super) struct Attempt {
    pub(super) core: Arc<Core>,
    pub(super) asked: Arc<[Arc<Acquisition>]>,
    pub(super) number: u64,
    /// The fences of the live holds that are repeated or re-entered.
    pub(super) expected: Vec<Option<Arc<GivenFence>>>,
    /// True for each request that waited already.
    pub(super) waited: Vec<bool>,
    /// The fence that is proposed for the first request.
    pub(super) first: Fence,
    /// The latest clock reading of any node, in µs.
    pub(super) clock: Arc<AtomicU64>,
    pub(super) sent: Moment,
    pub(super) timeouts: Timeouts,
    /// Set when nodes recovered meanwhile and all were asked again.
    pub(super) voted_twice: AtomicBool,
}

pub(super) fn tally(votes: &Round<Ballot>, which: usize) -> Tally {
    let ballots = votes.on(which);
    let mut tally = Tally::new(ballots.len());
    for ballot in ballots {
        match ballot {
            None => {}
            Some(Ballot::Yes(_)) => tally.yes(),
            Some(Ballot::No(_) | Ballot::Queued { .. } | Ballot::Full(_) | Ballot::Never(_)) => tally.no(),
            Some(Ballot::Abstains(_) | Ballot::Failed(_)) => tally.silent(),
        }
    }
    tally
}

fn abstentions(votes: &Round<Ballot>, which: usize) -> usize {
    votes.on(which).flatten().filter(|ballot| matches!(ballot, Ballot::Abstains(_))).count()
}

/// Returns the fences that the nodes gave to a request, each with its node.
pub(super) fn said(votes: &Round<Ballot>, which: usize) -> impl Iterator<Item = (usize, Fence)> {
    votes.on(which).enumerate().filter_map(|(node, ballot)| Some((node, ballot?.fence()?)))
}

impl Attempt {
    pub(super) fn requests(&self) -> std::ops::Range<usize> {
        0..self.asked.len()
    }

    /// Returns true if a majority knows this fence of a request. A node where the live hold has a larger one knows that of the
    /// hold as well.
    pub(super) fn is_known(&self, votes: &Round<Ballot>, which: usize, fence: Fence) -> bool {
        is_known(fence, self.meant(votes, which, fence), self.core.nodes.len())
    }

    fn meant(&self, votes: &Round<Ballot>, which: usize, fence: Fence) -> impl Iterator<Item = Fence> {
        let expected = self.expected[which].as_ref().filter(|expected| expected.get() == fence);
        said(votes, which)
            .map(move |(node, said)| expected.map_or(said, |expected| expected.meant(node, said)))
    }

    /// Returns the votes of the nodes. Votes again if nodes that abstained have recovered in time and are needed.
    pub(super) async fn votes(&self) -> Round<Ballot> {
        let voted = Instant::now();
        let votes = self.gathered(self.timeouts).await;
        if !self.requests().any(|which| abstentions(&votes, which) > 0) {
            return votes;
        }
        recovery::recover_later(&self.core, voted);
        let short = |which| {
            let yes = tally(&votes, which).yes_votes();
            yes < self.core.needed() && yes + abstentions(&votes, which) >= self.core.needed()
        };
        let left = self.timeouts.left(voted.elapsed());
        if self.requests().any(short) && recovery::recovered(&self.core, voted, left.new).await {
            let abstained = self.abstained(&votes);
            self.voted_twice.store(true, Ordering::Relaxed);
            if self.release_abstained(&abstained, self.timeouts.left(voted.elapsed())).await {
                return self.gathered(self.timeouts.left(voted.elapsed())).await;
            }
        }
        votes
    }

    /// Returns the holds that each node granted without its vote counting.
    fn abstained(&self, votes: &Round<Ballot>) -> Vec<Vec<Hold>> {
        let abstained =
            |node, which: &usize| matches!(votes.on(*which).nth(node).flatten(), Some(Ballot::Abstains(_)));
        let holds = |node| {
            let requests = self.requests().filter(|which| abstained(node, which));
            requests.map(|which| self.asked[which].hold.clone()).collect()
        };
        (0..self.core.nodes.len()).map(holds).collect()
    }

    /// Releases, before the next vote, what nodes granted before they had recovered, since those grants never count.
    /// Returns true if all releases are certain. One that is executed later could undo the next vote.
    async fn release_abstained(&self, holds: &[Vec<Hold>], timeouts: Timeouts) -> bool {
        let mut released = Round::ask(&self.core.nodes, |which, node| {
            let holds = holds[which].clone();
            async move {
                let releases: Vec<_> = holds.iter().map(|hold| (hold, Duration::ZERO)).collect();
                match releases.is_empty() {
                    true => Vec::new(),
                    false => node.insist(releases.len(), node.store.release_each(&releases)).await,
                }
            }
            .boxed()
        });
        released.gather(timeouts, |_| false).await;
        let answered: usize = released.into_answers().filter(Result::is_ok).count();
        answered == holds.iter().flatten().count()
    }

    async fn gathered(&self, timeouts: Timeouts) -> Round<Ballot> {
        let mut votes = self.vote();
        votes.gather(timeouts, |votes| self.requests().all(|which| self.is_decided(votes, which))).await;
        votes
    }

    fn vote(&self) -> Round<Ballot> {
        Round::ask(&self.core.nodes, |which, node| {
            let (core, asked) = (Arc::clone(&self.core), Arc::clone(&self.asked));
            let (number, first, clock) = (self.number, self.first, Arc::clone(&self.clock));
            let within = self.timeouts.met;
            async move { vote(&core, which, &node, (number, &asked), first, &clock, within).await }.boxed()
        })
    }

    /// Returns true if there is nothing left to wait for, not even nodes that may still know the expected fence.
    fn is_decided(&self, votes: &Round<Ballot>, which: usize) -> bool {
        let verdict = tally(votes, which).on_request();
        let (Verdict::Yes, Some(expected)) = (verdict, &self.expected[which]) else {
            return verdict != Verdict::Open;
        };
        let fence = expected.get();
        let know = self.meant(votes, which, fence).filter(|meant| *meant == fence).count();
        let needed = self.core.needed();
        let open = votes.on(which).filter(Option::is_none).count();
        know >= needed || know + open < needed
    }
}
