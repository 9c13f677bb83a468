//! Partitions: on the memory store in virtual time, and as processes on a real server.

mod chance;
mod cost;
mod fleet;
mod member;
mod moves;
mod owners;
mod process;
mod traces;
