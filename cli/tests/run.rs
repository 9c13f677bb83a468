//! `leasehold run` as a command on a real redis-server: its exit code, what it says, and that nothing of its command lives on.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../tests/support/redis_server.rs"]
mod redis_server;

mod run {
    mod fleet;
    mod holding;
    mod losses;
    mod processes;
    mod signals;
    mod support;
    mod table;
}
