//! A line of cron on all machines of a fleet: one of them runs it.

use super::support::{Run, Server, name, under};

const MACHINES: usize = 8;
const EACH: usize = 3;
const OPTIONS: &[&str] = &["--no-overlap", "--min-hold", "20s"];

#[test]
fn exactly_one_of_a_fleet_runs_the_line() {
    let (server, name) = (Server::start(), name());
    let at_once: Vec<_> =
        (0..MACHINES * EACH).map(|_| Run::start(&server, &name, OPTIONS, "echo it ran")).collect();
    let ended: Vec<_> = at_once.into_iter().map(Run::finished).collect();
    assert!(ended.iter().all(|it| it.code == Some(0) && it.err.is_empty()), "{ended:?}");
    assert_eq!(ended.iter().filter(|it| it.out == "it ran\n").count(), 1, "{ended:?}");
    assert!(under(&name).is_empty());
    // One whose clock is behind comes when the command has long ended.
    let late = Run::start(&server, &name, OPTIONS, "echo it ran").ended(&name);
    assert_eq!((late.code, &*late.out, &*late.err), (Some(0), "", ""));
}

#[test]
fn without_a_minimum_hold_one_that_comes_later_runs_it_again() {
    let (server, name) = (Server::start(), name());
    let ran = (0..3).map(|_| Run::start(&server, &name, &["--no-overlap"], "echo it ran").ended(&name).out);
    assert_eq!(ran.collect::<Vec<_>>(), ["it ran\n"; 3]);
}
