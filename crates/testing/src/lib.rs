//! Tests for leasehold: the acceptance suite for stores, and the history of leases.
//!
//! [`mod@acceptance`] tests a store of your own. [`history`] records who held which lock and when, and checks that no two
//! holders conflicted. Virtual time is in [`leasehold::env`].
#![doc(test(attr(deny(warnings))))]

pub mod acceptance;
pub mod history;
