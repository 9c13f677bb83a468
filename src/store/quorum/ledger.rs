//! What a quorum remembers: which attempt of a token is the latest, what is granted, and what is to be given back where.
//!
//! A token that failed may be tried again at once. So what one attempt left on a node may be given back only while no
//! later attempt wants it, and a later one does not count on a node that is giving it back at that moment.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    protocol::{Fence, Mode, Moment, Owner, ResourceName, Token},
    store::{Acquisition, Hold},
};

/// How long after the end of a token something that was sent for it may still arrive.
const AFTER: Duration = Duration::from_secs(60);

/// More than this is left to its TTL.
const MOST_DEBTS: usize = 10_000;

#[derive(Debug)]
pub(super) struct Ledger(Mutex<Books>);

#[derive(Debug)]
struct Books {
    attempts: u64,
    tokens: HashMap<Token, Attempted>,
    /// Who was granted a resource exclusively, with the tokens of its holds.
    owners: HashMap<(ResourceName, Owner), Vec<Token>>,
    sweep_at: usize,
    owed: Vec<Owed>,
}

#[derive(Debug)]
struct Attempted {
    attempt: u64,
    end: Moment,
    granted: Option<Granted>,
}

/// What it takes to grant it again on a node that lost it.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    pub(super) asked: Arc<Acquisition>,
    pub(super) fence: Option<Fence>,
}

/// What is to be given back on one node.
#[derive(Debug, Default)]
struct Owed {
    debts: BTreeMap<Token, Debt>,
    /// Those whose token is wanted again, until it is known whether the node was reached.
    wanted: HashMap<Token, Debt>,
    /// Tokens whose release may still be executed, and until when that is reckoned with.
    on_their_way: HashMap<Token, Moment>,
    worked_off: bool,
}

/// A hold that nobody wants any more.
#[derive(Clone, Debug)]
pub(super) struct Debt {
    pub(super) hold: Hold,
    /// When its resource opens.
    pub(super) opening: Moment,
    /// When it has ended by itself.
    pub(super) end: Moment,
    /// The latest attempt that left it; a later one wants it again.
    pub(super) attempt: u64,
    /// After what pause it is released again if it is not held: for an acquisition that may still be executed.
    pub(super) again: Option<Duration>,
}

impl Ledger {
    pub(super) fn new(nodes: usize) -> Self {
        let owed = (0..nodes).map(|_| Owed::default()).collect();
        Self(Mutex::new(Books {
            attempts: 0,
            tokens: HashMap::new(),
            owners: HashMap::new(),
            sweep_at: 1_024,
            owed,
        }))
    }

    /// These are attempted now; from now on earlier attempts of the same tokens give nothing back. Answers for each also
    /// the fence that it should be granted with: that of the live hold that it repeats or re-enters.
    pub(super) fn begin(&self, asked: &[Arc<Acquisition>], now: Moment) -> (u64, Vec<Option<Fence>>) {
        let mut books = self.books();
        books.sweep(now);
        books.attempts += 1;
        let attempt = books.attempts;
        let begin = |asked: &Arc<Acquisition>| {
            let fence = books.fence_of(asked, now);
            let entry = Attempted { attempt, end: now + asked.ttl, granted: None };
            books.tokens.insert(asked.hold.token, entry);
            fence
        };
        (attempt, asked.iter().map(begin).collect())
    }

    /// A node is asked for these: what it owes of them is wanted again. Answers for each whether it is too late for that.
    pub(super) fn want_again(&self, node: usize, asked: &[Arc<Acquisition>], now: Moment) -> Vec<bool> {
        let mut books = self.books();
        let owed = &mut books.owed[node];
        let want = |asked: &Arc<Acquisition>| {
            let token = asked.hold.token;
            if let Some(debt) = owed.debts.remove(&token) {
                owed.wanted.insert(token, debt);
            }
            owed.on_their_way.get(&token).is_some_and(|end| *end > now)
        };
        asked.iter().map(want).collect()
    }

    /// An attempt is granted, unless its token was released meanwhile, which is answered.
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

    /// Until when this token holds at least, if nothing was forgotten; `None` if it was not granted.
    pub(super) fn end(&self, token: Token) -> Option<Moment> {
        let books = self.books();
        books.tokens.get(&token).filter(|entry| entry.granted.is_some()).map(|entry| entry.end)
    }

    /// The end of this token is counted anew. Answers whether it is granted.
    pub(super) fn renewed(&self, token: Token, end: Moment) -> bool {
        let mut books = self.books();
        let Some(entry) = books.tokens.get_mut(&token) else {
            return false;
        };
        entry.end = entry.end.max(end);
        entry.granted.is_some()
    }

    /// What is granted to this token, until its end.
    pub(super) fn granted(&self, token: Token, now: Moment) -> Option<Granted> {
        self.books().tokens.get(&token).filter(|entry| entry.end > now)?.granted.clone()
    }

    /// Whether this token is granted, and has not ended.
    pub(super) fn holds(&self, token: Token, now: Moment) -> bool {
        self.granted(token, now).is_some()
    }

    /// Nobody wants these any more. Answers the latest attempt until now.
    pub(super) fn forget<'a>(&self, holds: impl IntoIterator<Item = &'a Hold>) -> u64 {
        let mut books = self.books();
        for hold in holds {
            books.remove(hold);
        }
        books.attempts
    }

    /// An attempt that was not granted is over.
    pub(super) fn finish(&self, attempt: u64, asked: &[Arc<Acquisition>]) {
        let mut books = self.books();
        for asked in asked {
            let token = asked.hold.token;
            if books
                .tokens
                .get(&token)
                .is_some_and(|entry| entry.attempt == attempt && entry.granted.is_none())
            {
                books.remove(&asked.hold);
            }
        }
    }

    /// A hold is to be given back on a node, unless a later attempt wants it. Answers whether somebody has to begin with
    /// that.
    #[must_use]
    pub(super) fn owe(&self, node: usize, debt: Debt) -> bool {
        self.books().owe_unless_wanted(node, debt)
    }

    /// A node was not reached for this token: what an earlier attempt left there is owed again, by this one. Answers whether
    /// somebody has to begin with that.
    #[must_use]
    pub(super) fn owe_again(&self, node: usize, token: Token, attempt: u64) -> bool {
        let mut books = self.books();
        let debt = books.owed[node].wanted.remove(&token);
        debt.is_some_and(|debt| books.owe_unless_wanted(node, Debt { attempt, ..debt }))
    }

    /// Takes up to `most` of what is owed on a node; nothing means that whoever works it off is done.
    pub(super) fn take(&self, node: usize, most: usize, now: Moment) -> Vec<Debt> {
        let mut books = self.books();
        let owed = &mut books.owed[node];
        owed.debts.retain(|_, debt| debt.end > now);
        owed.wanted.retain(|_, debt| debt.end > now);
        owed.on_their_way.retain(|_, end| *end > now);
        let due: Vec<Debt> = owed.debts.values().take(most).cloned().collect();
        for debt in &due {
            owed.debts.remove(&debt.hold.token);
            owed.on_their_way.insert(debt.hold.token, debt.end + AFTER);
        }
        owed.worked_off = !due.is_empty();
        due
    }

    /// A debt is settled: the node has answered its release, and executes none that was sent before.
    pub(super) fn settled(&self, node: usize, debt: &Debt) {
        self.books().owed[node].on_their_way.remove(&debt.hold.token);
    }

    /// The release of a debt has failed, and may still be executed: it stays on its way, and is owed all the same.
    pub(super) fn failed(&self, node: usize, debt: Debt) {
        let mut books = self.books();
        let token = debt.hold.token;
        match books.want(&debt) {
            true => books.owed[node].wanted.insert(token, debt),
            false => books.owed[node].debts.insert(token, debt),
        };
    }

    /// Nobody works off any more what is owed on this node, and these that were taken are not settled.
    pub(super) fn abandon(&self, node: usize, taken: Vec<Debt>) {
        for debt in taken {
            self.failed(node, debt);
        }
        self.books().owed[node].worked_off = false;
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Nothing under this lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Under which the holds of an owner are found.
fn key(hold: &Hold) -> Option<(ResourceName, Owner)> {
    hold.owner.as_ref().map(|owner| (hold.resource.clone(), owner.clone()))
}

impl Books {
    /// The fence of the live hold that this repeats, or re-enters.
    fn fence_of(&self, asked: &Acquisition, now: Moment) -> Option<Fence> {
        let fence = |token| {
            let entry = self.tokens.get(token).filter(|entry| entry.end > now)?;
            entry.granted.as_ref()?.fence
        };
        fence(&asked.hold.token).or_else(|| {
            let re_enters = asked.reentrant && asked.mode == Mode::Exclusive;
            let tokens = self.owners.get(&key(&asked.hold).filter(|_| re_enters)?)?;
            tokens.iter().find_map(fence)
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

    fn want(&self, debt: &Debt) -> bool {
        self.tokens.get(&debt.hold.token).is_some_and(|entry| entry.attempt > debt.attempt)
    }

    /// A debt whose token a later attempt wants is set aside until that one has ended.
    fn owe_unless_wanted(&mut self, node: usize, debt: Debt) -> bool {
        if self.want(&debt) {
            self.owed[node].wanted.insert(debt.hold.token, debt);
            return false;
        }
        self.owe(node, debt)
    }

    fn owe(&mut self, node: usize, debt: Debt) -> bool {
        let owed = &mut self.owed[node];
        if owed.debts.len() >= MOST_DEBTS {
            tracing::debug!(token = %debt.hold.token.prefix(), "a quorum owes too many releases; this one ends by itself");
            return false;
        }
        owed.debts.insert(debt.hold.token, debt);
        !std::mem::replace(&mut owed.worked_off, true)
    }

    /// Forgets tokens that ended unreleased, when there are twice as many as were left the last time.
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
