//! The records of a manager's acquisitions, in one table with one queue of timers.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use slotmap::SecondaryMap;

use crate::{
    core::{RecordKey, Token},
    lease::LeaseShared,
    manager::{Record, Role},
    runtime::timer_queue::TimerQueue,
};

/// A handle to the records of a manager. They survive its panics, and leases end in time meanwhile.
#[derive(Clone, Default)]
pub(crate) struct Records(Rc<RefCell<Table>>);

#[derive(Default)]
struct Table {
    records: SecondaryMap<RecordKey, Record>,
    /// The records of this manager's own acquisitions, for messages that know nothing but a token.
    by_token: HashMap<Token, RecordKey, BuildHasherDefault<TokenHasher>>,
    timers: TimerQueue<RecordKey>,
}

impl Records {
    /// Adds the record of an acquisition of the engine.
    pub(crate) fn insert(&self, key: RecordKey, record: Record) {
        self.0.borrow_mut().records.insert(key, record);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.borrow().records.len()
    }

    /// Makes a record known by its token, unless another one is.
    pub(crate) fn name(&self, token: Token, record: RecordKey) {
        self.0.borrow_mut().by_token.entry(token).or_insert(record);
    }

    pub(crate) fn named(&self, token: Token) -> Option<RecordKey> {
        self.0.borrow().by_token.get(&token).copied()
    }

    /// Removes a record, with its timer.
    pub(crate) fn remove(&self, key: RecordKey) -> Option<Record> {
        let mut table = self.0.borrow_mut();
        let record = table.records.remove(key)?;
        if let Some(timer) = &record.timer {
            table.timers.remove(timer);
        }
        let token = record.hold.token;
        if table.by_token.get(&token) == Some(&key) {
            table.by_token.remove(&token);
        }
        Some(record)
    }

    /// Does something with a record, if it is there.
    pub(crate) fn with<T>(&self, key: RecordKey, act: impl FnOnce(&mut Record) -> T) -> Option<T> {
        self.0.borrow_mut().records.get_mut(key).map(act)
    }

    /// Returns the lease of a record, while it is held.
    pub(crate) fn lease(&self, key: RecordKey) -> Option<Arc<LeaseShared>> {
        self.0.borrow().records.get(key)?.lease().cloned()
    }

    /// Returns the leases that are held, in the order of their places in the table.
    pub(crate) fn leases(&self) -> Vec<Arc<LeaseShared>> {
        self.0.borrow().records.values().filter_map(Record::lease).cloned().collect()
    }

    /// Returns the requests that wait, in the order of their places in the table.
    pub(crate) fn waiting(&self) -> Vec<RecordKey> {
        let table = self.0.borrow();
        let waiting = table.records.iter().filter(|(_, record)| matches!(record.role, Role::Waiting(_)));
        waiting.map(|(key, _)| key).collect()
    }

    /// Sets the timer of a record, or none, instead of an earlier one.
    pub(crate) fn set_timer(&self, key: RecordKey, pause: Option<Duration>) {
        let mut table = self.0.borrow_mut();
        let Table { records, timers, .. } = &mut *table;
        let Some(record) = records.get_mut(key) else { return };
        let timer = pause.map(|pause| timers.set(key, pause));
        if let Some(before) = std::mem::replace(&mut record.timer, timer) {
            timers.remove(&before);
        }
    }

    /// Returns the next record whose timer has fired.
    pub(crate) fn poll_due(&self, cx: &mut Context<'_>) -> Poll<RecordKey> {
        let mut table = self.0.borrow_mut();
        let due = table.timers.poll_due(cx);
        if let Poll::Ready(key) = due
            && let Some(record) = table.records.get_mut(key)
        {
            record.timer = None;
        }
        due
    }
}

/// A hasher for tokens: they are random, so any part of them is as good as a hash.
#[derive(Default)]
struct TokenHasher(u64);

impl Hasher for TokenHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u128(&mut self, token: u128) {
        self.0 = (token as u64) ^ ((token >> 64) as u64);
    }
}
