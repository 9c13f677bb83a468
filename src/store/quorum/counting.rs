//! The counting of votes: the answer to each request.

use crate::{
    core::{Mode, Verdict, granted_fence, validity_left},
    store::{
        Acquired, Acquisition, Grant, Refusal, StoreError,
        quorum::{
            ballot::Ballot,
            round::Round,
            shared::median,
            voting::{QuorumAttempt, said},
        },
    },
};

/// Returns true if a node can release a hold of this acquisition and queue it again by one call.
pub(super) fn can_give_way(asked: &Acquisition) -> bool {
    asked.ticket.is_some() && asked.mode == Mode::Exclusive && asked.hold.owner.is_none()
}

impl QuorumAttempt {
    /// Returns the result of the votes on one request.
    pub(super) fn count(&self, votes: &Round<Ballot>, which: usize) -> Result<Acquired, StoreError> {
        let ballots = || votes.on(which).flatten();
        let grants: Vec<Grant> = ballots().filter_map(Ballot::grant).collect();
        match votes.tally(which, Ballot::vote).on_request() {
            Verdict::Yes => {
                self.in_time(which)?;
                let expected = self.before[which].expected.as_ref().map(|expected| expected.get());
                let is_known = |fence| self.is_known(votes, which, fence);
                let fence = granted_fence(expected, is_known, said(votes, which).map(|(_, said)| said));
                Ok(Acquired::Granted(Grant { fence, holds: median(grants.iter().map(|grant| grant.holds)) }))
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
        let asked = &self.asked[which];
        let places = ahead.len() + if can_give_way(asked) { yes } else { 0 };
        if places < self.quorum.needed() {
            return Ok(Acquired::Refused(refusal));
        }
        if yes > 0 {
            let patience = self.quorum.books(|books| books.tokens.patience_after_split(asked.hold.token));
            refusal.remaining = refusal.remaining.min(patience);
        }
        Ok(Acquired::Queued { refusal, ahead: median(ahead.into_iter()) })
    }

    /// Returns an error if the grant is no longer valid, since only a valid grant is given out. Recovery relies on that:
    /// when a node is taught, every grant that its earlier incarnation contributed to was given out.
    pub(super) fn in_time(&self, which: usize) -> Result<(), StoreError> {
        let spent = self.sent.elapsed(self.quorum.now());
        match validity_left(self.asked[which].ttl, spent).is_zero() {
            true => Err(StoreError::timed_out(spent)),
            false => Ok(()),
        }
    }

    /// Returns the holder that is in the way on most nodes, and the time until enough nodes have opened for a majority to
    /// be free.
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
}
