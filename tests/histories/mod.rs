//! Histories of real servers of every topology, as they were and with one thing changed, before a checker of others.
//!
//! `LEASEHOLD_HISTORIES_EACH=200` makes that many of each topology, and not a few. `LEASEHOLD_HISTORIES=DIR` keeps them.

mod callers;
mod double_hold;
mod mutated;
mod pruned;
mod topologies;
