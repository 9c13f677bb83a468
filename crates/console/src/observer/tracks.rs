//! The resources that were looked at: the last look at each and its history, in bounded memory.

use std::{collections::BTreeMap, time::Duration};

use leasehold::ResourceName;

use super::latest::RESOURCES;
use crate::{
    model::{ProcessView, TimelineView},
    observe::{History, Look, Occurrence, observe},
    view::Who,
};

/// The time after which something is forgotten.
const REMEMBERED: Duration = Duration::from_secs(15 * 60);
/// The largest number of resources with a history: no fewer than one look reaches, or each look would forget what the last one
/// has seen.
const TRACKS: usize = 2 * RESOURCES;
/// The largest numbers of holds and waits, and of looks, in one history. There is at most one look a second.
const STAYS: usize = 100;
const LOOKS: usize = 1_000;
/// The largest number of processes.
const PROCESSES: usize = 500;

/// The resources, each with what is known of it.
#[derive(Default)]
pub(super) struct Tracks(BTreeMap<ResourceName, Track>);

struct Track {
    last: Look,
    history: History,
}

impl Tracks {
    /// Notes a look at a resource. Returns true if it shows anything new. Two looks that are further apart than `gap` have
    /// a gap between them.
    pub(super) fn note(&mut self, name: &ResourceName, mut look: Look, gap: Duration) -> bool {
        let mut track = self.0.remove(name);
        let events = observe(track.as_ref().map(|track| &track.last), &mut look);
        let is_counted_anew = track.as_ref().is_some_and(|track| {
            let counted = |look: &Look| (look.seen.total, look.seen.waiting);
            counted(&track.last) != counted(&look)
        });
        let mut history = track.take().map_or_else(|| History::new(STAYS, LOOKS), |track| track.history);
        history.note(&look, &events, gap);
        self.make_room();
        self.0.insert(name.clone(), Track { last: look, history });
        is_counted_anew || events.iter().any(|event| event.event != Occurrence::Free)
    }

    fn make_room(&mut self) {
        if self.0.len() >= TRACKS {
            let oldest = self.0.iter().min_by_key(|(_, track)| track.last.told());
            oldest.map(|(name, _)| name.clone()).into_iter().for_each(|name| drop(self.0.remove(&name)));
        }
    }

    /// Notes that a look has failed: until the next one nothing is known of any resource.
    pub(super) fn interrupt(&mut self) {
        self.0.values_mut().for_each(|track| track.history.interrupt());
    }

    /// Forgets what is too old.
    pub(super) fn forget(&mut self, now: Duration) {
        self.0.retain(|_, track| track.history.forget(now.saturating_sub(REMEMBERED)));
    }

    /// Returns the history of a resource as it is shown. If the last look is longer ago than `gap`, there is a gap behind it.
    pub(super) fn timeline(&self, name: &ResourceName, now: Duration, gap: Duration) -> TimelineView {
        self.0.get(name).map(|track| TimelineView::of(&track.history, now, gap)).unwrap_or_default()
    }

    /// Returns true if somebody waited for this resource in the look that was answered at this moment.
    pub(super) fn is_contended(&self, name: &ResourceName, at: Duration) -> bool {
        self.0.get(name).is_some_and(|track| track.last.told() == at && track.last.seen.queue() > 0)
    }

    /// Returns the resources whose holders or waiters said in that look that they are candidates.
    pub(super) fn elections(&self, at: Duration) -> Vec<ResourceName> {
        let elections =
            self.0.iter().filter(|(_, track)| track.last.told() == at && track.last.seen.is_election());
        elections.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the processes that held and waited in that look, as far as they say who they are.
    pub(super) fn processes(&self, at: Duration) -> Vec<ProcessView> {
        let mut found = BTreeMap::<(Option<String>, Option<String>), (u64, u64)>::new();
        let mut count = |who: &Who, holds, waits| {
            let process = (who.host.clone(), who.metadata.get("pid").cloned());
            if found.len() < PROCESSES || found.contains_key(&process) {
                let (all_holds, all_waits) = found.entry(process).or_default();
                *all_holds += holds;
                *all_waits += waits;
            }
        };
        for track in self.0.values().filter(|track| track.last.told() == at) {
            track.last.seen.holders.iter().for_each(|holder| count(&holder.who, 1, 0));
            track.last.seen.waiters.iter().for_each(|waiter| count(&waiter.who, 0, 1));
        }
        let view = |((host, pid), (holds, waits))| ProcessView { host, pid, holds, waits };
        found.into_iter().map(view).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use leasehold::{Fence, Holder, HolderState, Inspection, Mode, Token};

    use super::*;
    use crate::{model::SpanView, view::ResourceView};

    const SECOND: Duration = Duration::from_secs(1);

    fn name(number: usize) -> ResourceName {
        ResourceName::new(format!("r/{number}")).unwrap()
    }

    /// A look that finds a holder with this token, and so many waiters.
    fn look(token: u128, waiting: u64, at: Duration) -> Look {
        let holder = Holder {
            token: Token::from_bits(token << 96).prefix(),
            mode: Mode::Exclusive,
            state: HolderState::Holding,
            owner: None,
            fence: Some(Fence::new(token as u64)),
            remaining: SECOND,
            held_for: Some(3 * SECOND),
            metadata: BTreeMap::new(),
        };
        let found =
            Inspection { holders: vec![holder], total: 1, waiting, waiters: Vec::new(), capacity: None };
        Look::new(ResourceView::of(&name(1), &found), at, at)
    }

    const fn span(from: u64, until: u64) -> SpanView {
        SpanView { from_ago: Duration::from_secs(from), until_ago: Duration::from_secs(until) }
    }

    #[test]
    fn a_hold_reaches_back_to_its_grant_and_goes_on_until_it_was_last_seen() {
        let mut tracks = Tracks::default();
        let mut see = |after: u64, token, waiting| {
            let at = Duration::from_secs(after);
            tracks.note(&name(1), look(token, waiting, at), 2 * SECOND);
            tracks.timeline(&name(1), at, 2 * SECOND)
        };
        assert_eq!(see(1, 1, 0).holds[0].stay.span, span(3, 0), "it held before the first look");
        see(2, 1, 2);
        let later = see(3, 2, 2);
        let of_both: Vec<_> = later.holds.iter().map(|hold| (hold.stay.span, hold.stay.goes_on)).collect();
        assert_eq!(of_both, [(span(5, 1), false), (span(3, 0), true)]);
        assert_eq!(later.looked, [span(2, 0)]);
        let queue: Vec<_> = later.queue.iter().map(|queue| (queue.from_ago, queue.waiting)).collect();
        assert_eq!(queue, [(2 * SECOND, 0), (SECOND, 2)]);
    }

    #[test]
    fn a_time_in_which_nobody_looked_is_a_gap() {
        let mut tracks = Tracks::default();
        for after in [0, 1, 9, 10] {
            tracks.note(&name(1), look(1, 0, after * SECOND), 2 * SECOND);
        }
        assert_eq!(tracks.timeline(&name(1), 10 * SECOND, 2 * SECOND).looked, [span(10, 9), span(1, 0)]);
        tracks.interrupt();
        tracks.note(&name(1), look(1, 0, 11 * SECOND), 2 * SECOND);
        assert_eq!(tracks.timeline(&name(1), 11 * SECOND, 2 * SECOND).looked.len(), 3);
        assert_eq!(tracks.timeline(&name(2), 11 * SECOND, SECOND), TimelineView::default());
    }

    #[test]
    fn nothing_goes_on_that_nobody_has_looked_at_for_a_while() {
        let mut tracks = Tracks::default();
        tracks.note(&name(1), look(1, 0, Duration::ZERO), 2 * SECOND);
        let at = |tracks: &Tracks, after: Duration| {
            let view = tracks.timeline(&name(1), after, 2 * SECOND);
            (view.goes_on, view.holds[0].stay.goes_on, view.holds[0].stay.span.until_ago)
        };
        assert_eq!(at(&tracks, 2 * SECOND), (true, true, 2 * SECOND));
        assert_eq!(at(&tracks, 300 * SECOND), (false, false, 300 * SECOND));
        // A look that has failed ends it at once.
        tracks.interrupt();
        assert_eq!(at(&tracks, SECOND), (false, false, SECOND));
    }

    #[test]
    fn a_look_is_news_if_it_shows_another_holder_or_another_number() {
        let mut tracks = Tracks::default();
        let mut note = |look| tracks.note(&name(1), look, SECOND);
        assert!(note(look(1, 0, Duration::ZERO)));
        assert!(!note(look(1, 0, SECOND)));
        assert!(note(look(2, 0, 2 * SECOND)));
        assert!(note(look(2, 5, 3 * SECOND)));
        let free = |at| Look::new(ResourceView::default(), at, at);
        assert!(note(free(4 * SECOND)) && !note(free(5 * SECOND)));
    }

    #[test]
    fn a_look_at_many_resources_forgets_none_of_them() {
        let mut tracks = Tracks::default();
        for after in 0..3 {
            for at in 0..150 {
                tracks.note(&name(at), look(1, 0, after * SECOND), 2 * SECOND);
            }
        }
        for at in 0..150 {
            assert_eq!(tracks.timeline(&name(at), 2 * SECOND, 2 * SECOND).looked, [span(2, 0)], "{at}");
        }
    }

    #[test]
    fn memory_is_bounded_and_what_is_old_is_forgotten() {
        let mut tracks = Tracks::default();
        for at in 0..2 * TRACKS {
            tracks.note(&name(at), look(1, 0, Duration::from_millis(at as u64)), SECOND);
        }
        assert_eq!(tracks.0.len(), TRACKS);
        assert!(!tracks.0.contains_key(&name(0)) && tracks.0.contains_key(&name(2 * TRACKS - 1)));
        for at in 0..3 * STAYS {
            let now = SECOND + Duration::from_millis(at as u64);
            tracks.note(&name(7_000), look(at as u128, at as u64, now), SECOND);
        }
        assert_eq!(tracks.0[&name(7_000)].history.holds().count(), STAYS);
        tracks.forget(REMEMBERED + 10 * SECOND);
        assert!(tracks.0.is_empty());
    }
}
