//! Tests that are about a whole process, and have one of their own.

use std::{env, process::Command};

/// Set for the process of such a test.
const ALONE: &str = "LEASEHOLD_TEST_ALONE";

/// Runs a test in a process of its own: this very program, asked for the test of this name. Its output is that of the test.
pub fn alone(test: &str, body: impl FnOnce()) {
    if env::var_os(ALONE).is_some() {
        return body();
    }
    let mut program = Command::new(env::current_exe().expect("the path of this program"));
    let ended = program.args(["--exact", test, "--nocapture"]).env(ALONE, "").output().expect("this program");
    let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(ended.status.success() && said.contains("1 passed"), "{test}: {said}");
    println!("{said}");
}
