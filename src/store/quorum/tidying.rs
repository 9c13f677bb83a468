//! The end of an attempt: what was not granted is released, or waits, and late answers are handled.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    ballot::Ballot,
    releases::{PendingRelease, Repetition},
    round::Round,
    voting::{QuorumAttempt, Raises},
};
use crate::{
    core::{Fence, Moment, Token, TurnEvent, most_named},
    store::{Acquisition, Grant},
};

/// Returns the ballots on a request, each with its node.
fn ballots(votes: &Round<Ballot>, which: usize) -> impl Iterator<Item = (usize, &Ballot)> {
    votes.on(which).enumerate().filter_map(|(node, ballot)| Some((node, ballot?)))
}

impl QuorumAttempt {
    /// Ends the attempt on each request: it is granted, waits, or everything that it left is released. Raises the fence of
    /// nodes that gave a smaller one. All that also goes for nodes that answer late.
    pub(super) async fn tidy_up(
        self: Arc<Self>,
        votes: Round<Ballot>,
        (granted, waits): (&[Option<Grant>], &[bool]),
        written: &Raises,
    ) {
        for which in self.requests() {
            let asked = &self.asked[which];
            let ticket = asked.ticket.filter(|_| waits[which]);
            let end = ticket.map(|ticket| self.quorum.now() + ticket.ttl);
            if granted[which].is_some() {
                self.hold_where_named(&votes, which);
                ballots(&votes, which).for_each(|(node, ballot)| self.left_by_grant(node, which, ballot));
            } else if self.quorum.books(|books| books.tokens.finish(self.number, &asked.hold, end)) {
                self.wait(&votes, which);
            } else if !planted!("what a node grants to a failed attempt is left there") {
                ballots(&votes, which).for_each(|(node, ballot)| self.release_later(node, which, ballot));
            }
        }
        let given = (0..).zip(granted).filter_map(|(which, grant)| Some((which, (*grant)?.fence?)));
        let unwritten: Vec<(usize, Fence)> = given.filter(|raise| !written.contains(raise)).collect();
        for node in 0..self.quorum.nodes.len() {
            let is_smaller = |(which, fence): &(usize, Fence)| {
                let said = votes.of(node).get(*which).and_then(Ballot::fence);
                said.is_some_and(|said| said < *fence)
            };
            self.raise_later(node, unwritten.iter().copied().filter(is_smaller).collect());
        }
        self.await_late(votes, granted).await;
    }

    /// Handles a ballot that failed for a token that is granted. What may still be executed is released with the token.
    fn left_by_grant(&self, node: usize, which: usize, ballot: &Ballot) {
        if !matches!(ballot, Ballot::Failed(_)) || !ballot.may_hold() && !self.granted_first(ballot) {
            return;
        }
        let (pending, now) = (self.left(which, ballot), self.quorum.now());
        let is_over = self.quorum.books(|books| {
            let is_over = !books.tokens.holds_since(pending.hold.token, self.number, now);
            if !is_over {
                books.releases[node].set_aside(pending);
            }
            is_over
        });
        if is_over {
            self.release_later(node, which, ballot);
        }
    }

    /// Has a token that is granted hold also on nodes that named it as next after it was counted.
    fn hold_where_named(&self, votes: &Round<Ballot>, which: usize) {
        let token = self.asked[which].hold.token;
        for node in self.quorum.books(|books| books.tokens.leave_queues(token, self.number)) {
            if votes.of(node).get(which).and_then(Ballot::grant).is_none() {
                self.quorum.repair_later(node, token);
            }
        }
    }

    /// Leaves a request in the queues. If its votes were split, it gives way on the nodes that granted it.
    fn wait(&self, votes: &Round<Ballot>, which: usize) {
        let mut split = Vec::new();
        for (node, ballot) in ballots(votes, which) {
            match ballot.grant() {
                Some(_) => split.push(node),
                None => self.left_by_waiter(node, which, ballot),
            }
        }
        let quorum = &self.quorum;
        let in_the_way = votes.on(which).flatten().filter_map(|ballot| Some(ballot.refusal()?.by.token));
        // As many as can refuse a request together.
        let is_held = most_named(in_the_way) > quorum.nodes.len() - quorum.needed();
        let answered = TurnEvent::Answered { split: &split, is_held };
        quorum.follow(self.asked[which].hold.token, Some(self.number), answered);
        split.into_iter().for_each(|node| self.give_way(node, which, &votes.of(node)[which]));
    }

    /// Releases what a node granted to a request that waits, and queues it there again: at its place, or at the end.
    fn give_way(&self, node: usize, which: usize, ballot: &Ballot) {
        let queued_again = self.can_give_way(which).then(|| Arc::clone(&self.asked[which]));
        if queued_again.is_some() && planted!("nobody gives way in a split") {
            return;
        }
        self.quorum.release_later(node, PendingRelease { queued_again, ..self.left(which, ballot) });
    }

    /// Handles a ballot that is no grant for a request that waits. What may still be executed is released with the token.
    fn left_by_waiter(&self, node: usize, which: usize, ballot: &Ballot) {
        let (token, now) = (self.asked[which].hold.token, self.quorum.now());
        if matches!(ballot, Ballot::Abstains(_)) {
            self.release_later(node, which, ballot);
        } else if ballot.may_hold() || self.granted_first(ballot) {
            let pending = self.left(which, ballot);
            self.quorum.books(|books| books.releases[node].set_aside(pending));
        } else if self.quorum.books(|books| books.releases[node].is_in_flight(token, now)) {
            // Until that is certain the node counts for nothing.
            self.release_later(node, which, ballot);
        }
    }

    async fn await_late(self: &Arc<Self>, mut votes: Round<Ballot>, granted: &[Option<Grant>]) {
        while let Some(node) = votes.late().await {
            let mut raises = Vec::new();
            for (which, ballot) in votes.of(node).iter().enumerate() {
                let (token, now) = (self.asked[which].hold.token, self.quorum.now());
                match granted[which] {
                    Some(grant) if self.note_late(node, token, ballot, now) => {
                        let unraised =
                            grant.fence.filter(|_| ballot.may_hold() && ballot.fence() < grant.fence);
                        raises.extend(unraised.map(|fence| (which, fence)));
                        self.left_by_grant(node, which, ballot);
                    }
                    None if self.quorum.books(|books| books.tokens.waits_since(token, self.number)) => {
                        match ballot.grant() {
                            Some(_) => self.give_way(node, which, ballot),
                            None => self.left_by_waiter(node, which, ballot),
                        }
                    }
                    _ if planted!("what a node grants late to a failed attempt is left there") => {}
                    // Not granted, or over: it ended, or was released, which this node may have executed first.
                    _ => self.release_later(node, which, ballot),
                }
            }
            // Other nodes that are late do not wait for it.
            self.raise_later(node, raises);
        }
    }

    /// Notes the fence that a node gave to a granted token later than the others. Returns false if the token is over.
    fn note_late(&self, node: usize, token: Token, ballot: &Ballot, now: Moment) -> bool {
        self.quorum.books(|books| {
            let Some(granted) = books.tokens.granted(token, now) else { return false };
            if let (Some(given), Some(said)) = (&granted.fence, ballot.fence()) {
                given.said(node, said);
            }
            true
        })
    }

    /// Raises fences, in the background, on a node that gave smaller ones.
    fn raise_later(self: &Arc<Self>, node: usize, raises: Vec<(usize, Fence)>) {
        if raises.is_empty() {
            return;
        }
        let attempt = Arc::clone(self);
        tokio::spawn(async move {
            for error in attempt.raise(node, &raises).await.into_iter().filter_map(Result::err) {
                let (node, error) = (&attempt.quorum.nodes[node].name, &error as &dyn std::error::Error);
                tracing::debug!(node, error, "a late fence was not written");
            }
        });
    }

    /// Queues the release of what a ballot for a request that is over may have left on its node: a hold or a queue ticket. A
    /// ballot that was certainly not executed has left nothing, but what an earlier attempt left there is pending again.
    fn release_later(&self, node: usize, which: usize, ballot: &Ballot) {
        if ballot.may_leave_something() || self.granted_first(ballot) {
            self.quorum.release_later(node, self.left(which, ballot));
        } else if matches!(ballot, Ballot::Failed(_)) {
            self.quorum.release_again(node, self.asked[which].hold.token, self.number);
        }
    }

    /// Returns true if a node that the second vote did not reach may have granted in the first.
    fn granted_first(&self, ballot: &Ballot) -> bool {
        matches!(ballot, Ballot::Failed(_)) && self.voted_twice.load(Ordering::Relaxed)
    }

    /// Returns the release of what a ballot may have left.
    fn left(&self, which: usize, ballot: &Ballot) -> PendingRelease {
        let Acquisition { hold, ttl, ticket, .. } = &*self.asked[which];
        let (now, ticket_ttl) = (self.quorum.now(), ticket.map_or(Duration::ZERO, |ticket| ticket.ttl));
        let end = now + ticket_ttl.max(*ttl);
        let again = matches!(ballot, Ballot::Failed(_)).then(|| Repetition::first(end));
        PendingRelease { again, ..PendingRelease::new(hold.clone(), now, end, self.number) }
    }
}
