//! The ledger of a quorum: the latest attempt of each token, the grants, and the pending releases of each node.
//!
//! A token that failed may be tried again at once. Therefore a hold that one attempt left on a node may be released only
//! while no later attempt wants it, and a node that is releasing it at that moment has no vote on a later attempt before it has
//! answered.

mod releases;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use self::releases::NodeReleases;
pub(super) use self::releases::PendingRelease;
use crate::{
    core::{Fence, Mode, Moment, Owner, ResourceName, Token},
    store::{Acquisition, Hold, quorum::given_fence::GivenFence},
};

/// The time after the end of a token during which a message that was sent for it may still arrive.
const AFTER: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Ledger(Mutex<Books>);

#[derive(Debug)]
struct Books {
    attempts: u64,
    tokens: HashMap<Token, Attempted>,
    /// The owners that were granted a resource exclusively, with the tokens of their holds.
    owners: HashMap<(ResourceName, Owner), Vec<Token>>,
    sweep_at: usize,
    releases: Vec<NodeReleases>,
}

#[derive(Debug)]
struct Attempted {
    attempt: u64,
    end: Moment,
    granted: Option<Granted>,
    /// True while it waits: nodes keep queue tickets for it.
    waits: bool,
}

/// The data needed to grant a hold again on a node that lost it.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    pub(super) asked: Arc<Acquisition>,
    pub(super) fence: Option<Arc<GivenFence>>,
}

impl Ledger {
    pub(super) fn new(nodes: usize) -> Self {
        let releases = (0..nodes).map(|_| NodeReleases::default()).collect();
        Self(Mutex::new(Books {
            attempts: 0,
            tokens: HashMap::new(),
            owners: HashMap::new(),
            sweep_at: 1_024,
            releases,
        }))
    }

    /// Begins an attempt on these requests. From now on earlier attempts of the same tokens release nothing. Returns the
    /// number of the attempt, and for each request the fence that it should be granted with: that of the live hold that
    /// it repeats or re-enters.
    pub(super) fn begin(
        &self,
        asked: &[Arc<Acquisition>],
        now: Moment,
    ) -> (u64, Vec<Option<Arc<GivenFence>>>) {
        let mut books = self.books();
        books.sweep(now);
        books.attempts += 1;
        let attempt = books.attempts;
        let begin = |asked: &Arc<Acquisition>| {
            let expected = books.given(asked, now);
            let entry = Attempted { attempt, end: now + asked.ttl, granted: None, waits: false };
            books.tokens.insert(asked.hold.token, entry);
            expected
        };
        (attempt, asked.iter().map(begin).collect())
    }

    /// Records the grant of an attempt. Returns false, and records nothing, if its token was released meanwhile.
    pub(super) fn grant(&self, attempt: u64, granted: Granted) -> bool {
        let mut books = self.books();
        let Acquisition { hold, mode, .. } = &*granted.asked;
        let (token, key) = (hold.token, key(hold).filter(|_| *mode == Mode::Exclusive));
        let Some(entry) = books.tokens.get_mut(&token).filter(|entry| entry.attempt == attempt) else {
            return false;
        };
        entry.granted = Some(granted);
        if let Some(key) = key {
            let tokens = books.owners.entry(key).or_default();
            if !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        true
    }

    /// Notes the fence that a node gave to this token later than the others.
    pub(super) fn said(&self, token: Token, node: usize, said: Option<Fence>) {
        let books = self.books();
        let granted = books.tokens.get(&token).and_then(|entry| entry.granted.as_ref());
        if let Some((given, said)) = granted.and_then(|granted| granted.fence.as_ref()).zip(said) {
            given.said(node, said);
        }
    }

    /// Returns the time until which this token holds at least, if no node has forgotten it; `None` if it was not granted.
    pub(super) fn end(&self, token: Token) -> Option<Moment> {
        let books = self.books();
        books.tokens.get(&token).filter(|entry| entry.granted.is_some()).map(|entry| entry.end)
    }

    /// Extends the end of this token. Returns true if it is granted.
    pub(super) fn renewed(&self, token: Token, end: Moment) -> bool {
        let mut books = self.books();
        let Some(entry) = books.tokens.get_mut(&token) else {
            return false;
        };
        entry.end = entry.end.max(end);
        entry.granted.is_some()
    }

    /// Returns the grant of this token, until its end.
    pub(super) fn granted(&self, token: Token, now: Moment) -> Option<Granted> {
        self.books().tokens.get(&token).filter(|entry| entry.end > now)?.granted.clone()
    }

    /// Returns true if this token is granted and has not ended.
    pub(super) fn holds(&self, token: Token, now: Moment) -> bool {
        self.granted(token, now).is_some()
    }

    /// Removes the tokens of these holds, which nobody wants any more. Returns the number of the latest attempt.
    pub(super) fn remove<'a>(&self, holds: impl IntoIterator<Item = &'a Hold>) -> u64 {
        let mut books = self.books();
        for hold in holds {
            books.remove(hold);
            books.releases.iter_mut().for_each(|releases| releases.forget_place(hold.token));
        }
        books.attempts
    }

    /// Ends an attempt on this token. If it was not granted, it `waits` until that moment, or is removed. Returns true if it
    /// waits from now on: it was neither released nor asked for again meanwhile.
    pub(super) fn finish(&self, attempt: u64, asked: &Acquisition, waits: Option<Moment>) -> bool {
        let mut books = self.books();
        let entry = books.tokens.get_mut(&asked.hold.token);
        let Some(entry) = entry.filter(|entry| entry.attempt == attempt && entry.granted.is_none()) else {
            return false;
        };
        match waits {
            Some(end) => (entry.end, entry.waits) = (end, true),
            None => books.remove(&asked.hold),
        }
        waits.is_some()
    }

    /// Returns true if this token waits, after its attempt of this number or any.
    pub(super) fn waits(&self, token: Token, attempt: Option<u64>) -> bool {
        let is_it =
            |entry: &&Attempted| entry.waits && attempt.is_none_or(|attempt| entry.attempt == attempt);
        self.books().tokens.get(&token).is_some_and(|entry| is_it(&entry))
    }

    /// Returns true if anybody wants this token: it is granted, waits, or an attempt on it is in progress.
    pub(super) fn is_wanted(&self, token: Token) -> bool {
        self.books().tokens.contains_key(&token)
    }

    /// Sets a release aside until its token, which waits, is released or its next attempt does not reach the node.
    pub(super) fn set_aside(&self, node: usize, pending: PendingRelease) {
        self.books().releases[node].set_aside(pending);
    }

    /// Returns the nodes on which releases of these tokens are set aside.
    pub(super) fn aside(&self, tokens: &[Token]) -> Vec<(usize, Token)> {
        let books = self.books();
        let on = |(node, releases): (usize, &NodeReleases)| {
            let aside = tokens.iter().filter(|token| releases.wanted.contains_key(token));
            aside.map(|token| (node, *token)).collect::<Vec<_>>()
        };
        books.releases.iter().enumerate().flat_map(on).collect()
    }

    /// Queues the release of a hold on a node, unless a later attempt wants the hold. Returns true if the caller has to
    /// start the work.
    #[must_use]
    pub(super) fn release_later(&self, node: usize, pending: PendingRelease) -> bool {
        self.books().queue_unless_wanted(node, pending)
    }

    /// Queues again, in the name of this attempt, the release of what an earlier attempt left on a node that was not
    /// reached for this token. Returns true if the caller has to start the work.
    #[must_use]
    pub(super) fn release_again(&self, node: usize, token: Token, attempt: u64) -> bool {
        let mut books = self.books();
        let pending = books.releases[node].wanted.remove(&token);
        pending.is_some_and(|pending| {
            books.queue_unless_wanted(node, PendingRelease { attempt, queued_again: None, ..pending })
        })
    }

    /// Takes up to `most` pending releases of a node. An empty result means that the work on that node is done.
    pub(super) fn take(&self, node: usize, most: usize, now: Moment) -> Vec<PendingRelease> {
        let mut books = self.books();
        let releases = &mut books.releases[node];
        releases.pending.retain(|_, pending| pending.end > now);
        releases.wanted.retain(|_, pending| pending.end > now);
        releases.in_flight.retain(|_, end| *end > now);
        let due: Vec<PendingRelease> = releases.pending.values().take(most).cloned().collect();
        for pending in &due {
            releases.pending.remove(&pending.hold.token);
            releases.in_flight.insert(pending.hold.token, pending.end + AFTER);
            releases.asked.insert(pending.hold.token);
        }
        releases.worked_off = !due.is_empty();
        due
    }

    /// Settles a pending release: the node has answered it, and executes none that was sent before.
    pub(super) fn settled(&self, node: usize, pending: &PendingRelease) {
        let releases = &mut self.books().releases[node];
        releases.in_flight.remove(&pending.hold.token);
        releases.note_answer(pending.hold.token);
    }

    /// Puts back a release that has failed and may still be executed. It stays in flight and is pending all the same.
    pub(super) fn failed(&self, node: usize, pending: PendingRelease) {
        let mut books = self.books();
        books.releases[node].note_answer(pending.hold.token);
        match books.want(&pending) {
            true => books.releases[node].set_aside(pending),
            false => drop(books.releases[node].pending.insert(pending.hold.token, pending)),
        }
    }

    /// Stops the work on the pending releases of this node, and puts back those that were taken and are not settled.
    pub(super) fn abandon(&self, node: usize, taken: Vec<PendingRelease>) {
        for pending in taken {
            self.failed(node, pending);
        }
        self.books().releases[node].worked_off = false;
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // No code panics half-way while it holds this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the key under which the holds of an owner are found.
fn key(hold: &Hold) -> Option<(ResourceName, Owner)> {
    hold.owner.as_ref().map(|owner| (hold.resource.clone(), owner.clone()))
}

impl Books {
    /// Returns the fence of the live hold that this request repeats or re-enters.
    fn given(&self, asked: &Acquisition, now: Moment) -> Option<Arc<GivenFence>> {
        let given = |token| {
            let entry = self.tokens.get(token).filter(|entry| entry.end > now)?;
            entry.granted.as_ref()?.fence.clone()
        };
        given(&asked.hold.token).or_else(|| {
            let re_enters = asked.reentrant && asked.mode == Mode::Exclusive;
            let tokens = self.owners.get(&key(&asked.hold).filter(|_| re_enters)?)?;
            tokens.iter().filter_map(given).max_by_key(|given| given.get())
        })
    }

    fn remove(&mut self, hold: &Hold) {
        self.tokens.remove(&hold.token);
        let Some(key) = key(hold) else {
            return;
        };
        if let Entry::Occupied(mut tokens) = self.owners.entry(key) {
            tokens.get_mut().retain(|token| *token != hold.token);
            if tokens.get().is_empty() {
                tokens.remove();
            }
        }
    }

    fn want(&self, pending: &PendingRelease) -> bool {
        self.tokens.get(&pending.hold.token).is_some_and(|entry| {
            let forgotten =
                entry.waits && planted!("a release of an earlier attempt takes the place of a later one");
            entry.attempt > pending.attempt && !forgotten
        })
    }

    /// Queues a pending release, or sets it aside until the later attempt that wants its token has ended.
    fn queue_unless_wanted(&mut self, node: usize, pending: PendingRelease) -> bool {
        if self.want(&pending) {
            self.releases[node].set_aside(pending);
            return false;
        }
        let waits = self.tokens.contains_key(&pending.hold.token);
        self.releases[node].queue(if waits { pending } else { pending.without_place() })
    }

    /// Removes tokens that ended unreleased, when there are twice as many as were left the last time.
    fn sweep(&mut self, now: Moment) {
        const LEAST: usize = 1_024;
        if self.tokens.len() >= self.sweep_at {
            self.tokens.retain(|_, entry| entry.end + AFTER > now);
            let live = &self.tokens;
            self.owners.retain(|_, tokens| {
                tokens.retain(|token| live.contains_key(token));
                !tokens.is_empty()
            });
            self.sweep_at = LEAST.max(2 * self.tokens.len());
        }
    }
}

#[cfg(test)]
mod tests;
