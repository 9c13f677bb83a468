//! The lottery while its store goes away and comes back.

use super::program::{Program, signal};
use crate::examples::{Elected, Lottery, count};

#[test]
fn watchers_wait_for_a_store_that_is_away_and_draw_when_it_is_back() {
    let mut lottery = Lottery::new();
    let mut program = lottery.draw("winners", &["--think", "8s"]);
    let said: Vec<String> = (0..8).map(|_| program.hears(" elected")).collect();
    let elected = Elected::of(said.iter().find(|line| line.contains(" is elected, fence ")).unwrap());
    lottery.server.kill();
    signal("KILL", elected.pid);
    for _ in 0..7 {
        program.hears(" waits for the store: ");
    }
    lottery.server.restart();
    let said = program.succeeds();
    assert_eq!(count(&said, " has drawn ["), 1, "{said:#?}");
    assert_eq!(count(&said, " ended early: "), 1, "{said:#?}");
    lottery.winners("winners");
}

#[test]
fn winners_count_when_the_store_is_away_at_the_end() {
    let mut lottery = Lottery::new();
    let mut program = lottery.draw("winners", &["--think", "5s", "--ttl", "20s"]);
    program.hears(" is elected, fence ");
    lottery.server.kill();
    let said = program.succeeds();
    assert_eq!(count(&said, " has drawn ["), 1, "{said:#?}");
    assert_eq!(count(&said, " ended early: "), 0, "{said:#?}");
    lottery.winners("winners");
}

#[test]
fn a_lottery_whose_store_never_comes_fails() {
    let arguments = ["--store", "redis://127.0.0.1:1", "--instances", "2", "--give-up-after", "300ms"];
    let (status, said) = Program::start("lottery", &arguments).ends();
    assert!(!status.success(), "{said:#?}");
    assert_eq!(count(&said, " waits for the store: "), 2, "{said:#?}");
    assert_eq!(count(&said, " ended early: "), 2, "{said:#?}");
}
