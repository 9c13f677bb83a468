//! Facts about what the soak judges by the times of faults, and by the whole run: each finds a lie.

use std::collections::BTreeSet;

use leasehold::{LossReason, ResourceName};
use leasehold_testing::history::Held;

use super::{
    checks::{SECOND, at, held, ledger, said},
    leading::Run,
    ledger::Ledger,
    worker::Said,
};
use crate::load::{Loss, Report};

pub(super) const FACTS: [(&str, fn()); 7] = [
    ("what_a_fault_spares_must_be_granted_while_it_lasts", progress),
    ("a_loss_without_a_fault_is_found", losses),
    ("a_request_without_an_answer_is_found", silence),
    ("a_failure_that_no_fault_explains_is_found", failures),
    ("many_losses_that_are_told_a_little_late_are_found", unseen),
    ("ticks_that_are_missing_without_a_fault_are_found", gaps),
    ("a_run_that_was_claimed_before_a_clock_was_set_back_does_not_end_the_fault", in_flight),
];

/// A ledger with a fault from 20 s to 26 s, after which all was granted again at 28 s.
fn with_a_fault(spared: &[&str]) -> Ledger {
    let mut ledger = ledger();
    ledger.spans.begin("a fault", 20 * SECOND);
    ledger.spans.heal(26 * SECOND, spared.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>());
    ledger.spans.end(28 * SECOND);
    ledger
}

fn reported(report: Report) -> Said {
    Said { report, ..Said::default() }
}

fn progress() {
    let of = |resource: &str, held| Held { resource: ResourceName::new(resource).unwrap(), ..held };
    let found = |more: Option<Held>, spared: &[&str], stalls: Vec<(u64, u64)>| {
        let mut ledger = with_a_fault(spared);
        // Thirty a second of each of two resources before it, and one of the second while it lasts.
        let all = (0..600).flat_map(|number: u64| {
            let granted = 0.5 + number as f64 / 31.0;
            ["load/0", "load/1"].map(|name| of(name, held(granted, granted + 0.01, number + 1)))
        });
        let all = all.chain([of("load/1", held(23.0, 23.1, 1_000))]).chain(more);
        ledger.add(0, Said { report: Report { stalls, ..said(all.collect()).report }, ..Said::default() });
        ledger.check(30 * SECOND, true);
        (ledger.violations.len(), ledger.totals.progress)
    };
    assert_eq!(found(None, &["load/0"], Vec::new()), (1, 1), "nothing of what it spares");
    assert_eq!(found(None, &["load/0", "load/1"], Vec::new()), (0, 1));
    assert_eq!(found(None, &[], Vec::new()), (0, 0), "it spares nothing");
    assert_eq!(found(Some(held(25.0, 25.1, 2_000)), &["load/0"], Vec::new()), (0, 1));
    let no_turn = vec![(20 * SECOND, 23 * SECOND)];
    assert_eq!(found(None, &["load/0"], no_turn), (0, 0), "the machine was busy");
}

fn losses() {
    let found = |at: u64, stalls: Vec<(u64, u64)>| {
        let mut ledger = with_a_fault(&[]);
        let (resource, reason) = ("load/0".to_owned(), "expired".to_owned());
        let losses = vec![Loss { at, resource, fence: 1, reason, found: true }];
        ledger.add(0, reported(Report { losses, stalls, ..Report::default() }));
        ledger.check(at + 20 * SECOND, false);
        assert!(ledger.violations.is_empty(), "not all is told yet");
        ledger.check(at + 40 * SECOND, false);
        assert_eq!(ledger.totals.losses.values().sum::<u64>(), 1);
        ledger.violations.len()
    };
    assert_eq!(found(19 * SECOND, Vec::new()), 1, "before the fault");
    assert_eq!([20, 26, 31].map(|at| found(at * SECOND, Vec::new())), [0; 3]);
    assert_eq!(found(32 * SECOND, Vec::new()), 1, "long after it");
    assert_eq!(found(40 * SECOND, vec![(39 * SECOND, 40 * SECOND)]), 0, "nobody had a turn");
    assert_eq!(found(40 * SECOND, vec![(34 * SECOND, 36 * SECOND)]), 1, "it had one since then");
}

fn silence() {
    let mut ledger = ledger();
    ledger.add(0, reported(Report { cancelled: 1, ..Report::default() }));
    assert!(ledger.violations.is_empty());
    ledger.add(0, reported(Report { unanswered: vec!["a request".to_owned()], ..Report::default() }));
    assert_eq!(ledger.violations.len(), 1);
}

fn failures() {
    let found = |kind: &str| {
        let mut ledger = ledger();
        ledger.add(0, reported(Report { errors: [(kind.to_owned(), 1)].into(), ..Report::default() }));
        ledger.violations.len()
    };
    assert_eq!(["no_quorum", "unavailable", "busy"].map(found), [0; 3]);
    assert_eq!(["restarted", "mode_mismatch", "corrupt"].map(found), [1; 3]);
}

fn unseen() {
    let found = |late: u64| {
        let mut ledger = ledger();
        let all = (0..late + 100).map(|number| {
            let granted = 1.0 + 4.0 * number as f64;
            let lost = (number < late).then_some(LossReason::Expired);
            Held { valid_until: at(granted + 2.9), lost, ..held(granted, granted + 2.985, number + 1) }
        });
        ledger.add(0, said(all.collect()));
        ledger.check(900 * SECOND, true);
        assert_eq!(ledger.totals.a_little_late, late);
        ledger.violations.len()
    };
    assert_eq!((found(1), found(2)), (0, 1));
}

fn gaps() {
    let found = |moments: &[f64]| {
        let mut ledger = with_a_fault(&[]);
        let run = |(number, at): (usize, &f64)| {
            let (number, at) = (number as u64 + 1, (at * 1e6) as u64);
            Run { number, scheduled_for: at, fence: 1, at }
        };
        ledger.add(0, Said { runs: moments.iter().enumerate().map(run).collect(), ..Said::default() });
        ledger.check(40 * SECOND, false);
        ledger.check(90 * SECOND, false);
        (ledger.violations.len(), ledger.totals.missing_ticks)
    };
    assert_eq!(found(&[1.0, 1.5, 2.0, 2.7, 3.2]), (0, 0));
    assert_eq!(found(&[1.0, 1.5, 3.0]), (0, 2), "counted alone");
    assert_eq!(found(&[1.0, 5.0]), (1, 7));
    assert_eq!(found(&[19.0, 31.5]), (0, 1), "a fault explains the rest");
    assert_eq!(found(&[32.0, 36.5]), (1, 8), "long after it, and over the border of a window");
}

fn in_flight() {
    let mut ledger = ledger();
    let mut ran = |number, at| {
        let run = Run { number, scheduled_for: at, fence: 1, at };
        ledger.add(0, Said { runs: vec![run], ..Said::default() });
        [1, 2].map(|times| ledger.has_run(times, 20))
    };
    assert_eq!(ran(2, 21), [true, false], "its answer came after the fault");
    assert_eq!(ran(1, 19), [true, false], "told late by another process");
    assert_eq!(ran(3, 34), [true; 2]);
}
