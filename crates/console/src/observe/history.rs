//! The history of one resource that was looked at again and again, in bounded memory.

use std::{collections::VecDeque, time::Duration};

use super::{
    events::{Observed, Occurrence},
    look::Look,
};
use crate::view::{ModeView, Who};

/// The history of one resource.
#[derive(Clone, Debug)]
pub struct History {
    most_looks: usize,
    looks: VecDeque<Moment>,
    /// True if a look has failed since the last one.
    interrupted: bool,
    holds: Stays,
    waits: Stays,
}

/// The latest holds, or the latest waits.
#[derive(Clone, Debug)]
struct Stays {
    most: usize,
    all: VecDeque<Stay>,
    /// The number of the next one.
    next: usize,
}

/// The moment of a look, and what it has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The moment.
    pub at: Duration,
    /// True if it follows the look before. If not, nothing is known of the time between.
    pub follows: bool,
    /// The number of holders.
    pub holders: u64,
    /// The number of waiters.
    pub waiting: u64,
}

/// A hold or a wait, as far as looks have shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Its number among the holds, or the waits, of this history.
    pub number: usize,
    /// The first digits of its token.
    pub token: String,
    /// A short name of whoever holds or waits. It is printable.
    pub who: String,
    /// The mode.
    pub mode: ModeView,
    /// The fence of a hold.
    pub fence: Option<u64>,
    /// The moment of the first look that has found it.
    pub first: Duration,
    /// The moment of the last look that has found it.
    pub last: Duration,
    /// The time for which it had gone on at the first look, where the store knew it.
    pub earlier: Duration,
    /// True if a look has shown that it is over.
    pub over: bool,
}

impl Stay {
    /// Returns the time for which it has gone on at least.
    pub fn lasted(&self) -> Duration {
        self.earlier + self.last.saturating_sub(self.first)
    }
}

impl History {
    /// Creates an empty history, which remembers so many holds and so many waits, and so many looks.
    pub fn new(most_stays: usize, most_looks: usize) -> Self {
        let stays = Stays { most: most_stays, all: VecDeque::new(), next: 0 };
        Self { most_looks, looks: VecDeque::new(), interrupted: false, holds: stays.clone(), waits: stays }
    }

    /// Notes a look, and the events that it has shown. It follows the one before if that is no longer than `gap` ago.
    pub fn note(&mut self, look: &Look, events: &[Observed], gap: Duration) {
        let (seen, at) = (&look.seen, look.told());
        let follows = self.is_current(at, gap);
        self.interrupted = false;
        let closed = seen.holders.iter().filter(|holder| !holder.is_holding()).count() as u64;
        let holders = seen.total.saturating_sub(closed);
        push(&mut self.looks, Moment { at, follows, holders, waiting: seen.queue() }, self.most_looks);
        for holder in seen.holders.iter().filter(|holder| holder.is_holding()) {
            self.holds.go_on(&holder.who, at, |stay| Stay {
                fence: holder.fence,
                earlier: holder.age.unwrap_or_default(),
                ..stay
            });
        }
        for waiter in &seen.waiters {
            let earlier = waiter.waited.unwrap_or_default();
            self.waits.go_on(&waiter.who, at, |stay| Stay { earlier, ..stay });
        }
        events.iter().for_each(|event| self.end(event));
    }

    /// Notes that a look has failed: until the next one nothing is known.
    pub const fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Forgets what was last seen before this moment. Returns true if something is left.
    pub fn forget(&mut self, before: Duration) -> bool {
        self.looks.retain(|look| look.at >= before);
        self.holds.all.retain(|stay| stay.last >= before);
        self.waits.all.retain(|stay| stay.last >= before);
        !self.looks.is_empty()
    }

    /// Returns true if the last look is no longer ago than `gap`, and none has failed since: what it has found is true still.
    pub fn is_current(&self, now: Duration, gap: Duration) -> bool {
        !self.interrupted && self.looks.back().is_some_and(|last| now.saturating_sub(last.at) <= gap)
    }

    /// Returns the looks, the earliest first.
    pub fn looks(&self) -> impl DoubleEndedIterator<Item = &Moment> {
        self.looks.iter()
    }

    /// Returns the holds, the earliest first.
    pub fn holds(&self) -> impl DoubleEndedIterator<Item = &Stay> {
        self.holds.all.iter()
    }

    /// Returns the waits, the earliest first.
    pub fn waits(&self) -> impl DoubleEndedIterator<Item = &Stay> {
        self.waits.all.iter()
    }

    fn end(&mut self, event: &Observed) {
        match (event.event, &event.holder, &event.waiter) {
            (Occurrence::HandedOver, Some(holder), _) => self.waits.end(&holder.who),
            (Occurrence::Left, _, Some(waiter)) => self.waits.end(&waiter.who),
            (event, Some(holder), _) if event.is_end() => self.holds.end(&holder.who),
            _ => {}
        }
    }
}

impl Stays {
    /// Makes the stay of a token longer, or begins one. A token holds once, so it held also while nobody looked.
    fn go_on(&mut self, who: &Who, now: Duration, begin: impl FnOnce(Stay) -> Stay) {
        if let Some(stay) = self.all.iter_mut().rev().find(|stay| stay.token == who.token) {
            (stay.last, stay.over) = (now, false);
            return;
        }
        push(&mut self.all, begin(Stay::new(who, self.next, now)), self.most);
        self.next += 1;
    }

    fn end(&mut self, who: &Who) {
        self.all.iter_mut().filter(|stay| stay.token == who.token).for_each(|stay| stay.over = true);
    }
}

impl Stay {
    fn new(who: &Who, number: usize, now: Duration) -> Self {
        Self {
            number,
            token: who.token.clone(),
            who: who.in_short(),
            mode: who.mode,
            fence: None,
            first: now,
            last: now,
            earlier: Duration::ZERO,
            over: false,
        }
    }
}

fn push<T>(all: &mut VecDeque<T>, one: T, most: usize) {
    all.push_back(one);
    all.drain(..all.len().saturating_sub(most));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{
        observe,
        tests::{holder, look, s},
    };
    use crate::view::HolderView;

    /// Looks at one second each, of which each finds these tokens.
    fn seen(history: &mut History, looks: impl IntoIterator<Item = (u64, &'static [&'static str])>) {
        let mut before: Option<Look> = None;
        for (at, tokens) in looks {
            let holders = tokens.iter().zip(1..).map(|(token, fence)| holder(token, fence)).collect();
            let mut now = look(holders, &[], at);
            let events = observe(before.as_ref(), &mut now);
            history.note(&now, &events, s(2));
            before = Some(now);
        }
    }

    #[test]
    fn a_hold_reaches_back_to_its_grant_and_goes_on_until_it_was_last_seen() {
        let mut history = History::new(9, 9);
        let mut first = look(vec![HolderView { age: Some(s(3)), ..holder("a", 1) }], &["x"], 10);
        let events = observe(None, &mut first);
        history.note(&first, &events, s(2));
        let mut later = look(vec![holder("b", 2)], &[], 12);
        let events = observe(Some(&first), &mut later);
        history.note(&later, &events, s(2));
        let stays = history.holds().chain(history.waits());
        let stays: Vec<_> = stays.map(|it| (it.first, it.last, it.earlier, it.over)).collect();
        let expected = [(s(10), s(10), s(3), true), (s(12), s(12), s(0), false), (s(10), s(10), s(0), true)];
        assert_eq!(stays, expected);
        assert_eq!(history.looks().map(|look| look.waiting).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(history.holds().map(|stay| stay.number).collect::<Vec<_>>(), [0, 1], "waits count apart");
    }

    #[test]
    fn a_time_in_which_nobody_looked_is_a_gap() {
        let mut history = History::new(9, 9);
        seen(&mut history, [0, 1, 9, 10].map(|at| (at, &["a"][..])));
        assert_eq!(history.looks().map(|look| look.follows).collect::<Vec<_>>(), [false, true, false, true]);
        history.interrupt();
        seen(&mut history, [(11, &["a"][..])]);
        assert_eq!(history.looks().last().map(|look| look.follows), Some(false));
    }

    #[test]
    fn nothing_goes_on_that_nobody_has_looked_at_for_a_while() {
        let mut history = History::new(9, 9);
        assert!(!history.is_current(s(0), s(2)));
        seen(&mut history, [(0, &["a"][..])]);
        assert!(history.is_current(s(2), s(2)) && !history.is_current(s(300), s(2)));
        // A look that has failed ends it at once.
        history.interrupt();
        assert!(!history.is_current(s(1), s(2)));
    }

    #[test]
    fn what_is_remembered_has_a_bound_and_what_is_old_is_forgotten() {
        const TOKENS: [&[&str]; 3] = [&["a"], &["b"], &["c"]];
        let mut history = History::new(2, 5);
        seen(&mut history, (0..9).map(|at| (at, TOKENS[at as usize / 3])));
        assert_eq!((history.holds().count(), history.looks().count()), (2, 5));
        assert_eq!(history.holds().map(|stay| stay.number).collect::<Vec<_>>(), [1, 2]);
        assert!(history.forget(s(6)));
        assert_eq!((history.holds().count(), history.looks().count()), (1, 3));
        assert!(!history.forget(s(9)));
    }
}
