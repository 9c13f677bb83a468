//! Histories of real servers of every topology, as they were and with one thing changed, before an external checker.
//!
//! `LEASEHOLD_HISTORIES_EACH=200` makes that many of each topology, and not a few. `LEASEHOLD_HISTORIES=DIR`, an absolute path, keeps them.

mod callers;
mod double_hold;
mod files;
mod made_up;
mod mutated;
mod pruned;
mod refusals;
mod topologies;
