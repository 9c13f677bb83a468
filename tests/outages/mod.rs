//! 64 callers in 4 processes fight for 12 resources in all modes while something happens to the servers.
//!
//! What they write down is checked: conflicts none, or only around the outage where replication is asynchronous; fences in
//! order; losses told in time; grants again afterwards; no key left over. `LEASEHOLD_OUTAGE=60s` makes the load of each
//! scenario that long, one after the other; without it the load is as long as the outage needs, two at a time.

mod cluster;
pub(crate) mod faults;
mod quorum;
mod row;
pub(crate) mod scenario;
pub(crate) mod sentinel;
mod single;
mod verdict;

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
};

use self::{
    row::Row,
    scenario::{Length, Scenario},
};
use crate::load;

/// How many scenarios run at a time, unless they are long.
const AT_A_TIME: usize = 2;

fn scenarios() -> Vec<Scenario> {
    [sentinel::scenarios(), cluster::scenarios(), quorum::scenarios(), single::scenarios()].concat()
}

/// The scenarios that the arguments of the program name, or all of them.
pub(crate) fn meant(arguments: &[String]) -> Vec<Scenario> {
    let is_meant = |scenario: &Scenario| load::is_meant(arguments, &format!("outages {}", scenario.name));
    scenarios().into_iter().filter(is_meant).chain(faults::meant(arguments)).collect()
}

/// Runs these scenarios, and prints a table of them. Returns true if each kept its promises.
pub(crate) fn hold(meant: Vec<Scenario>) -> bool {
    let (length, at_a_time) = match env::var("LEASEHOLD_OUTAGE") {
        Ok(time) => (Length::Of(humantime::parse_duration(&time).expect("a duration such as 60s")), 1),
        Err(_) => (Length::Short, AT_A_TIME),
    };
    println!("running {} tests: load while servers fail", meant.len());
    let rows = run_all(meant, length, at_a_time);
    if !rows.is_empty() {
        println!("\n{}", Row::HEAD);
    }
    rows.iter().for_each(|(row, _)| println!("{row}"));
    let failed = rows.iter().filter(|(_, violations)| !violations.is_empty()).count();
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {} passed; {failed} failed", rows.len() - failed);
    failed == 0
}

/// Runs them, so many at a time; answers their rows in the order in which they were given, with all violations.
fn run_all(scenarios: Vec<Scenario>, length: Length, at_a_time: usize) -> Vec<(Row, Vec<String>)> {
    let waiting = Mutex::new(scenarios.into_iter().enumerate().rev().collect::<Vec<_>>());
    let done = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap().pop();
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                while let Some((number, scenario)) = next() {
                    let (row, violations) = run(&scenario, length);
                    println!(
                        "test {} ... {}",
                        scenario.name,
                        if violations.is_empty() { "ok" } else { "FAILED" }
                    );
                    println!("{row}");
                    violations.iter().take(10).for_each(|violation| println!("  {violation}"));
                    done.lock().unwrap().push((number, (row, violations)));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn run(scenario: &Scenario, length: Length) -> (Row, Vec<String>) {
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let seen = scenario.run(length);
        seen.keep(scenario);
        let judged = seen.judged(scenario.conflicts);
        (Row::of(scenario, &seen, &judged), verdict::violations(scenario, &seen, judged))
    }));
    // What went wrong stands in the output already.
    ran.unwrap_or_else(|_| (Row::nothing(scenario), vec!["it did not come to its end".to_owned()]))
}
