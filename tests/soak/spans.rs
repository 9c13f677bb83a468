//! The times of faults: what must go on while they last, and what may be lost in them and after them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use leasehold_testing::history::Held;

use super::limits::CONSEQUENCES;
use crate::load::micros_of;

/// A fault that lasts this long must leave grants to what it spares: twice the longest wait of a request, and longer than a TTL.
const LONG: u64 = 4_000_000;
/// How many grants of what is spared the pace of the run must promise in that time, so that none at all is no chance.
const PROMISED: u64 = 50;

/// The time of a fault.
#[derive(Clone, Debug)]
pub(super) struct Span {
    what: &'static str,
    pub(super) from: u64,
    /// `u64::MAX` while it lasts, as the next one.
    pub(super) until: u64,
    /// The moment at which what changes hands was granted again.
    over: u64,
    /// The resources that it does not touch.
    spared: BTreeSet<String>,
    /// How often each resource was granted.
    grants: BTreeMap<Vec<u8>, u64>,
    /// How long the processes had no turn.
    stalled: u64,
}

impl Span {
    /// The end of the time in which leases may be lost and ticks may be missing: a lease that the fault broke is told as lost a TTL
    /// later, a busy machine is given a grace, and servers that were started again first have to grant again.
    fn last(&self) -> u64 {
        self.until.saturating_add(CONSEQUENCES).max(self.over)
    }

    /// The grants of what it spares, if it lasted long enough to ask for some.
    fn progress(&self, grants_a_second: u64, resources: usize) -> Option<u64> {
        let time = self.until.saturating_sub(self.from).saturating_sub(self.stalled);
        let share = self.spared.len() as u64 * grants_a_second * time / 1_000_000 / resources.max(1) as u64;
        let grants = |name: &String| self.grants.get(name.as_bytes()).copied().unwrap_or_default();
        let is_asked = self.until < u64::MAX && time >= LONG && share >= PROMISED;
        is_asked.then(|| self.spared.iter().map(grants).sum())
    }
}

/// The times of all faults of a topology, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans(Vec<Span>);

impl Spans {
    pub(super) fn begin(&mut self, what: &'static str, from: u64) {
        let (until, over) = (u64::MAX, u64::MAX);
        let (spared, grants) = (BTreeSet::new(), BTreeMap::new());
        self.0.push(Span { what, from, until, over, spared, grants, stalled: 0 });
    }

    /// Notes that the last one was healed.
    pub(super) fn heal(&mut self, until: u64, spared: BTreeSet<String>) {
        if let Some(span) = self.0.last_mut() {
            (span.until, span.spared) = (until, spared);
        }
    }

    /// Notes that what changes hands was granted again after the last one.
    pub(super) fn end(&mut self, over: u64) {
        if let Some(span) = self.0.last_mut() {
            span.over = span.over.min(over);
        }
    }

    pub(super) fn granted(&mut self, held: &Held) {
        let at = micros_of(held.granted);
        for span in self.0.iter_mut().filter(|span| (span.from..=span.until).contains(&at)) {
            *span.grants.entry(held.resource.as_bytes().to_vec()).or_default() += 1;
        }
    }

    pub(super) fn stalled(&mut self, (from, until): (u64, u64)) {
        for span in &mut self.0 {
            span.stalled += until.min(span.until).saturating_sub(from.max(span.from));
        }
    }

    /// Returns true if a fault explains that a lease is lost at a moment.
    pub(super) fn explain(&self, at: u64) -> bool {
        self.0.iter().any(|span| (span.from..=span.last()).contains(&at))
    }

    /// The end of the fault that lasts at a moment, or this moment.
    pub(super) fn end_of(&self, at: u64) -> u64 {
        let lasts = self.0.iter().filter(|span| (span.from..=span.until).contains(&at));
        lasts.map(|span| span.until).max().unwrap_or(at)
    }

    /// The longest time between two moments that no fault explains.
    pub(super) fn calm(&self, from: u64, until: u64) -> Duration {
        let (mut longest, mut at) = (0, from);
        for span in &self.0 {
            longest = longest.max(span.from.min(until).saturating_sub(at));
            at = at.max(span.last());
        }
        Duration::from_micros(longest.max(until.saturating_sub(at)))
    }

    /// How many were asked for grants, and those that left none to what they spare.
    pub(super) fn judge(&self, grants_a_second: u64, resources: usize) -> (u64, Vec<String>) {
        let asked = self.0.iter().map(|span| (span, span.progress(grants_a_second, resources)));
        let asked: Vec<_> = asked.filter_map(|(span, grants)| Some((span, grants?))).collect();
        let none = asked.iter().filter(|(_, grants)| *grants == 0).map(|(span, _)| {
            format!(
                "nothing was granted of what {:?} spares, from {} to {}: {:?}",
                span.what, span.from, span.until, span.spared
            )
        });
        (asked.len() as u64, none.collect())
    }
}
