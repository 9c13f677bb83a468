//! One resource: the last look at it, and what the looks before have shown.

use std::time::Duration;

use leasehold::ResourceName;

use super::turns::{Counts, Turns};
use crate::top::seen::{Hold, Look};

/// The time for which a resource is still shown that is free and has no waiters.
const SHOWN_FREE: Duration = Duration::from_secs(60);
/// The time over which the grants of a resource are counted.
const RATE_OVER: Duration = Duration::from_secs(10);

/// All that is known of a resource.
#[derive(Debug)]
pub(crate) struct Resource {
    /// The name in lower case, for the filter.
    name: String,
    /// True if the last walk over all names found it.
    pub(crate) listed: bool,
    /// True if the last walk over the queues found one of it.
    pub(crate) contended: bool,
    /// The last look, with its moment.
    pub(crate) look: Option<(Duration, Look)>,
    pub(crate) turns: Turns,
    /// The moment at which it was last seen held or waited for.
    busy: Duration,
    /// The looks that have shown grants, with their number.
    grants: Vec<(Duration, u64)>,
    first_look: Option<Duration>,
}

impl Resource {
    pub(crate) fn new(name: &ResourceName) -> Self {
        Self {
            name: name.to_string().to_lowercase(),
            listed: false,
            contended: false,
            look: None,
            turns: Turns::default(),
            busy: Duration::ZERO,
            grants: Vec::new(),
            first_look: None,
        }
    }

    /// Takes a look at it, and returns what is new.
    pub(crate) fn take(&mut self, look: Look, now: Duration) -> Counts {
        let counts = self.turns.take(&look, now);
        self.first_look.get_or_insert(now);
        self.grants.retain(|(at, _)| *at + RATE_OVER > now);
        if counts.grants > 0 {
            self.grants.push((now, counts.grants));
        }
        if look.total > 0 || look.waiting > 0 {
            self.busy = now;
        }
        self.contended = look.waiting > 0;
        self.look = Some((now, look));
        counts
    }

    /// Returns true if its name, or one of its holders, contains this text, which is in lower case.
    pub(crate) fn matches(&self, filter: &str) -> bool {
        let of_holder = |hold: &Hold| hold.who.in_short().to_lowercase().contains(filter);
        filter.is_empty() || self.name.contains(filter) || self.holders().iter().any(of_holder)
    }

    /// Returns true if it is not worth a row any more: it is free, and has been for a while if it was looked at.
    pub(crate) fn is_over(&self, now: Duration) -> bool {
        match &self.look {
            None => !self.listed && !self.contended,
            Some((_, look)) => look.total == 0 && look.waiting == 0 && self.busy + SHOWN_FREE < now,
        }
    }

    /// Returns true if each sample should look at it: somebody waits for it, or a renewal of it is late.
    pub(crate) fn is_urgent(&self) -> bool {
        self.contended || self.turns.late() > 0
    }

    /// Returns what puts it before others in the order of waiters. One whose queue was not looked at yet has somebody in it.
    pub(crate) fn rank(&self) -> u64 {
        match &self.look {
            None => u64::from(self.contended),
            Some((_, look)) => look.waiting,
        }
    }

    pub(crate) fn waiting(&self) -> Option<u64> {
        self.look.as_ref().map(|(_, look)| look.waiting)
    }

    /// Returns the longest time for which somebody waits.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        let (_, look) = self.look.as_ref()?;
        look.waiters.iter().filter_map(|waiter| waiter.waited).max()
    }

    /// Returns the time until the first holder's end, as it was at the last look.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.holders().first().map(|hold| hold.left)
    }

    pub(crate) fn holders(&self) -> &[Hold] {
        self.look.as_ref().map_or(&[], |(_, look)| &look.holders)
    }

    /// Returns the moment of the last look.
    pub(crate) fn looked(&self) -> Option<Duration> {
        self.look.as_ref().map(|(at, _)| *at)
    }

    /// Returns the grants a second that looks have shown lately. `None` until there were two of them in that time.
    pub(crate) fn grants_a_second(&self, now: Duration) -> Option<f64> {
        let last = self.looked()?;
        let over = last.saturating_sub(self.first_look?).min(RATE_OVER);
        let grants = self.grants.iter().filter(|(at, _)| *at + RATE_OVER > now).map(|(_, grants)| grants);
        (!over.is_zero() && last + RATE_OVER > now).then(|| grants.sum::<u64>() as f64 / over.as_secs_f64())
    }
}
