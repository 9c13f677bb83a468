//! The queue of many processes on one real server: their order, what a hand-over costs, and what faults cost.
//!
//! A test starts this binary again for each process, tells it by lines on its stdin what to do, and hears from it by
//! lines on its stdout. (One host has one clock since its start, so the moments of its processes can be compared; the
//! library never does that.)

mod arrival;
mod dead;
mod faults;
mod fleet;
mod monitor;
mod process;
mod talk;
