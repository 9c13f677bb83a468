//! Facts about the checks of the soak: each finds what it is for, in what is made up.

use std::{collections::BTreeSet, time::Duration};

use leasehold::{Fence, LossReason, Mode, ResourceName, env::Moment};
use leasehold_testing::history::Held;

use super::{
    checks_of_faults,
    leading::{Leaders, Led, PARTITIONS, Run, Ticks},
    ledger::Ledger,
    limits::Allowed,
    revoked::Taken,
    sampler::{Sample, Samples},
    worker::Said,
};
use crate::load::Report;

/// The name of the facts.
pub(crate) const NAME: &str = "soak_checks";

const FACTS: [(&str, fn()); 9] = [
    ("a_double_hold_is_found_once_also_in_two_windows", double_holds),
    ("a_fence_is_compared_with_what_is_forgotten", fences),
    ("a_loss_that_is_told_late_is_found", late_losses),
    ("a_conflict_is_documented_only_while_a_limit_allows_it", documented),
    ("a_conflict_of_what_is_revoked_is_excused_only_while_it_is_taken_by_force", forced),
    ("a_tick_runs_once_and_in_order", ticks),
    ("two_singletons_at_once_are_found", singletons),
    ("two_owners_of_a_partition_and_one_without_an_owner_are_found", owners),
    ("memory_and_files_that_grow_are_found", growth),
];

/// Holds all of them to be true; panics if one is not.
pub(crate) fn test() {
    for (name, fact) in FACTS.into_iter().chain(checks_of_faults::FACTS) {
        fact();
        println!("test {NAME}::{name} ... ok");
    }
}

pub(super) const SECOND: u64 = 1_000_000;

pub(super) fn at(seconds: f64) -> Moment {
    Moment::since_origin(Duration::from_secs_f64(seconds))
}

/// An exclusive lease of `load/0`, asked for half a second before it was granted.
pub(super) fn held(granted: f64, stopped: f64, fence: u64) -> Held {
    Held {
        resource: ResourceName::new("load/0").unwrap(),
        mode: Mode::Exclusive,
        owner: None,
        reentered: false,
        fence: Some(Fence::new(fence)),
        ttl: Duration::from_secs(3),
        asked: at(granted - 0.5),
        granted: at(granted),
        valid_until: at(stopped + 1.0),
        stopped: at(stopped),
        lost: None,
    }
}

pub(super) fn said(held: Vec<Held>) -> Said {
    Said { report: Report { held, ..Report::default() }, ..Said::default() }
}

pub(super) fn ledger() -> Ledger {
    Ledger::new(false, 2, 0)
}

fn double_holds() {
    let mut ledger = ledger();
    ledger.add(0, said(vec![held(1.0, 2.0, 1), held(15.0, 25.0, 2)]));
    ledger.check(60 * SECOND, false);
    assert!(ledger.violations.is_empty(), "{:?}", ledger.violations);
    // The other one was checked in the window before.
    ledger.add(1, said(vec![held(24.0, 26.0, 3)]));
    ledger.check(80 * SECOND, false);
    ledger.check(100 * SECOND, false);
    ledger.check(200 * SECOND, true);
    assert_eq!(ledger.violations.len(), 1, "once: {:?}", ledger.violations);
    ledger.add(0, said(vec![held(201.0, 209.0, 4), held(203.0, 204.0, 5)]));
    ledger.check(300 * SECOND, true);
    assert_eq!(ledger.violations.len(), 2, "{:?}", ledger.violations);
    assert_eq!(ledger.remembered(), 0);
}

fn fences() {
    let mut ledger = ledger();
    ledger.add(0, said(vec![held(1.0, 2.0, 7)]));
    ledger.check(300 * SECOND, false);
    assert_eq!(ledger.remembered(), 0);
    ledger.add(0, said(vec![held(301.0, 302.0, 8)]));
    ledger.check(400 * SECOND, false);
    assert!(ledger.violations.is_empty(), "{:?}", ledger.violations);
    ledger.add(0, said(vec![held(401.0, 402.0, 7)]));
    ledger.check(500 * SECOND, false);
    let both =
        |what: &String, fences: [u64; 2]| fences.iter().all(|it| what.contains(&format!("Fence({it})")));
    assert!(
        ledger.violations.len() == 1 && both(ledger.violations.first().unwrap(), [7, 8]),
        "{:?}",
        ledger.violations
    );
    // The older one of a pair ends in a later window than the newer one.
    let mut ledger = super::checks::ledger();
    let shared = |held| Held { mode: Mode::Shared, ..held };
    ledger.add(0, said(vec![shared(held(1.0, 40.0, 9)), shared(held(3.0, 4.0, 5))]));
    ledger.check(50 * SECOND, false);
    ledger.check(100 * SECOND, false);
    assert!(
        ledger.violations.len() == 1 && both(ledger.violations.first().unwrap(), [9, 5]),
        "{:?}",
        ledger.violations
    );
}

fn late_losses() {
    let mut ledger = ledger();
    let lost = |stopped| Held {
        valid_until: at(3.0),
        lost: Some(LossReason::Expired),
        ..held(1.0, stopped, stopped as u64)
    };
    ledger.add(0, said(vec![lost(3.0)]));
    ledger.add(1, said(vec![Held { resource: ResourceName::new("load/1").unwrap(), ..lost(9.0) }]));
    ledger.check(60 * SECOND, true);
    assert_eq!(ledger.violations.len(), 1, "{:?}", ledger.violations);
    assert_eq!(ledger.totals.lost(), 2);
    ledger.add(0, said(vec![Held { resource: ResourceName::new("load/2").unwrap(), ..lost(3.1) }]));
    ledger.check(120 * SECOND, true);
    assert_eq!((ledger.violations.len(), ledger.totals.a_little_late), (1, 1));
}

fn documented() {
    let two = |resource: &str| {
        let of = |held| Held { resource: ResourceName::new(resource).unwrap(), ..held };
        vec![of(held(1.0, 10.0, 1)), of(held(8.0, 9.0, 2))]
    };
    let counts = |leases: Vec<Held>, until: u64| {
        let mut ledger = ledger();
        ledger.allowed.push(Allowed { from: SECOND, until, why: "a limit" });
        ledger.add(0, said(leases));
        ledger.check(60 * SECOND, true);
        (ledger.violations.len(), ledger.totals.documented.values().sum::<u64>())
    };
    assert_eq!(counts(two("load/1"), 4 * SECOND), (0, 1));
    let (violations, documented) = counts(two("load/1"), 2 * SECOND);
    assert!(violations > 0 && documented == 0, "later than the consequences of the outage");
}

fn forced() {
    let two = |resource: &str| {
        let of = |held| Held { resource: ResourceName::new(resource).unwrap(), ..held };
        vec![of(held(1.0, 10.0, 1)), of(held(8.0, 9.0, 2))]
    };
    let taken = |resource: &str, from: u64, until: u64| Taken {
        resource: resource.to_owned(),
        from: from * SECOND,
        until: until * SECOND,
        finished: 0,
        taken: 1,
        failed: false,
    };
    let violations = |taken: Taken| {
        let mut ledger = ledger();
        ledger.spans.begin("a fault", 4 * SECOND);
        ledger.spans.heal(7 * SECOND, BTreeSet::new());
        ledger.add(0, Said { taken: vec![taken], ..said(two("revoked/1")) });
        ledger.check(60 * SECOND, true);
        assert_eq!(ledger.violations.is_empty(), ledger.totals.documented.values().sum::<u64>() == 1);
        ledger.violations.len()
    };
    assert_eq!(violations(taken("revoked/1", 7, 8)), 0);
    assert_eq!(violations(taken("revoked/0", 7, 8)), 1, "another one was taken");
    assert_eq!(violations(taken("revoked/1", 9, 10)), 1, "taken after both had it");
    assert_eq!(violations(taken("revoked/1", 4, 5)), 1, "taken longer ago than a TTL");
    assert_eq!(violations(Taken { taken: 0, finished: 1, ..taken("revoked/1", 7, 8) }), 1, "given back");
    let failed = |until| Taken { taken: 0, failed: true, ..taken("revoked/1", 2, until) };
    assert_eq!(violations(failed(5)), 0, "it may be carried out at the end of the fault");
    assert_eq!(violations(failed(3)), 1);
}

fn ticks() {
    let run = |number, scheduled_for, fence| Run { number, scheduled_for, fence, at: 0 };
    let found = |runs: &[Run]| {
        let mut ticks = Ticks::default();
        let found = runs.iter().filter_map(|run| ticks.add(*run)).count();
        (found, ticks.runners)
    };
    assert_eq!(found(&[run(1, 10, 1), run(2, 20, 1), run(3, 30, 2)]), (0, 2));
    assert_eq!(found(&[run(1, 10, 1), run(3, 30, 2), run(2, 20, 1)]).0, 0, "told late");
    assert_eq!(found(&[run(1, 10, 1), run(2, 20, 1), run(2, 20, 1)]).0, 1);
    assert_eq!(found(&[run(1, 10, 1), run(2, 10, 1)]).0, 1, "two numbers of one tick");
    assert_eq!(found(&[run(1, 10, 2), run(2, 20, 1)]).0, 1, "an older runner");
}

fn singletons() {
    let led = |at: u64, until: u64, fence| Led { at: at * SECOND, until: until * SECOND, fence, by: 1 };
    let found = |all: &[Led]| {
        let mut leaders = Leaders::default();
        leaders.add(all);
        (leaders.check(100 * SECOND).len(), leaders.terms)
    };
    assert_eq!(found(&[led(3, 5, 2), led(1, 3, 1), led(2, 4, 1)]), (0, 2));
    assert_eq!(found(&[led(1, 3, 1), led(2, 5, 2), led(3, 4, 1)]).0, 1, "the older one still works");
    assert_eq!(found(&[led(3, 3, 1)]).0, 1, "without a lease");
    assert_eq!(found(&[led(1, 4, 1), Led { by: 2, ..led(2, 5, 1) }]).0, 1, "one fence in two processes");
}

fn owners() {
    let led = |at: u64, until: u64, fence| Led { at: at * SECOND, until: until * SECOND, fence, by: 1 };
    let found = |owned: &[(u32, Led)]| {
        let mut ledger = ledger();
        ledger.add(0, Said { owned: owned.to_vec(), ..Said::default() });
        ledger.check(100 * SECOND, false);
        (ledger.violations.len(), ledger.unowned(2 * SECOND).len() as u32)
    };
    assert_eq!(found(&[(0, led(1, 3, 1)), (1, led(2, 4, 2)), (0, led(3, 5, 1))]), (0, PARTITIONS - 1));
    assert_eq!(found(&[(0, led(1, 3, 1)), (0, Led { by: 2, ..led(2, 4, 1) })]), (1, PARTITIONS));
    assert_eq!(found(&[(1, led(1, 3, 2)), (1, led(3, 5, 1))]).0, 1, "the older one still works");
    assert_eq!(found(&[(2, led(3, 3, 1))]).0, 1, "without a lease");
}

fn growth() {
    let of = |value: fn(u64) -> Sample| Samples((0..2_000).map(value).collect());
    let flat = of(|second| Sample { memory: 30_000 + second % 3_000, files: 20 + second % 5 });
    assert_eq!(flat.growth(), None);
    let warm = of(|second| Sample { memory: 10_000 + 200 * second.min(450), files: 20 });
    assert_eq!(warm.growth(), None, "it grows to its size");
    assert!(of(|second| Sample { memory: 30_000 + 10 * second, files: 20 }).growth().is_some());
    assert!(of(|second| Sample { memory: 30_000, files: 20 + second / 25 }).growth().is_some());
}
