//! The changes between two looks at a resource, as far as they can be told from what the store said then.

use std::time::Duration;

use serde::Serialize;

use super::super::view::{Holder, Resource, Waiter};

/// The largest number of holders, and of waiters, of one resource that are told apart.
pub(crate) const TOLD_APART: usize = 100;

/// An event, with whom it is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    pub(crate) event: Event,
    pub(crate) holder: Option<Holder>,
    pub(crate) waiter: Option<Waiter>,
    /// The number of all waiters after it.
    pub(crate) waiting: u64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
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

/// Returns what a first look has found.
pub(crate) fn found(now: &Resource) -> Vec<Change> {
    let told = Teller(now);
    let mut found: Vec<Change> = now
        .holders
        .iter()
        .map(|holder| told.of(if holder.holds() { Event::Holding } else { Event::Closed }, holder))
        .collect();
    found.extend(now.waiters.iter().map(|waiter| told.waiter(Event::Waiting, waiter)));
    if found.is_empty() {
        found.push(Change { event: Event::Free, holder: None, waiter: None, waiting: now.waiting });
    }
    found
}

/// Returns how a holder has ended that is not there after this time.
fn end_of(earlier: &Holder, between: Duration) -> Event {
    if earlier.left > between {
        Event::Released
    } else if earlier.left >= earlier.most_left / 3 {
        // Its next renewal was not late yet. It may have come, so that the end was another one.
        Event::Ended
    } else {
        Event::Expired
    }
}

/// Returns what has happened between two looks, of which the second one ended this long after the first one began.
pub(crate) fn changes(before: &Resource, now: &Resource, between: Duration) -> Vec<Change> {
    let told = Teller(now);
    let mut changes = Vec::new();
    let is_cut = |seen: &Resource| seen.total > seen.holders.len() as u64;
    for earlier in &before.holders {
        let ended = end_of(earlier, between);
        match same(&now.holders, earlier) {
            Some(later) if earlier.holds() && !later.holds() => changes.push(told.of(ended, later)),
            Some(_) => {}
            // It may be one of those that were not told.
            None if is_cut(now) => {}
            None if earlier.holds() => changes.push(told.of(ended, earlier)),
            None => changes.push(told.of(Event::Opened, earlier)),
        }
    }
    for later in &now.holders {
        match same(&before.holders, later) {
            Some(earlier) if earlier.holds() && later.holds() && earlier.fence != later.fence => {
                changes.push(told.of(Event::Interrupted, later));
            }
            Some(earlier) if earlier.holds() == later.holds() || !later.holds() => {}
            None if !later.holds() => changes.push(told.of(Event::Closed, later)),
            None if before.waiters.iter().any(|waiter| waiter.who.token == later.who.token) => {
                changes.push(told.of(Event::HandedOver, later));
            }
            None if before.holders.iter().any(|earlier| is_re_entry(earlier, later)) => {
                changes.push(told.of(Event::ReEntered, later));
            }
            None if is_cut(before) => {}
            Some(_) | None => changes.push(told.of(Event::Acquired, later)),
        }
    }
    changes.extend(changes_of_queue(before, now));
    changes
}

fn changes_of_queue(before: &Resource, now: &Resource) -> Vec<Change> {
    let told = Teller(now);
    let is_cut =
        |seen: &&Resource| (seen.waiters.len() as u64) < seen.waiting || seen.waiters.len() >= TOLD_APART;
    if [before, now].iter().any(is_cut) {
        let queue = Change { event: Event::Queue, holder: None, waiter: None, waiting: now.waiting };
        return if before.waiting == now.waiting { Vec::new() } else { vec![queue] };
    }
    let is_in = |waiters: &[Waiter], token: &str| waiters.iter().any(|waiter| waiter.who.token == token);
    let left = before.waiters.iter().filter(|waiter| {
        let token = &waiter.who.token;
        !is_in(&now.waiters, token) && !now.holders.iter().any(|holder| holder.who.token == *token)
    });
    let joined = now.waiters.iter().filter(|waiter| !is_in(&before.waiters, &waiter.who.token));
    left.map(|waiter| told.waiter(Event::Left, waiter))
        .chain(joined.map(|waiter| told.waiter(Event::Waiting, waiter)))
        .collect()
}

fn same<'a>(holders: &'a [Holder], holder: &Holder) -> Option<&'a Holder> {
    holders.iter().find(|other| other.who.token == holder.who.token)
}

/// Returns true if this is another hold of the same owner, who has held it all the time: otherwise the fence were another one.
fn is_re_entry(earlier: &Holder, later: &Holder) -> bool {
    earlier.holds()
        && earlier.who.owner.is_some()
        && earlier.who.owner == later.who.owner
        && earlier.fence.is_some()
        && earlier.fence == later.fence
}

/// Makes events of what was seen last.
struct Teller<'a>(&'a Resource);

impl Teller<'_> {
    fn of(&self, event: Event, holder: &Holder) -> Change {
        Change { event, holder: Some(holder.clone()), waiter: None, waiting: self.0.waiting }
    }

    fn waiter(&self, event: Event, waiter: &Waiter) -> Change {
        Change { event, holder: None, waiter: Some(waiter.clone()), waiting: self.0.waiting }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{super::super::view::Who, *};

    const SECOND: Duration = Duration::from_secs(1);

    fn who(token: &str) -> Who {
        Who {
            mode: "exclusive",
            permits: None,
            capacity: None,
            token: token.to_owned(),
            owner: None,
            host: None,
            pid: None,
            purpose: None,
            trace: None,
            metadata: BTreeMap::new(),
        }
    }

    /// One that holds for ten more seconds.
    fn holder(token: &str, fence: u64) -> Holder {
        let left = 10 * SECOND;
        Holder { state: "holding", who: who(token), fence: Some(fence), age: None, left, most_left: left }
    }

    fn owned(token: &str, fence: u64) -> Holder {
        Holder { who: Who { owner: Some("o".to_owned()), ..who(token) }, ..holder(token, fence) }
    }

    fn closed(token: &str, fence: u64) -> Holder {
        Holder { state: "closed", ..holder(token, fence) }
    }

    fn seen(holders: Vec<Holder>, waiters: &[&str]) -> Resource {
        let waiters = waiters.iter().enumerate();
        let waiters: Vec<_> =
            waiters.map(|(at, token)| Waiter { position: at + 1, who: who(token), waited: None }).collect();
        Resource {
            total: holders.len() as u64,
            waiting: waiters.len() as u64,
            holders,
            waiters,
            ..Resource::default()
        }
    }

    /// The events between two looks, each with the token that it is about.
    fn between(before: &Resource, now: &Resource, time: Duration) -> Vec<(Event, String)> {
        let token = |change: &Change| {
            let of_holder = change.holder.as_ref().map(|holder| &holder.who);
            of_holder
                .or(change.waiter.as_ref().map(|waiter| &waiter.who))
                .map_or_else(String::new, |who| who.token.clone())
        };
        changes(before, now, time).iter().map(|change| (change.event, token(change))).collect()
    }

    #[test]
    fn each_change_of_holders_has_its_event() {
        use Event::*;
        for (before, now, expected) in [
            (vec![], vec![holder("a", 1)], vec![(Acquired, "a")]),
            (vec![holder("a", 1)], vec![holder("a", 1)], vec![]),
            (vec![holder("a", 1)], vec![], vec![(Released, "a")]),
            (vec![holder("a", 1)], vec![holder("b", 2)], vec![(Released, "a"), (Acquired, "b")]),
            (vec![holder("a", 1)], vec![holder("a", 2)], vec![(Interrupted, "a")]),
            (vec![holder("a", 1)], vec![closed("a", 1)], vec![(Released, "a")]),
            (vec![closed("a", 1)], vec![], vec![(Opened, "a")]),
            (vec![], vec![closed("a", 1)], vec![(Closed, "a")]),
            (vec![owned("a", 1)], vec![owned("a", 1), owned("b", 1)], vec![(ReEntered, "b")]),
            (vec![owned("a", 1)], vec![owned("b", 2)], vec![(Released, "a"), (Acquired, "b")]),
        ] {
            let told = between(&seen(before, &[]), &seen(now, &[]), SECOND);
            let told: Vec<_> = told.iter().map(|(event, token)| (*event, token.as_str())).collect();
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn a_holder_that_is_gone_has_expired_only_if_its_time_was_over() {
        let ended = |holder: Holder, time| between(&seen(vec![holder], &[]), &seen(vec![], &[]), time);
        let late = || Holder { most_left: 40 * SECOND, ..holder("a", 1) };
        assert_eq!(ended(late(), 9 * SECOND), [(Event::Released, "a".into())]);
        assert_eq!(ended(late(), 10 * SECOND), [(Event::Expired, "a".into())]);
        assert_eq!(ended(holder("a", 1), 10 * SECOND), [(Event::Ended, "a".into())], "it may have renewed");
    }

    #[test]
    fn the_most_that_a_holder_had_left_is_remembered() {
        let mut now = seen(vec![holder("a", 1), holder("b", 2)], &[]);
        now.remember(&seen(vec![Holder { most_left: 40 * SECOND, ..holder("a", 1) }], &[]));
        let most: Vec<_> = now.holders.iter().map(|holder| holder.most_left).collect();
        assert_eq!(most, [40 * SECOND, 10 * SECOND]);
    }

    #[test]
    fn who_waited_and_holds_was_handed_over_to_and_the_others_join_or_leave() {
        let before = seen(vec![holder("a", 1)], &["b", "c", "d"]);
        let now = seen(vec![holder("b", 2)], &["c", "e"]);
        let told = between(&before, &now, SECOND);
        let expected =
            [(Event::Released, "a"), (Event::HandedOver, "b"), (Event::Left, "d"), (Event::Waiting, "e")];
        assert_eq!(told, expected.map(|(event, token)| (event, token.to_owned())));
    }

    #[test]
    fn whom_the_store_did_not_tell_is_not_taken_for_gone_or_new() {
        let mut before = seen(vec![holder("a", 1), holder("b", 2)], &[]);
        let mut now = seen(vec![holder("b", 2), holder("c", 3)], &[]);
        (before.total, now.total) = (3, 3);
        assert_eq!(between(&before, &now, SECOND), []);
    }

    #[test]
    fn of_a_queue_that_the_store_told_in_part_only_the_length_is_told() {
        let (mut before, now) = (seen(vec![], &["a", "b"]), seen(vec![], &["c"]));
        before.waiting = 3;
        assert_eq!(between(&before, &now, SECOND), [(Event::Queue, String::new())]);
    }

    #[test]
    fn a_long_queue_is_told_by_its_length() {
        let names: Vec<String> = (0..TOLD_APART).map(|at| at.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (before, mut now) = (seen(vec![], &names), seen(vec![], &names[1..]));
        now.waiting = 150;
        let told = changes(&before, &now, SECOND);
        assert_eq!((told.len(), told[0].event, told[0].waiting), (1, Event::Queue, 150));
    }

    #[test]
    fn a_first_look_tells_who_is_there() {
        let events = |seen: &Resource| found(seen).iter().map(|change| change.event).collect::<Vec<_>>();
        assert_eq!(events(&seen(vec![], &[])), [Event::Free]);
        assert_eq!(
            events(&seen(vec![holder("a", 1), closed("b", 2)], &["c"])),
            [Event::Holding, Event::Closed, Event::Waiting]
        );
    }
}
