//! The commands for operators, as processes, on servers of their own.

#[path = "../../../tests/support/acl.rs"]
#[allow(unreachable_pub, reason = "it is part of a library, too")]
mod acl;
mod capacity;
mod changing;
mod fleet;
#[path = "../golden/mod.rs"]
mod golden;
mod looking;
mod many;
mod partitions;
mod support;
mod tickets;
mod told;
mod unknown;
mod watching;
