//! One resource: the last look at it, and what the looks before have shown.

use std::time::Duration;

use leasehold::ResourceName;
use leasehold_console::{
    observe::{History, Look, Occurrence, Stay, observe},
    view::{HolderView, ResourceView},
};

/// The time for which a resource is still shown that is free and has no waiters.
const SHOWN_FREE: Duration = Duration::from_secs(60);
/// The time over which the grants of a resource are counted.
const RATE_OVER: Duration = Duration::from_secs(10);
/// The number of holders that are remembered of a resource, also after they have gone, and of looks.
const STAYS: usize = 32;
const LOOKS: usize = 200;

/// All that is known of a resource.
#[derive(Debug)]
pub(crate) struct Resource {
    /// The name in lower case, for the filter.
    name: String,
    /// True if the last walk over all names found it.
    pub(crate) listed: bool,
    /// True if the last walk over the queues found one of it.
    pub(crate) contended: bool,
    /// The last look.
    pub(crate) look: Option<Look>,
    pub(crate) history: History,
    /// The moment at which it was last seen held or waited for.
    busy: Duration,
    /// The looks that have shown grants, with their number.
    grants: Vec<(Duration, u64)>,
    first_look: Option<Duration>,
}

/// Events that a look has shown. Each may have happened more often than it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) grants: u64,
    /// Leases that were late, and were renewed after all.
    pub(crate) near_misses: u64,
    /// Leases that were late, and gone when their time was up.
    pub(crate) ran_out: u64,
}

/// The findings of the last look of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Free,
    /// The holder with this number.
    One(usize),
    /// The number of holders.
    Many(u64),
}

impl Resource {
    pub(crate) fn new(name: &ResourceName) -> Self {
        Self {
            name: name.to_string().to_lowercase(),
            listed: false,
            contended: false,
            look: None,
            history: History::new(STAYS, LOOKS),
            busy: Duration::ZERO,
            grants: Vec::new(),
            first_look: None,
        }
    }

    /// Takes a look at it, and returns what is new.
    pub(crate) fn take(&mut self, view: ResourceView, now: Duration) -> Counts {
        let mut look = Look::new(view, now, now);
        let events = observe(self.look.as_ref(), &mut look);
        self.history.note(&look, &events, Duration::MAX);
        let counts = Counts {
            grants: events.iter().filter(|event| event.event.is_grant()).count() as u64,
            near_misses: look.near_misses() as u64,
            ran_out: events.iter().filter(|it| it.late && it.event == Occurrence::Expired).count() as u64,
        };
        self.first_look.get_or_insert(now);
        self.grants.retain(|(at, _)| *at + RATE_OVER > now);
        if counts.grants > 0 {
            self.grants.push((now, counts.grants));
        }
        if !look.seen.is_free() {
            self.busy = now;
        }
        self.contended = look.seen.queue() > 0;
        self.look = Some(look);
        counts
    }

    /// Returns true if its name, or one of its holders, contains this text, which is in lower case.
    pub(crate) fn matches(&self, filter: &str) -> bool {
        let of_holder = |holder: &HolderView| holder.who.in_short().to_lowercase().contains(filter);
        filter.is_empty() || self.name.contains(filter) || self.holders().iter().any(of_holder)
    }

    /// Returns true if it is not worth a row any more: it is free, and has been for a while if it was looked at.
    pub(crate) fn is_over(&self, now: Duration) -> bool {
        match &self.look {
            None => !self.listed && !self.contended,
            Some(look) => look.seen.is_free() && self.busy + SHOWN_FREE < now,
        }
    }

    /// Returns true if each sample should look at it: somebody waits for it, or a renewal of it is late.
    pub(crate) fn is_urgent(&self) -> bool {
        self.contended || self.late() > 0
    }

    /// Returns what puts it before others in the order of waiters. One whose queue was not looked at yet has somebody in it.
    pub(crate) fn rank(&self) -> u64 {
        match &self.look {
            None => u64::from(self.contended),
            Some(look) => look.seen.queue(),
        }
    }

    pub(crate) fn waiting(&self) -> Option<u64> {
        self.look.as_ref().map(|look| look.seen.queue())
    }

    /// Returns the longest time for which somebody waits.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        let look = self.look.as_ref()?;
        look.seen.waiters.iter().filter_map(|waiter| waiter.waited).max()
    }

    /// Returns the time until the first holder's end, as it was at the last look.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.holders().first().map(|holder| holder.left)
    }

    pub(crate) fn holders(&self) -> &[HolderView] {
        self.look.as_ref().map_or(&[], |look| &look.seen.holders)
    }

    /// Returns the number of holders whose renewal is late.
    pub(crate) fn late(&self) -> usize {
        self.look.iter().flat_map(Look::late).count()
    }

    /// Returns what was found in each of `cells` times of this length, the last of which ends now. `None` for a time in which
    /// nobody looked.
    pub(crate) fn timeline(&self, now: Duration, cell: Duration, cells: usize) -> Vec<Option<Found>> {
        let mut line = vec![None; cells];
        for look in self.history.looks() {
            let ago = now.saturating_sub(look.at).as_nanos() / cell.as_nanos().max(1);
            let place = usize::try_from(ago).ok().and_then(|ago| cells.checked_sub(ago + 1));
            let Some(place) = place else { continue };
            let held = |stay: &&Stay| (stay.first..=stay.last).contains(&look.at);
            line[place] = Some(match (look.holders, self.history.holds().rev().find(held)) {
                (0, _) | (_, None) => Found::Free,
                (1, Some(stay)) => Found::One(stay.number),
                (many, _) => Found::Many(many),
            });
        }
        line
    }

    /// Returns the moment of the last look.
    pub(crate) fn looked(&self) -> Option<Duration> {
        self.look.as_ref().map(Look::told)
    }

    /// Returns the grants a second that looks have shown lately. `None` until there were two of them in that time.
    pub(crate) fn grants_a_second(&self, now: Duration) -> Option<f64> {
        let last = self.looked()?;
        let over = last.saturating_sub(self.first_look?).min(RATE_OVER);
        let grants = self.grants.iter().filter(|(at, _)| *at + RATE_OVER > now).map(|(_, grants)| grants);
        (!over.is_zero() && last + RATE_OVER > now).then(|| grants.sum::<u64>() as f64 / over.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use leasehold::{Fence, Holder, HolderState, Inspection, Mode, Token};

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A look that finds holders with these tokens, which are their fences too, and this time left.
    fn held(tokens: &[u32], left: Duration) -> ResourceView {
        let holder = |token: &u32| Holder {
            token: Token::from_bits(u128::from(*token) << 96).prefix(),
            mode: Mode::Exclusive,
            state: HolderState::Holding,
            owner: None,
            fence: Some(Fence::new(u64::from(*token))),
            remaining: left,
            held_for: None,
            metadata: Default::default(),
        };
        let holders: Vec<_> = tokens.iter().map(holder).collect();
        let found = Inspection { total: holders.len() as u64, holders, ..Inspection::default() };
        ResourceView::of(&ResourceName::new("r").unwrap(), &found)
    }

    fn resource() -> Resource {
        Resource::new(&ResourceName::new("r").unwrap())
    }

    #[test]
    fn the_first_look_at_a_resource_is_no_grant() {
        let mut resource = resource();
        assert_eq!(resource.take(held(&[1], s(9)), s(0)).grants, 0);
        assert_eq!(resource.take(held(&[1], s(8)), s(1)).grants, 0);
        assert_eq!(resource.take(held(&[2], s(9)), s(2)).grants, 1);
        assert_eq!(resource.history.holds().rev().map(|stay| stay.over).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_late_lease_is_a_near_miss_or_has_run_out() {
        let mut resource = resource();
        let mut counts = Counts::default();
        for (left, at) in [(5, 0), (9, 1), (2, 2), (9, 3), (1, 4)] {
            counts = resource.take(held(&[1], s(left)), s(at));
            assert_eq!((counts.near_misses, counts.ran_out), (u64::from(at == 3), 0), "{at}");
        }
        assert_eq!((counts, resource.late()), (Counts::default(), 1));
        assert_eq!(resource.take(held(&[], s(0)), s(5)), Counts { ran_out: 1, ..counts });
    }

    #[test]
    fn a_timeline_has_blanks_where_nobody_looked() {
        let mut resource = resource();
        resource.take(held(&[1], s(9)), s(10));
        resource.take(held(&[], s(9)), s(12));
        resource.take(held(&[2, 3], s(9)), s(13));
        let line = resource.timeline(s(13), s(1), 5);
        assert_eq!(line, [None, Some(Found::One(0)), None, Some(Found::Free), Some(Found::Many(2))]);
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut resource = resource();
        for at in 0..1_000_u32 {
            resource.take(held(&[at], s(9)), s(u64::from(at)));
        }
        assert_eq!((resource.history.holds().count(), resource.history.looks().count()), (STAYS, LOOKS));
    }
}
