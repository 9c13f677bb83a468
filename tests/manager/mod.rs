//! The lock manager as its callers see it: mostly on a memory store, in virtual time.

mod bad_input;
mod crowd;
mod dead_waiters;
mod endings;
mod expected_wait;
mod hand_off;
mod keeping_closed;
mod leases;
mod misleading_waits;
mod overload;
mod own_backoff;
mod own_leases;
mod ready;
mod renewals;
mod repeated;
mod revoke;
mod revoke_faults;
mod shutdown;
mod statistics;
mod supervision;
mod tickets;
mod tickets_raced;
mod tickets_refused;
mod together;
mod waiting;
mod with_lock;
