//! The directory that an example is run from, and the configuration that it finds there.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::{Command, Output},
};

use super::program::{Program, example};

/// A short lottery.
const USUAL: [&str; 6] = ["--instances", "2", "--think", "10ms", "--give-up-after", "0s"];

/// Runs the lottery in this directory, to its end.
fn lottery(directory: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(example("lottery"));
    command.current_dir(directory).args(USUAL).args(arguments).env_remove("LEASEHOLD_CONFIG");
    command.envs(variables.iter().copied()).output().unwrap()
}

/// The error with which a program ended.
fn refused(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("Error: "), "{output:?}");
    error
}

#[test]
fn the_examples_run_in_a_directory_without_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let briefly = &["--for", "100ms"];
    for (name, arguments) in [
        ("lottery", &[][..]),
        ("partitions", briefly),
        ("readers", briefly),
        ("renderers", briefly),
        ("scheduler", briefly),
        ("worker", briefly),
    ] {
        Program::start_in(directory.path(), name, arguments, &[]).succeeds();
    }
    let shop = ["--listen", "127.0.0.1:0"];
    Program::start_in(directory.path(), "web_orders", &shop, &[]).hears("listening at http://");
}

#[test]
fn the_file_in_the_working_directory_is_read_and_the_environment_wins() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("config.toml"), "store.url = 'redis://127.0.0.1:1'").unwrap();
    let told = lottery(directory.path(), &[], &[]);
    assert!(String::from_utf8_lossy(&told.stdout).contains("waits for the store"), "{told:?}");
    let told = lottery(directory.path(), &[], &[("LEASEHOLD_STORE_URL", "memory://")]);
    assert!(told.status.success(), "{told:?}");

    fs::write(directory.path().join("config.toml"), "lease.ttl = 10").unwrap();
    let error = refused(&lottery(directory.path(), &[], &[]));
    assert!(error.contains("config.toml") && error.contains("lease.ttl"), "{error}");
}

#[test]
fn settings_stand_below_a_table_of_their_own_in_the_file_of_an_application() {
    let directory = tempfile::tempdir().unwrap();
    let file = "[store]\nbooks = true\n[leasehold.lease]\nttl = 10";
    fs::write(directory.path().join("config.toml"), file).unwrap();
    let error = refused(&lottery(directory.path(), &[], &[]));
    for part in ["config.toml", "LEASEHOLD_CONFIG", "[leasehold]: lease.ttl: invalid type"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn the_file_of_something_else_is_passed_over_with_one_line() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("config.toml"), "title = 'a page'\n[params]\ncolour = 1").unwrap();
    // It reads its configuration once.
    let mut command = Command::new(example("scheduler"));
    command.current_dir(directory.path()).args(["--for", "100ms"]).env_remove("LEASEHOLD_CONFIG");
    let told = command.output().unwrap();
    let lines = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.success(), "{told:?}");
    let about = lines.lines().filter(|line| line.contains("config.toml is passed over"));
    assert_eq!(about.count(), 1, "{lines}");
}

#[test]
fn a_working_directory_that_may_not_be_read_has_no_file() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("config.toml"), "lease.ttl = 10").unwrap();
    // Nothing keeps root out.
    let is_root = fs::metadata(directory.path()).unwrap().uid() == 0;
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let script = format!("chmod 0 . && exec {} \"$@\"", if is_root { nobody } else { "env" });
    let program = example("lottery");
    let mut command = Command::new("sh");
    command.current_dir(directory.path()).args(["-c", &script, "sh"]).arg(program).args(USUAL);
    let output = command.env_remove("LEASEHOLD_CONFIG").output().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn another_file_is_named_by_a_variable_and_must_be_there() {
    let directory = tempfile::tempdir().unwrap();
    let variable = [("LEASEHOLD_CONFIG", "mine.toml")];
    fs::write(directory.path().join("config.toml"), "of.another = 'program'").unwrap();
    let error = refused(&lottery(directory.path(), &[], &variable));
    assert!(error.contains("mine.toml"), "{error}");

    fs::write(directory.path().join("mine.toml"), "lease.ttl = '10s'").unwrap();
    let told = lottery(directory.path(), &[], &variable);
    assert!(told.status.success(), "{told:?}");
    let told = lottery(directory.path(), &["--config", "mine.toml"], &[]);
    assert!(told.status.success(), "{told:?}");
}
