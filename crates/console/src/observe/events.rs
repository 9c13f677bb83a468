//! The events between two looks at a resource, as far as they can be told from what the store said then.

use std::time::Duration;

use serde::Serialize;

use super::look::{Course, Look, TOLD_APART};
use crate::view::{HolderView, WaiterView};

/// An event, with whom it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Observed {
    /// The kind.
    pub event: Occurrence,
    /// The holder, if it is about one: as it was seen last.
    pub holder: Option<HolderView>,
    /// The waiter, if it is about one.
    pub waiter: Option<WaiterView>,
    /// The number of all waiters after it.
    pub waiting: u64,
    /// True if a renewal of the holder was late when it was seen last.
    #[serde(skip)]
    pub late: bool,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrence {
    /// Nobody holds it at the first look.
    Free,
    /// It holds at the first look.
    Holding,
    /// It holds, and did not wait at the look before.
    Acquired,
    /// It holds, and waited at the look before.
    HandedOver,
    /// It is another hold of an owner that has held it all the time.
    ReEntered,
    /// It holds no more, and its time was not over: it was released, or taken by force.
    Released,
    /// It holds no more, and its time was over at about the last look: it expired, or was released at the very end.
    Expired,
    /// It holds no more, and may have renewed unseen between the looks: it was released, taken by force, or expired.
    Ended,
    /// It holds with another fence: somebody else may have held it in between.
    Interrupted,
    /// It keeps the resource closed.
    Closed,
    /// It keeps the resource closed no more.
    Opened,
    /// It waits.
    Waiting,
    /// It waits no more, and does not hold: it gave up, or was served and has finished since.
    Left,
    /// The number of waiters has changed; there are too many to tell them apart.
    Queue,
}

impl Occurrence {
    /// Returns true for a grant.
    pub const fn is_grant(self) -> bool {
        matches!(self, Self::Acquired | Self::HandedOver)
    }

    /// Returns true for the end of a hold.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Released | Self::Expired | Self::Ended)
    }
}

/// Returns the events between two looks at a resource; without an earlier one, the findings of the first. The later look goes on
/// with what the earlier ones have shown of its holders.
pub fn observe(before: Option<&Look>, now: &mut Look) -> Vec<Observed> {
    let Some(before) = before else { return found(now) };
    now.follow(before);
    let teller = Teller(now);
    let mut events = teller.ends_since(before);
    events.extend(teller.begins_since(before));
    events.extend(teller.queue_since(before));
    events
}

fn found(now: &Look) -> Vec<Observed> {
    let teller = Teller(now);
    let state = |holder: &HolderView| {
        if holder.is_holding() { Occurrence::Holding } else { Occurrence::Closed }
    };
    let holders = now.seen.holders.iter().map(|holder| teller.of(state(holder), holder));
    let waiters = now.seen.waiters.iter().map(|waiter| teller.waiter(Occurrence::Waiting, waiter));
    let found: Vec<_> = holders.chain(waiters).collect();
    if found.is_empty() { vec![teller.queue(Occurrence::Free)] } else { found }
}

/// Returns how a holder has ended that is not there after this time.
fn end_of(earlier: &HolderView, course: &Course, between: Duration) -> Occurrence {
    // Stores tell times in whole milliseconds.
    if earlier.left > between + Duration::from_millis(1) {
        Occurrence::Released
    } else if earlier.left >= course.most_left / 3 {
        // Its next renewal was not late yet. It may have come, so that the end was another one.
        Occurrence::Ended
    } else {
        Occurrence::Expired
    }
}

/// Returns true if this is another hold of the same owner, who has held it all the time: otherwise the fence were another one.
fn is_re_entry(earlier: &HolderView, later: &HolderView) -> bool {
    earlier.is_holding()
        && earlier.who.owner.is_some()
        && earlier.who.owner == later.who.owner
        && earlier.fence.is_some()
        && earlier.fence == later.fence
}

/// Makes events of what was seen last.
struct Teller<'a>(&'a Look);

impl Teller<'_> {
    fn ends_since(&self, before: &Look) -> Vec<Observed> {
        let now = self.0;
        let between = now.told.saturating_sub(before.asked);
        let event = |(earlier, course): (&HolderView, &Course)| {
            let ended = end_of(earlier, course, between);
            match now.holder(&earlier.who.token) {
                Some((later, _)) if earlier.is_holding() && !later.is_holding() => {
                    Some(self.of_last(ended, later, course.late))
                }
                Some(_) => None,
                // It may be one of those that were not told.
                None if now.is_cut() => None,
                None if earlier.is_holding() => Some(self.of_last(ended, earlier, course.late)),
                None => Some(self.of(Occurrence::Opened, earlier)),
            }
        };
        before.holders().filter_map(event).collect()
    }

    fn begins_since(&self, before: &Look) -> Vec<Observed> {
        let waited = |token: &str| before.seen.waiters.iter().any(|waiter| waiter.who.token == token);
        let is_new = |holder: &HolderView| {
            let since = self.0.told.saturating_sub(before.told);
            holder.age.is_some_and(|age| age < since)
        };
        let event = |later: &HolderView| match before.holder(&later.who.token) {
            Some((earlier, _)) if earlier.is_holding() && later.is_holding() => {
                // The fence of a free lock is told from its first renewal on.
                let is_other = earlier.fence.is_some() && earlier.fence != later.fence;
                is_other.then_some(Occurrence::Interrupted)
            }
            Some((earlier, _)) if earlier.is_holding() == later.is_holding() || !later.is_holding() => None,
            None if !later.is_holding() => Some(Occurrence::Closed),
            None if waited(&later.who.token) => Some(Occurrence::HandedOver),
            None if before.seen.holders.iter().any(|earlier| is_re_entry(earlier, later)) => {
                Some(Occurrence::ReEntered)
            }
            // It may have been one of those that were not told.
            None if before.is_cut() && !is_new(later) => None,
            Some(_) | None => Some(Occurrence::Acquired),
        };
        let holders = self.0.seen.holders.iter();
        holders.filter_map(|later| Some(self.of(event(later)?, later))).collect()
    }

    fn queue_since(&self, before: &Look) -> Vec<Observed> {
        let (before, now) = (&before.seen, &self.0.seen);
        let is_cut = |told: usize, all: u64| (told as u64) < all || told >= TOLD_APART;
        if [before, now].iter().any(|seen| is_cut(seen.waiters.len(), seen.queue())) {
            let is_same = before.queue() == now.queue();
            return if is_same { Vec::new() } else { vec![self.queue(Occurrence::Queue)] };
        }
        let is_in = |waiters: &[WaiterView], token: &str| waiters.iter().any(|it| it.who.token == token);
        let is_gone = |token: &str| !is_in(&now.waiters, token) && self.0.holder(token).is_none();
        let left = before.waiters.iter().filter(|waiter| is_gone(&waiter.who.token));
        let joined = now.waiters.iter().filter(|waiter| !is_in(&before.waiters, &waiter.who.token));
        left.map(|waiter| self.waiter(Occurrence::Left, waiter))
            .chain(joined.map(|waiter| self.waiter(Occurrence::Waiting, waiter)))
            .collect()
    }

    fn queue(&self, event: Occurrence) -> Observed {
        Observed { event, holder: None, waiter: None, waiting: self.0.seen.queue(), late: false }
    }

    fn of(&self, event: Occurrence, holder: &HolderView) -> Observed {
        Observed { holder: Some(holder.clone()), ..self.queue(event) }
    }

    fn of_last(&self, event: Occurrence, holder: &HolderView, late: bool) -> Observed {
        Observed { late, ..self.of(event, holder) }
    }

    fn waiter(&self, event: Occurrence, waiter: &WaiterView) -> Observed {
        Observed { waiter: Some(waiter.clone()), ..self.queue(event) }
    }
}
