//! The doctor as a command: what it prints, and its exit code.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// Runs `leasehold doctor` without a configuration file, with these variables and no others of its prefix.
fn doctor(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    written_to(Stdio::piped(), arguments, variables)
}

/// Does the same, with this as the standard output.
fn written_to(out: Stdio, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    command.arg("doctor").args(arguments).current_dir(&directory).stdout(out);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LEASEHOLD")) {
        command.env_remove(name);
    }
    command.env_remove("REDIS_URL");
    command.env("HOME", directory.path()).envs(variables.iter().copied()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_store_in_memory_is_a_warning_also_about_the_variable_of_other_programs() {
    for (variables, expected) in [
        (&[][..], "store.url is memory://, so locks"),
        (&[("REDIS_URL", "redis://:s3cret@h")], "REDIS_URL is set"),
    ] {
        let output = doctor(&[], variables);
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("warning") && told.contains(expected) && !told.contains("s3cret"), "{told}");
        assert_eq!(told.contains("REDIS_URL"), !variables.is_empty(), "{told}");
    }
    let lenient = doctor(&["--fail-on", "critical"], &[]);
    assert_eq!(lenient.status.code(), Some(0));
}

#[test]
fn a_server_that_is_down_is_critical_also_as_json() {
    // Port 1 belongs to nobody.
    let output = doctor(&["--json"], &[("LEASEHOLD_STORE_URL", "redis://user:s3cret@127.0.0.1:1")]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&shown["worst"], &shown["findings"][0]["check"]),
        (&"critical".into(), &"unreachable".into())
    );
    assert!(!text(&output.stdout).contains("s3cret"));
}

#[test]
fn findings_that_cannot_be_written_have_their_exit_code() {
    for format in [&[][..], &["--json"]] {
        let arguments = [&["--store", "memory://", "--fail-on", "notice"], format].concat();
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let output = written_to(closed.into(), &arguments, &[]);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), String::new()));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = written_to(full.into(), &arguments, &[]);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(1), 1), "{told}");
        assert!(told.contains("could not be written") && told.contains("No space left"), "{told}");
    }
}

#[test]
fn findings_that_are_none_and_cannot_be_written_are_no_success() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = written_to(full.into(), &["--fail-on", "critical", "--json"], &[]);
    let told = text(&output.stderr);
    assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
}

#[test]
fn the_command_line_overrides_the_environment_and_that_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("locks.toml");
    std::fs::write(&file, "store.url = 'redis://127.0.0.1:1'").unwrap();
    let file = file.to_str().unwrap();
    let deployment = |arguments: &[&str], variables: &[(&str, &str)]| -> String {
        let output = doctor(&[&["--json"], arguments].concat(), variables);
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        shown["deployment"].as_str().unwrap().to_owned()
    };
    let environment = [("LEASEHOLD_STORE_URL", "redis://127.0.0.1:2")];
    assert_eq!(deployment(&["--config", file], &[]), "redis://127.0.0.1:1");
    assert_eq!(deployment(&["--config", file], &environment), "redis://127.0.0.1:2");
    assert_eq!(deployment(&["--config", file, "--store", "memory://"], &environment), "memory://");
    let shown = doctor(&["--config", file, "--store", "memory://"], &environment);
    let told = format!("configured by: {file}, LEASEHOLD_STORE_URL, --store\n");
    assert!(text(&shown.stdout).starts_with(&told), "{}", text(&shown.stdout));
}

#[test]
fn a_wrong_configuration_is_told_in_one_line_with_its_field() {
    for (arguments, variables, expected) in [
        (&["--store", "http://x"][..], &[][..], "invalid store.url"),
        (&[], &[("LEASEHOLD_LEASE_TTL", "soon")], "lease.ttl"),
        (&["--config", "nowhere.toml"], &[], "cannot read the configuration nowhere.toml"),
    ] {
        let output = doctor(arguments, variables);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}

/// Runs `leasehold doctor --json` in this directory with this home, and returns the deployment and its sources.
fn seen_in(directory: &Path, home: &Path, variables: &[(&str, &Path)]) -> (String, Vec<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    command.args(["doctor", "--json"]).current_dir(directory).env_clear().env("HOME", home);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let sources = shown["configuration"].as_array().unwrap().iter();
    let sources = sources.map(|source| source.as_str().unwrap().to_owned()).collect();
    (shown["deployment"].as_str().unwrap().to_owned(), sources)
}

#[test]
fn the_file_is_named_or_that_of_the_user_and_never_one_of_the_working_directory() {
    let directory = tempfile::tempdir().unwrap();
    let write = |file: &Path, port: u16| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("store.url = 'redis://127.0.0.1:{port}'")).unwrap();
    };
    let (home, here) = (directory.path().join("home"), directory.path().join("here"));
    let (own, named) = (home.join(".config/leasehold/config.toml"), directory.path().join("named.toml"));
    write(&here.join("config.toml"), 1);
    write(&named, 3);
    assert_eq!(seen_in(&here, &home, &[]), ("memory://".to_owned(), vec![]));
    write(&own, 2);
    let told =
        |port: u16, file: &Path| (format!("redis://127.0.0.1:{port}"), vec![file.display().to_string()]);
    assert_eq!(seen_in(&here, &home, &[]), told(2, &own));
    assert_eq!(seen_in(&here, &home, &[("LEASEHOLD_CONFIG", &named)]), told(3, &named));
}

#[test]
fn a_wrong_file_is_told_with_its_name_and_the_variable_for_another_one() {
    let home = tempfile::tempdir().unwrap();
    let own = home.path().join(".config/leasehold/config.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    for (wrong, reason) in
        [("[params]", "params: unknown section"), ("lease.ttl = '1ms'", "invalid lease.ttl")]
    {
        fs::write(&own, wrong).unwrap();
        let output = doctor(&[], &[("HOME", home.path().to_str().unwrap())]);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        for part in [own.to_str().unwrap(), "LEASEHOLD_CONFIG", reason] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
