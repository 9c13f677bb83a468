//! The queues, tickets and demands that an engine tells of, and forgets.

use super::*;

/// Admits so many requests for a resource.
fn wait_for(engine: &mut Engine, resource: u64, waiters: u64) {
    for _ in 0..waiters {
        let record = engine.admit(terms(0), wanted(resource));
        on(engine, record, 0, Event::Requested);
    }
}

#[test]
fn the_32_longest_queues_are_told_and_none_in_which_nobody_waits() {
    let (mut engine, _) = with_lease();
    assert!(engine.longest_queues().is_empty(), "its holder has no waiters");
    let waiting = |engine: &Engine| {
        let mut waiting: Vec<_> = engine.longest_queues().iter().map(|queue| queue.waiting).collect();
        waiting.sort_unstable();
        waiting
    };
    (1..=32).for_each(|number| wait_for(&mut engine, number, number));
    assert!(waiting(&engine).into_iter().eq(1..=32));
    (33..=40).for_each(|number| wait_for(&mut engine, number, number));
    assert!(waiting(&engine).into_iter().eq(9..=40));
}

#[test]
fn a_waiter_that_was_told_a_place_in_the_store_has_a_ticket_until_its_grant() {
    let mut engine = engine(4, 100);
    let (record, _) = request(&mut engine, 0);
    assert!(engine.queued().is_empty());
    on(&mut engine, record, 10, refused(0, Some(1)));
    assert_eq!(engine.queued(), [record]);
    on(&mut engine, record, 20, Event::HandedOver);
    on(&mut engine, record, 30, granted(20, false));
    assert!(engine.queued().is_empty());
}

#[test]
fn a_lease_that_is_forgotten_is_gone_and_demand_that_is_old_too() {
    let (mut engine, holder) = with_lease();
    request(&mut engine, 20);
    let demand_is_known = |engine: &Engine| engine.demands.get(&wanted(0).resource).is_some();
    engine.forget_old_demand(at(600_020));
    assert!(demand_is_known(&engine));
    engine.forget_old_demand(at(600_021));
    assert!(!demand_is_known(&engine));
    engine.forget(holder);
    assert!(engine.get(holder).is_none());
}
