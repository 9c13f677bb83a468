//! Elections and singletons: on the memory store in virtual time, and as processes on a real server.

mod audience;
mod control;
pub(crate) mod fleet;
pub(crate) mod gaps;
mod gate;
mod held;
pub(crate) mod process;
mod recovery;
mod schedule_answers;
mod schedule_faults;
mod schedules;
mod singletons;
mod terms;
mod ticking_fleet;
mod validity;
mod witness;
