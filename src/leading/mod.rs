//! Work of the one process of a fleet that is elected: elections, and schedules on them.

pub mod election;
pub mod schedule;
