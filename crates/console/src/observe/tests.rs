//! The events between two looks.

use std::{collections::BTreeMap, time::Duration};

use super::{Look, Observed, Occurrence, TOLD_APART, observe};
use crate::view::{HolderView, ModeKind, ModeView, ResourceView, Standing, WaiterView, Who};

pub(super) const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn who(token: &str) -> Who {
    Who {
        mode: ModeView { kind: ModeKind::Exclusive, permits: None, capacity: None },
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
pub(super) fn holder(token: &str, fence: u64) -> HolderView {
    HolderView { state: Standing::Holding, who: who(token), fence: Some(fence), age: None, left: s(10) }
}

fn owned(token: &str, fence: u64) -> HolderView {
    HolderView { who: Who { owner: Some("o".to_owned()), ..who(token) }, ..holder(token, fence) }
}

fn closed(token: &str, fence: u64) -> HolderView {
    HolderView { state: Standing::Closed, ..holder(token, fence) }
}

/// A look at this second.
pub(super) fn look(holders: Vec<HolderView>, waiters: &[&str], at: u64) -> Look {
    let waiters = waiters.iter().zip(1..);
    let waiters: Vec<_> =
        waiters.map(|(token, position)| WaiterView { position, who: who(token), waited: None }).collect();
    let (total, waiting) = (holders.len() as u64, Some(waiters.len() as u64));
    let seen = ResourceView { total, waiting, holders, waiters, ..ResourceView::default() };
    Look::new(seen, s(at), s(at))
}

/// The events between two looks, each with the token that it is about.
fn between(before: &Look, mut now: Look) -> Vec<(Occurrence, String)> {
    let token = |event: &Observed| {
        let of_holder = event.holder.as_ref().map(|holder| &holder.who);
        let who = of_holder.or(event.waiter.as_ref().map(|waiter| &waiter.who));
        who.map_or_else(String::new, |who| who.token.clone())
    };
    observe(Some(before), &mut now).iter().map(|event| (event.event, token(event))).collect()
}

/// The events of looks at one holder, one a second, with the time that it has left: each with whether it was late.
fn course(lefts: &[Option<Duration>]) -> Vec<(Occurrence, bool)> {
    let (mut before, mut told): (Option<Look>, _) = (None, Vec::new());
    for (left, at) in lefts.iter().zip(0..) {
        let holders = left.iter().map(|left| HolderView { left: *left, ..holder("a", 1) }).collect();
        let mut now = look(holders, &[], at);
        let events = observe(before.as_ref(), &mut now);
        told.extend(events.iter().map(|event| (event.event, event.late)).filter(|_| at > 0));
        before = Some(now);
    }
    told
}

/// Looks at one holder, one a second, that has so many seconds left at each.
fn looks<const N: usize>(lefts: [u64; N]) -> Vec<Look> {
    let mut looks: Vec<Look> = Vec::new();
    for (left, at) in lefts.into_iter().zip(0..) {
        let mut now = look(vec![HolderView { left: s(left), ..holder("a", 1) }], &[], at);
        observe(looks.last(), &mut now);
        looks.push(now);
    }
    looks
}

#[test]
fn each_change_of_holders_has_its_event() {
    use Occurrence::*;
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
        let told = between(&look(before, &[], 0), look(now, &[], 1));
        let told: Vec<_> = told.iter().map(|(event, token)| (*event, token.as_str())).collect();
        assert_eq!(told, expected);
    }
}

#[test]
fn a_re_entry_and_what_a_first_look_finds_are_no_grants() {
    let grants = [Occurrence::Acquired, Occurrence::HandedOver];
    for event in [Occurrence::ReEntered, Occurrence::Holding, Occurrence::Waiting, Occurrence::Interrupted] {
        assert!(!event.is_grant(), "{event:?}");
    }
    assert!(grants.into_iter().all(Occurrence::is_grant));
}

#[test]
fn a_holder_that_is_gone_has_expired_only_if_its_time_was_over() {
    let ended = |before: &Look, after| between(before, look(vec![], &[], after));
    let mut late = look(vec![HolderView { left: s(40), ..holder("a", 1) }], &[], 0);
    assert_eq!(ended(&late, 39), [(Occurrence::Released, "a".into())]);
    let mut now = look(vec![holder("a", 1)], &[], 30);
    observe(Some(&late), &mut now);
    late = now;
    assert_eq!(ended(&late, 39), [(Occurrence::Released, "a".into())]);
    assert_eq!(ended(&late, 40), [(Occurrence::Expired, "a".into())]);
    let mut rounded = late.clone();
    rounded.seen.holders[0].left += Duration::from_millis(1);
    assert_eq!(ended(&rounded, 40), [(Occurrence::Expired, "a".into())]);
    let fresh = look(vec![holder("a", 1)], &[], 0);
    assert_eq!(ended(&fresh, 10), [(Occurrence::Ended, "a".into())], "it may have renewed");
}

#[test]
fn the_time_between_two_looks_reaches_from_the_first_question_to_the_last_answer() {
    let seen = look(vec![holder("a", 1)], &[], 0).seen;
    let before = Look::new(seen, s(1), s(3));
    let now = Look::new(ResourceView::default(), s(9), s(11));
    assert_eq!(between(&before, now), [(Occurrence::Ended, "a".into())]);
}

#[test]
fn a_lease_that_nobody_renews_is_never_late() {
    let told = course(&[Some(s(9)), Some(s(8)), Some(s(2)), Some(s(1)), None]);
    assert_eq!(told, [(Occurrence::Expired, false)]);
}

#[test]
fn a_late_lease_that_is_renewed_is_a_near_miss() {
    let looks = looks([5, 9, 2, 9, 8]);
    assert_eq!(looks.iter().map(Look::near_misses).collect::<Vec<_>>(), [0, 0, 0, 1, 0]);
    assert_eq!(looks.iter().map(|look| look.late().count()).collect::<Vec<_>>(), [0, 0, 1, 0, 0]);
}

#[test]
fn a_late_lease_that_is_gone_has_run_out_only_if_its_time_was_up() {
    let told = course(&[Some(s(5)), Some(s(9)), Some(s(1)), None]);
    assert_eq!(told, [(Occurrence::Expired, true)]);
    let told = course(&[Some(s(5)), Some(s(9)), Some(Duration::from_millis(1_500)), None]);
    assert_eq!(told, [(Occurrence::Released, true)]);
}

#[test]
fn a_holder_is_late_while_the_looks_show_it() {
    let looks = looks([5, 9, 1]);
    let last = &looks[2];
    assert_eq!(last.late().count(), 1);
    let mut of_many = look(vec![holder("b", 1)], &[], 3);
    of_many.seen.total = 2_000;
    let told = between(last, of_many.clone());
    assert_eq!(told, [(Occurrence::Acquired, "b".into())], "nobody is said to be gone");
    observe(Some(last), &mut of_many);
    assert_eq!(of_many.late().count(), 0);
}

#[test]
fn who_waited_and_holds_was_handed_over_to_and_the_others_join_or_leave() {
    let before = look(vec![holder("a", 1)], &["b", "c", "d"], 0);
    let told = between(&before, look(vec![holder("b", 2)], &["c", "e"], 1));
    let expected = [
        (Occurrence::Released, "a"),
        (Occurrence::HandedOver, "b"),
        (Occurrence::Left, "d"),
        (Occurrence::Waiting, "e"),
    ];
    assert_eq!(told, expected.map(|(event, token)| (event, token.to_owned())));
}

#[test]
fn whom_the_store_did_not_tell_is_not_taken_for_gone_or_new() {
    let mut before = look(vec![holder("a", 1), holder("b", 2)], &[], 0);
    let mut now = look(vec![holder("b", 2), holder("c", 3)], &[], 2);
    (before.seen.total, now.seen.total) = (3, 3);
    assert_eq!(between(&before, now.clone()), []);
    now.seen.holders[1].age = Some(s(1));
    assert_eq!(between(&before, now), [(Occurrence::Acquired, "c".into())], "it was granted since");
}

#[test]
fn of_a_queue_that_the_store_told_in_part_only_the_length_is_told() {
    let mut before = look(vec![], &["a", "b"], 0);
    before.seen.waiting = Some(3);
    assert_eq!(between(&before, look(vec![], &["c"], 1)), [(Occurrence::Queue, String::new())]);
}

#[test]
fn a_long_queue_is_told_by_its_length() {
    let names: Vec<String> = (0..TOLD_APART).map(|at| at.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (before, mut now) = (look(vec![], &names, 0), look(vec![], &names[1..], 1));
    now.seen.waiting = Some(150);
    let told = observe(Some(&before), &mut now);
    assert_eq!((told.len(), told[0].event, told[0].waiting), (1, Occurrence::Queue, 150));
}

#[test]
fn a_first_look_tells_who_is_there() {
    let events =
        |mut seen: Look| -> Vec<_> { observe(None, &mut seen).iter().map(|event| event.event).collect() };
    assert_eq!(events(look(vec![], &[], 0)), [Occurrence::Free]);
    assert_eq!(
        events(look(vec![holder("a", 1), closed("b", 2)], &["c"], 0)),
        [Occurrence::Holding, Occurrence::Closed, Occurrence::Waiting]
    );
}
