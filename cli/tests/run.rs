//! `leasehold run` as a command on a real redis-server: its exit code, what it says, and that nothing of its command lives on.

mod run {
    mod fleet;
    mod holding;
    mod losses;
    mod processes;
    mod signals;
    mod support;
    mod table;
}
