//! Work of the one process of a fleet that is elected: elections, and schedules and partitions on them.

pub mod election;
pub mod partitions;
pub mod schedule;
