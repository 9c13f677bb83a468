//! The history of resources that were looked at, in bounded memory.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use leasehold::{Fence, Holder, HolderState, Inspection, Mode, ResourceName, TokenPrefix, Waiter};
use tokio::time::Instant;

use crate::model::{HoldView, QueueView, SpanView, TimelineView, WaitView, kind, millis, short_name};

/// The time after which something is forgotten.
const REMEMBERED: Duration = Duration::from_secs(15 * 60);
/// The largest number of resources with a history: no fewer than one look reaches, or each look would forget what the last one
/// has seen.
const TRACKS: usize = 2 * super::RESOURCES;
/// The largest number of spans of each kind in one history.
const SPANS: usize = 100;

/// The histories of resources.
#[derive(Default)]
pub(super) struct History(BTreeMap<ResourceName, Track>);

/// The history of one resource.
#[derive(Default)]
struct Track {
    looked: VecDeque<(Instant, Instant)>,
    /// True if a look has failed since the last one that is in `looked`.
    interrupted: bool,
    holds: VecDeque<Seen>,
    waits: VecDeque<Seen>,
    queue: VecDeque<(Instant, u64)>,
}

/// A hold or a wait that was seen.
struct Seen {
    token: TokenPrefix,
    who: String,
    mode: Mode,
    fence: Option<Fence>,
    from: Instant,
    until: Instant,
}

impl History {
    /// Notes what a look has found. Two looks that are further apart than `pause` have a gap between them.
    pub(super) fn note(&mut self, name: &ResourceName, seen: &Inspection, now: Instant, pause: Duration) {
        if !self.0.contains_key(name) && self.0.len() >= TRACKS {
            let last = |track: &Track| track.looked.back().map(|(_, until)| *until);
            let oldest = self.0.iter().min_by_key(|(_, track)| last(track)).map(|(name, _)| name.clone());
            oldest.into_iter().for_each(|name| drop(self.0.remove(&name)));
        }
        self.0.entry(name.clone()).or_default().note(seen, now, pause);
    }

    /// Notes that a look has failed: until the next one nothing is known of any resource.
    pub(super) fn interrupt(&mut self) {
        self.0.values_mut().for_each(|track| track.interrupted = true);
    }

    /// Forgets what is too old.
    pub(super) fn forget(&mut self, now: Instant) {
        self.0.values_mut().for_each(|track| track.forget(now));
        self.0.retain(|_, track| !track.looked.is_empty());
    }

    /// Returns the history of a resource as it is shown. If the last look is longer ago than `pause`, there is a gap behind it.
    pub(super) fn timeline(&self, name: &ResourceName, now: Instant, pause: Duration) -> TimelineView {
        self.0.get(name).map(|track| track.view(now, pause)).unwrap_or_default()
    }
}

impl Track {
    fn note(&mut self, seen: &Inspection, now: Instant, pause: Duration) {
        let interrupted = std::mem::take(&mut self.interrupted);
        match self.looked.back_mut() {
            Some((_, until)) if !interrupted && now - *until <= pause => *until = now,
            _ => self.looked.push_back((now, now)),
        }
        for holder in seen.holders.iter().filter(|holder| holder.state == HolderState::Holding) {
            continue_or_begin(&mut self.holds, now, holder.token, || Seen::hold(holder, now));
        }
        for waiter in &seen.waiters {
            continue_or_begin(&mut self.waits, now, waiter.token, || Seen::wait(waiter, now));
        }
        if self.queue.back().is_none_or(|(_, waiting)| *waiting != seen.waiting) {
            self.queue.push_back((now, seen.waiting));
        }
        for spans in [&mut self.holds, &mut self.waits] {
            spans.drain(..spans.len().saturating_sub(SPANS));
        }
        self.queue.drain(..self.queue.len().saturating_sub(SPANS));
        self.looked.drain(..self.looked.len().saturating_sub(SPANS));
    }

    fn forget(&mut self, now: Instant) {
        let is_old = |until: Instant| now - until > REMEMBERED;
        self.looked.retain(|(_, until)| !is_old(*until));
        self.holds.retain(|seen| !is_old(seen.until));
        self.waits.retain(|seen| !is_old(seen.until));
        // The number counts until the next one.
        while self.queue.get(1).is_some_and(|(from, _)| is_old(*from)) {
            self.queue.pop_front();
        }
    }

    fn view(&self, now: Instant, pause: Duration) -> TimelineView {
        let ago = |moment: Instant| millis(now - moment);
        let span = |from, until| SpanView { from_ms_ago: ago(from), until_ms_ago: ago(until) };
        let last = self.looked.back().map(|(_, until)| *until);
        // What was seen last is true still only while looks follow each other.
        let current = last.filter(|last| !self.interrupted && now - *last <= pause);
        let goes_on = |seen: &Seen| current.is_some_and(|last| seen.until == last);
        let hold = |seen: &Seen| HoldView {
            token: seen.token.to_string(),
            who: seen.who.clone(),
            mode: kind(seen.mode),
            fence: seen.fence.map(Fence::get),
            span: span(seen.from, seen.until),
            goes_on: goes_on(seen),
        };
        let wait = |seen: &Seen| WaitView {
            token: seen.token.to_string(),
            who: seen.who.clone(),
            mode: kind(seen.mode),
            span: span(seen.from, seen.until),
            goes_on: goes_on(seen),
        };
        let queue =
            |(from, waiting): &(Instant, u64)| QueueView { from_ms_ago: ago(*from), waiting: *waiting };
        TimelineView {
            goes_on: current.is_some(),
            looked: self.looked.iter().map(|(from, until)| span(*from, *until)).collect(),
            holds: self.holds.iter().map(hold).collect(),
            waits: self.waits.iter().map(wait).collect(),
            queue: self.queue.iter().map(queue).collect(),
        }
    }
}

/// Makes the span of a token longer, or begins one. A token holds once, so it held also while nobody looked.
fn continue_or_begin(
    spans: &mut VecDeque<Seen>,
    now: Instant,
    token: TokenPrefix,
    begin: impl FnOnce() -> Seen,
) {
    match spans.iter_mut().rev().find(|seen| seen.token == token) {
        Some(seen) => seen.until = now,
        None => spans.push_back(begin()),
    }
}

impl Seen {
    fn hold(holder: &Holder, now: Instant) -> Self {
        let Holder { token, mode, fence, held_for, .. } = holder;
        let who = short_name(&holder.metadata, holder.owner.as_ref(), *token);
        Self { token: *token, who, mode: *mode, fence: *fence, from: back(now, *held_for), until: now }
    }

    fn wait(waiter: &Waiter, now: Instant) -> Self {
        let Waiter { token, mode, waited, .. } = waiter;
        let who = short_name(&waiter.metadata, waiter.owner.as_ref(), *token);
        Self { token: *token, who, mode: *mode, fence: None, from: back(now, *waited), until: now }
    }
}

fn back(now: Instant, span: Option<Duration>) -> Instant {
    // What is older than this is not shown anyway, and a clock does not reach back before its origin.
    let span = span.unwrap_or_default().min(REMEMBERED);
    now.checked_sub(span).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use leasehold::Token;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn name(number: usize) -> ResourceName {
        ResourceName::new(format!("r/{number}")).unwrap()
    }

    fn holder(token: u128) -> Holder {
        Holder {
            token: Token::from_bits(token << 96).prefix(),
            mode: Mode::Exclusive,
            state: HolderState::Holding,
            owner: None,
            fence: Some(Fence::new(token as u64)),
            remaining: SECOND,
            held_for: Some(3 * SECOND),
            metadata: BTreeMap::new(),
        }
    }

    fn held_by(token: u128, waiting: u64) -> Inspection {
        Inspection { holders: vec![holder(token)], total: 1, waiting, waiters: Vec::new() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_reaches_back_to_its_grant_and_goes_on_until_it_was_last_seen() {
        let (mut history, start) = (History::default(), Instant::now());
        let mut look = |after: u64, seen: &Inspection| {
            history.note(&name(1), seen, start + Duration::from_secs(after), 2 * SECOND);
            history.timeline(&name(1), start + Duration::from_secs(after), 2 * SECOND)
        };
        let first = look(10, &held_by(1, 0));
        assert_eq!(first.holds[0].span, SpanView { from_ms_ago: 3_000, until_ms_ago: 0 });
        look(11, &held_by(1, 2));
        let later = look(12, &held_by(2, 2));
        let of_both =
            later.holds.iter().map(|hold| (hold.span.from_ms_ago, hold.span.until_ms_ago, hold.goes_on));
        assert_eq!(of_both.collect::<Vec<_>>(), [(5_000, 1_000, false), (3_000, 0, true)]);
        assert_eq!(later.looked, [SpanView { from_ms_ago: 2_000, until_ms_ago: 0 }]);
        let queue: Vec<_> = later.queue.iter().map(|queue| (queue.from_ms_ago, queue.waiting)).collect();
        assert_eq!(queue, [(2_000, 0), (1_000, 2)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_in_which_nobody_looked_is_a_gap() {
        let (mut history, start) = (History::default(), Instant::now());
        for after in [0, 1, 9, 10] {
            history.note(&name(1), &held_by(1, 0), start + Duration::from_secs(after), 2 * SECOND);
        }
        let looked = history.timeline(&name(1), start + 10 * SECOND, 2 * SECOND).looked;
        let spans: Vec<_> = looked.iter().map(|span| (span.from_ms_ago, span.until_ms_ago)).collect();
        assert_eq!(spans, [(10_000, 9_000), (1_000, 0)]);
        history.interrupt();
        history.note(&name(1), &held_by(1, 0), start + 11 * SECOND, 2 * SECOND);
        assert_eq!(history.timeline(&name(1), start + 11 * SECOND, 2 * SECOND).looked.len(), 3);
        assert_eq!(history.timeline(&name(2), start, SECOND), TimelineView::default());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_goes_on_that_nobody_has_looked_at_for_a_while() {
        let (mut history, start) = (History::default(), Instant::now());
        history.note(&name(1), &held_by(1, 0), start, 2 * SECOND);
        let at = |history: &History, after: Duration| {
            let view = history.timeline(&name(1), start + after, 2 * SECOND);
            (view.goes_on, view.holds[0].goes_on, view.holds[0].span.until_ms_ago)
        };
        assert_eq!(at(&history, 2 * SECOND), (true, true, 2_000));
        assert_eq!(at(&history, 300 * SECOND), (false, false, 300_000));
        // A look that has failed ends it at once.
        history.interrupt();
        assert_eq!(at(&history, SECOND), (false, false, 1_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_at_many_resources_forgets_none_of_them() {
        let (mut history, start) = (History::default(), Instant::now());
        for after in 0..3 {
            for at in 0..150 {
                history.note(&name(at), &held_by(1, 0), start + after * SECOND, 2 * SECOND);
            }
        }
        for at in 0..150 {
            let looked = history.timeline(&name(at), start + 2 * SECOND, 2 * SECOND).looked;
            assert_eq!(looked, [SpanView { from_ms_ago: 2_000, until_ms_ago: 0 }], "{at}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_and_what_is_old_is_forgotten() {
        let (mut history, start) = (History::default(), Instant::now());
        for at in 0..2 * TRACKS {
            history.note(&name(at), &held_by(1, 0), start + Duration::from_millis(at as u64), SECOND);
        }
        assert_eq!(history.0.len(), TRACKS);
        assert!(!history.0.contains_key(&name(0)) && history.0.contains_key(&name(2 * TRACKS - 1)));
        for at in 0..3 * SPANS {
            let now = start + SECOND + Duration::from_millis(at as u64);
            history.note(&name(7_000), &held_by(at as u128, at as u64), now, SECOND);
        }
        let track = &history.0[&name(7_000)];
        assert_eq!((track.holds.len(), track.queue.len()), (SPANS, SPANS));
        history.forget(start + REMEMBERED + 10 * SECOND);
        assert!(history.0.is_empty());
    }
}
