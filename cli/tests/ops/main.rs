//! The commands for operators, as processes, on servers of their own.

#[path = "../../../tests/support/acl.rs"]
mod acl;
#[path = "../golden/mod.rs"]
mod golden;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../tests/support/redis_server.rs"]
mod redis_server;

mod changing;
mod fleet;
mod looking;
mod many;
mod support;
mod told;
mod unknown;
mod watching;
