//! Callers in processes of their own that fight for locks: for half a minute, and while servers fail.
//!
//! It has a `main` of its own, because the processes are this very program.

mod load;
mod outages;
mod stress;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if load::work_if_asked(&arguments) {
        return ExitCode::SUCCESS;
    }
    let is_table_meant = load::is_meant(&arguments, outages::faults::TABLE);
    let (scenarios, is_stressed) = (outages::meant(&arguments), load::is_meant(&arguments, stress::NAME));
    if arguments.iter().any(|argument| argument == "--list") {
        scenarios.iter().map(|scenario| scenario.name).for_each(|name| println!("{name}: test"));
        is_stressed.then(|| println!("{}: test", stress::NAME));
        is_table_meant.then(|| println!("{}: test", outages::faults::TABLE));
        return ExitCode::SUCCESS;
    }
    if is_table_meant {
        outages::faults::table_is_whole();
    }
    if is_stressed {
        stress::test();
    }
    ExitCode::from(u8::from(!outages::hold(scenarios)))
}
