//! Tests for leasehold: the acceptance suite for stores, stores with hooks, and the history of leases.
//!
//! [`mod@acceptance`] tests a store of your own. [`decorated`] is a store in front of another one, for faults and counts.
//! [`servers`] starts Redis servers of a test's own, [`process`](mod@process) other processes, and [`waiting`] waits for what they do.
//! [`history`] records who held which lock and when, and checks that no two holders conflicted. Virtual time is in
//! [`leasehold::env`].
#![doc(test(attr(deny(warnings))))]

pub mod acceptance;
pub mod decorated;
pub mod history;
pub mod process;
pub mod servers;
pub mod waiting;
