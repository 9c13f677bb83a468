//! Schedules: ticks of which each runs at most once in the whole fleet.
//!
//! A [`Schedule`] has a plan and a name. Each process of a fleet starts it, one of them is elected to run it, and when that
//! process ends another one goes on.
//!
//! # At most once
//! A lock alone does not keep a tick from running twice. It excludes others for as long as the work takes: with clocks that
//! are apart, or work that is done in no time, the next process finds the lock free and runs the same tick again. Here the
//! last tick that was claimed stands in the store, beside the fence of its runner. Before the work begins the tick is
//! claimed by compare-and-set: it fails if any other process has claimed since, and the store compares the time of the tick
//! with its own. A claim whose answer was lost is repeated until it is certain, and a tick that is not certainly claimed is
//! not run. No process's time of day is used. (Only `Schedule::cron` looks at it, to refuse an expression whose years are over.)
//!
//! # What a tick may cost
//! * A process that dies after a claim takes that tick with it, unless [`Recover`] has the next one run it again.
//! * While nobody runs the schedule ticks are missed, and [`Misfire`] says which are made up for: after a process was killed
//!   or frozen for up to a TTL, after SIGTERM for as long as the run that goes on, which has
//!   [`finish_within`](Schedule::finish_within).
//! * **A store that forgets the last claim**, by a failover to a replica that had not got it for instance, lets the tick run
//!   twice if another process becomes the runner within a second: the same runner remembers what it has claimed, and writes
//!   it down again. Confirmation by replicas (`store.replicas_ack`) is for that. A store that has forgotten everything does
//!   not run earlier ticks again: the schedule begins anew, with the next tick.
//! * A quorum of masters has no registers, and cannot be used: nothing runs, and the error is logged.

mod builder;
mod control;
#[cfg(feature = "cron")]
mod cron;
#[cfg(feature = "cron")]
mod expression;
mod job;
mod notebook;
mod plan;
mod progress;
mod recovery;
mod state;
mod term;
mod tick;

pub use self::{
    builder::Schedule,
    control::{Control, Scheduler},
    job::RunResult,
    plan::Misfire,
    recovery::Recover,
    tick::{Outcome, Run, Status, Tick},
};
