//! Callers in processes of their own that fight for locks: for half a minute, while servers fail, and for hours (`LEASEHOLD_SOAK`).
//!
//! It has a `main` of its own, because the processes are this very program.

mod load;
mod outages;
mod soak;
mod stress;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if load::work_if_asked(&arguments) || soak::work_if_asked(&arguments) {
        return ExitCode::SUCCESS;
    }
    let is_table_meant = load::is_meant(&arguments, outages::faults::TABLE);
    let are_checked = load::is_meant(&arguments, soak::checks::NAME);
    let (scenarios, is_stressed) = (outages::meant(&arguments), load::is_meant(&arguments, stress::NAME));
    if arguments.iter().any(|argument| argument == "--list") {
        scenarios.iter().map(|scenario| scenario.name).for_each(|name| println!("{name}: test"));
        are_checked.then(|| println!("{}: test", soak::checks::NAME));
        is_stressed.then(|| println!("{}: test", stress::NAME));
        is_table_meant.then(|| println!("{}: test", outages::faults::TABLE));
        return ExitCode::SUCCESS;
    }
    if let Some(time) = soak::length().filter(|_| load::is_meant(&arguments, soak::NAME)) {
        return ExitCode::from(u8::from(!soak::holds(time)));
    }
    if is_table_meant {
        outages::faults::table_is_whole();
    }
    if are_checked {
        soak::checks::test();
    }
    if is_stressed {
        stress::test();
    }
    ExitCode::from(u8::from(!outages::hold(scenarios)))
}
