//! What a caller sees of locks, elections and schedules.

mod election;
mod manager;
mod partitions;
