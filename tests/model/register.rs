//! The register of a schedule, in every order in which things can happen.
//!
//! Each property is broken without one of the rules, in a world in which it is kept with all of them.

use leasehold_sim::checked::register::*;

const TODAY: RegisterRules = RegisterRules::TODAY;

/// Two processes that both believe that they lead, something else that is written, and a broken connection.
const TWO: RegisterWorld =
    RegisterWorld { ticks: 2, elections: 2, breaks: 1, changes: 1, ..RegisterWorld::EMPTY };

/// A process that dies, perhaps between its claim and its run.
const DIES: RegisterWorld = RegisterWorld { deaths: 1, ..TWO };

/// Processes whose clocks are ahead of that of the store.
const AHEAD: RegisterWorld =
    RegisterWorld { ticks: 2, elections: 2, clocks_are_ahead: true, ..RegisterWorld::EMPTY };

/// A store that loses everything.
const LOSES: RegisterWorld = RegisterWorld { ticks: 2, elections: 2, losses: 1, ..RegisterWorld::EMPTY };

/// A replica that is behind and takes over; a lease ends before another one begins.
const FAILS_OVER: RegisterWorld =
    RegisterWorld { ticks: 2, elections: 2, failovers: 1, one_leads: true, ..RegisterWorld::EMPTY };

/// Asserts that a world breaks this property without a rule.
fn found(world: RegisterWorld, property: &'static str, without: RegisterRules) {
    let path = RegisterWorld { rules: without, ..world }.broken(property, 22);
    assert!(path.is_some(), "not found: {property}");
}

fn clean(world: RegisterWorld, depth: usize, at_least: usize) {
    let (states, path) = world.check(depth);
    assert_eq!(path, None);
    assert!(states > at_least, "{states}");
}

#[test]
fn a_tick_runs_at_most_once_and_ticks_go_forward() {
    found(TWO, ONCE, RegisterRules { compares_revisions: false, ..TODAY });
    found(TWO, ONCE, RegisterRules { knows_its_claim: false, ..TODAY });
    found(TWO, ONCE, RegisterRules { looks_at_the_last: false, ..TODAY });
    found(TWO, FORWARD, RegisterRules { compares_revisions: false, ..TODAY });
    found(TWO, NO_OLDER_FENCE, RegisterRules { steps_down: false, ..TODAY });
    clean(TWO, 18, 100_000);
    clean(DIES, 16, 50_000);
}

#[test]
fn a_tick_is_not_claimed_before_its_time() {
    found(AHEAD, IN_TIME, RegisterRules { compares_the_time: false, ..TODAY });
    clean(AHEAD, 22, 1_000);
}

#[test]
fn a_store_that_forgets_everything_runs_nothing_again() {
    found(LOSES, GOES_ON, RegisterRules { begins_anew: false, ..TODAY });
    found(LOSES, ONCE, RegisterRules { looks_before_it_begins: false, ..TODAY });
    clean(LOSES, 24, 100_000);
}

#[test]
fn a_runner_remembers_what_a_failover_has_lost() {
    found(FAILS_OVER, ONCE, RegisterRules { remembers: false, ..TODAY });
    clean(FAILS_OVER, 22, 10_000);
    // As docs/schedule.md says.
    found(RegisterWorld { elects_early: true, ..FAILS_OVER }, ONCE, TODAY);
}
