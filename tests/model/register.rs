//! The register of a schedule, in every order in which things can happen.
//!
//! Each property is broken without one of the rules, in a world in which it is kept with all of them.

use leasehold_sim::checked::register::*;

use super::looked::Looked;

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

#[test]
fn a_tick_runs_at_most_once_and_ticks_go_forward() {
    let two = Looked { world: TWO, steps: 18 };
    two.found(ONCE, RegisterRules { compares_revisions: false, ..TODAY });
    two.found(ONCE, RegisterRules { knows_its_claim: false, ..TODAY });
    two.found(ONCE, RegisterRules { looks_at_the_last: false, ..TODAY });
    two.found(FORWARD, RegisterRules { compares_revisions: false, ..TODAY });
    two.found(NO_OLDER_FENCE, RegisterRules { steps_down: false, ..TODAY });
    two.clean(100_000);
    let dies = Looked { world: DIES, steps: 18 };
    dies.found(ONCE, RegisterRules { knows_its_claim: false, ..TODAY });
    dies.clean(50_000);
}

#[test]
fn a_tick_is_not_claimed_before_its_time() {
    let ahead = Looked { world: AHEAD, steps: 22 };
    ahead.found(IN_TIME, RegisterRules { compares_the_time: false, ..TODAY });
    ahead.clean(1_000);
}

#[test]
fn a_store_that_forgets_everything_runs_nothing_again() {
    let loses = Looked { world: LOSES, steps: 24 };
    loses.found(GOES_ON, RegisterRules { begins_anew: false, ..TODAY });
    loses.found(ONCE, RegisterRules { looks_before_it_begins: false, ..TODAY });
    loses.clean(100_000);
}

#[test]
fn a_runner_remembers_what_a_failover_has_lost() {
    let fails_over = Looked { world: FAILS_OVER, steps: 22 };
    fails_over.found(ONCE, RegisterRules { remembers: false, ..TODAY });
    fails_over.clean(10_000);
    // As docs/schedule.md says.
    Looked { world: RegisterWorld { elects_early: true, ..FAILS_OVER }, ..fails_over }.reached(ONCE);
}
