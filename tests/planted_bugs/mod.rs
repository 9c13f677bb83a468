//! Bugs that are planted on purpose, to see that the tests find them.
//!
//! A simulation that finds nothing in worlds that have nothing wrong proves little; this proves that it looks. Each bug is
//! a point `planted!("its name")` in the sources, which exists only in a build with `--cfg planted`. One such build has all of
//! them, and `LEASEHOLD_PLANTED` names the one that is there.

mod bugs;
mod points;
mod programs;

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use bugs::{
    BUGS, Bug,
    Finder::{OneStore, Quorum, Test},
    ONE_STORE, QUORUM,
};
use programs::Programs;

/// The seeds of which one has to show a bug. The run ends at the first that does; the two bugs that few seeds show are shown
/// by 26 and 38.
const SEEDS: Range<usize> = 26..154;

/// The seeds that have to show nothing where no bug is planted.
const HEALTHY: Range<usize> = 0..6;

#[test]
fn the_list_has_every_point_in_the_sources() {
    let listed: BTreeSet<_> = BUGS.iter().map(|bug| bug.name.to_owned()).collect();
    assert_eq!(listed.len(), BUGS.len(), "two bugs have one name");
    assert_eq!(listed, points::names());
}

#[test]
fn every_planted_bug_is_caught() {
    let began = Instant::now();
    let programs = Programs::compile();
    println!("{:5.1} s to compile", began.elapsed().as_secs_f64());
    nothing_is_found_without_a_bug(&programs);
    let missed = missed(&programs);
    println!("{:5.1} s in all, {} bugs", began.elapsed().as_secs_f64(), BUGS.len());
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
}

fn nothing_is_found_without_a_bug(programs: &Programs) {
    let began = Instant::now();
    for world in [ONE_STORE, QUORUM] {
        let found = programs.simulate(world, HEALTHY, "", |_| false);
        assert!(found.is_healthy, "without a bug the simulation must find nothing:\n{}", found.output);
    }
    let tests: BTreeSet<_> = BUGS.iter().filter_map(Bug::test).collect();
    for (program, test) in tests {
        let found = programs.test(program, test, "");
        assert!(found.is_healthy, "{test} fails without a bug:\n{}", found.output);
        assert!(found.output.contains(" 1 passed;"), "there is no test {test}");
    }
    println!("{:5.1} s without a bug", began.elapsed().as_secs_f64());
}

/// Looks for all bugs, two at a time. Returns those that nobody caught.
fn missed(programs: &Programs) -> Vec<String> {
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let look = || {
        while let Some(bug) = BUGS.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(told) = find(programs, bug) {
                missed.lock().unwrap().push(told);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(look);
        look();
    });
    missed.into_inner().unwrap()
}

/// Looks for a bug, and prints who caught it.
fn find(programs: &Programs, bug: &Bug) -> Result<(), String> {
    let began = Instant::now();
    let (caught, found) = match bug.finder {
        OneStore(properties) => simulate(programs, ONE_STORE, bug.name, properties),
        Quorum(properties) => simulate(programs, QUORUM, bug.name, properties),
        Test(program, test) => {
            let found = programs.test(program, test, bug.name);
            ((!found.is_healthy).then(|| format!("{program}::{test}")), found.output)
        }
    };
    let took = began.elapsed().as_secs_f64();
    let Some(by) = caught else { return Err(format!("{}, in {took:.1} s:\n{found}", bug.name)) };
    println!("{took:5.1} s  {}  <-  {by}", bug.name);
    Ok(())
}

/// Looks for a bug in a world. Returns the first seed that breaks one of the properties, if any, and the output.
fn simulate(programs: &Programs, world: &str, bug: &str, properties: &[&str]) -> (Option<String>, String) {
    let shows = |line: &str| {
        let broken = |property: &&str| line.contains(&format!("{property:?}"));
        line.starts_with("seed ") && properties.iter().any(broken)
    };
    let output = programs.simulate(world, SEEDS, bug, shows).output;
    let caught = output.lines().find(|line| shows(line));
    (caught.and_then(|line| Some(line.split_once(';')?.0.to_owned())), output)
}
