//! What one process of a fleet does while it is elected.

pub mod election;
pub mod schedule;
