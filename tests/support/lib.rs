//! What the test programs share: compiled once, and linked into each of them.
#![allow(clippy::new_without_default, reason = "a test says what is new")]

mod pages;

pub mod acl;
pub mod alone;
pub mod clock;
pub mod cluster;
pub mod log;
pub mod odd_store;
pub mod patient;
pub mod programs;
pub mod pypi;
pub mod redis_server;
pub mod replicas;
pub mod sentinels;
pub mod shared;
pub mod tls;
pub mod virtual_time;

use std::{env, path::PathBuf};

/// Returns the folder in which cargo lets tests keep what they make: that of the program that runs.
fn target_tmp() -> PathBuf {
    let program = env::current_exe().expect("the path of this program");
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    target.expect("a program below cargo's target directory").join("tmp")
}
