//! What a quorum remembers: which attempt of a token is the latest, what is granted, and what is to be given back where.
//!
//! A token that failed may be tried again at once. So what one attempt left on a node may be given back only while no
//! later attempt wants it, and a later one does not count on a node that is giving it back at that moment.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    protocol::{Fence, Moment, Token},
    store::{Acquisition, Hold},
};

/// More than this is left to its TTL.
const MOST_DEBTS: usize = 10_000;

#[derive(Debug)]
pub(super) struct Ledger(Mutex<Books>);

#[derive(Debug)]
struct Books {
    attempts: u64,
    tokens: HashMap<Token, Entry>,
    sweep_at: usize,
    owed: Vec<Owed>,
}

#[derive(Debug)]
struct Entry {
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
    on_their_way: HashSet<Token>,
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
}

impl Ledger {
    pub(super) fn new(nodes: usize) -> Self {
        let owed = (0..nodes).map(|_| Owed::default()).collect();
        Self(Mutex::new(Books { attempts: 0, tokens: HashMap::new(), sweep_at: 1_024, owed }))
    }

    /// These are attempted now; from now on earlier attempts of the same tokens give nothing back.
    pub(super) fn begin(&self, asked: &[Arc<Acquisition>], now: Moment) -> u64 {
        let mut books = self.books();
        books.sweep(now);
        books.attempts += 1;
        let attempt = books.attempts;
        for asked in asked {
            let entry = Entry { attempt, end: now + asked.ttl, granted: None };
            books.tokens.insert(asked.hold.token, entry);
        }
        attempt
    }

    /// A node is asked for these: what it owes of them is wanted again. Answers for each whether it is too late for that.
    pub(super) fn want_again(&self, node: usize, asked: &[Arc<Acquisition>]) -> Vec<bool> {
        let mut books = self.books();
        let owed = &mut books.owed[node];
        let want = |asked: &Arc<Acquisition>| {
            let token = asked.hold.token;
            owed.debts.remove(&token);
            owed.on_their_way.contains(&token)
        };
        asked.iter().map(want).collect()
    }

    /// An attempt is granted, unless its token was released meanwhile, which is answered.
    pub(super) fn grant(&self, attempt: u64, granted: Granted) -> bool {
        let mut books = self.books();
        let entry = books.tokens.get_mut(&granted.asked.hold.token).filter(|entry| entry.attempt == attempt);
        entry.map(|entry| entry.granted = Some(granted)).is_some()
    }

    /// What is granted to this token; its end is counted anew.
    pub(super) fn renewed(&self, token: Token, end: Moment) -> Option<Granted> {
        let mut books = self.books();
        let entry = books.tokens.get_mut(&token)?;
        entry.end = entry.end.max(end);
        entry.granted.clone()
    }

    pub(super) fn is_granted(&self, token: Token) -> bool {
        self.books().tokens.get(&token).is_some_and(|entry| entry.granted.is_some())
    }

    /// Nobody wants these any more. Answers the latest attempt until now.
    pub(super) fn forget<'a>(&self, holds: impl IntoIterator<Item = &'a Hold>) -> u64 {
        let mut books = self.books();
        for hold in holds {
            books.tokens.remove(&hold.token);
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
                books.tokens.remove(&token);
            }
        }
    }

    /// A hold is to be given back on a node, unless a later attempt wants it. Answers whether somebody has to begin with
    /// that.
    #[must_use]
    pub(super) fn owe(&self, node: usize, debt: Debt) -> bool {
        let mut books = self.books();
        !books.want(&debt) && books.owe(node, debt)
    }

    /// Takes up to `most` of what is owed on a node; nothing means that whoever works it off is done.
    pub(super) fn take(&self, node: usize, most: usize, now: Moment) -> Vec<Debt> {
        let mut books = self.books();
        let owed = &mut books.owed[node];
        owed.debts.retain(|_, debt| debt.end > now);
        let due: Vec<Debt> = owed.debts.values().take(most).cloned().collect();
        for debt in &due {
            owed.debts.remove(&debt.hold.token);
            owed.on_their_way.insert(debt.hold.token);
        }
        owed.worked_off = !due.is_empty();
        due
    }

    /// What came of a debt: it is settled, or still owed.
    pub(super) fn settle(&self, node: usize, debt: Debt, settled: bool) {
        let mut books = self.books();
        let wanted = books.want(&debt);
        let owed = &mut books.owed[node];
        owed.on_their_way.remove(&debt.hold.token);
        if !settled && !wanted {
            owed.debts.insert(debt.hold.token, debt);
        }
    }

    /// Nobody works off any more what is owed on this node, and these that were taken are not settled.
    pub(super) fn abandon(&self, node: usize, taken: Vec<Debt>) {
        for debt in taken {
            self.settle(node, debt, false);
        }
        self.books().owed[node].worked_off = false;
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Nothing under this lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn want(&self, debt: &Debt) -> bool {
        self.tokens.get(&debt.hold.token).is_some_and(|entry| entry.attempt > debt.attempt)
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
        /// A late answer may still belong to a token that has ended.
        const AFTER: Duration = Duration::from_secs(60);
        if self.tokens.len() >= self.sweep_at {
            self.tokens.retain(|_, entry| entry.end + AFTER > now);
            self.sweep_at = LEAST.max(2 * self.tokens.len());
        }
    }
}
