//! What the test programs share: compiled once, and linked into each of them.
#![allow(clippy::new_without_default, reason = "a test says what is new")]

mod pages;

pub mod acl;
pub mod alone;
pub mod clock;
pub mod log;
pub mod odd_store;
pub mod patient;
pub mod programs;
pub mod pypi;
pub mod shared;
pub mod tls;
pub mod virtual_time;
