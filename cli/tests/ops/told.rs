//! What is said when it does not work: one line, with what to do; and what the shell is told of the command.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use leasehold_testing::servers::RedisServer;

use crate::{
    acl,
    support::{Ran, command, run},
};

#[test]
fn a_store_that_cannot_be_reached_is_told_soon_and_in_one_line() {
    for arguments in [
        &["ls"][..],
        &["show", "r"],
        &["watch", "r"],
        &["revoke", "r"],
        &["force-release", "r", "--yes"],
        &["capacity", "r", "6"],
        &["elections"],
    ] {
        let began = Instant::now();
        // Port 1 belongs to nobody.
        let ran = run("redis://user:s3cret@127.0.0.1:1", arguments);
        ran.tells(2, &["127.0.0.1:1", "does the server run", "leasehold doctor"]);
        assert!(!ran.err.contains("s3cret"), "{ran:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?} for {arguments:?}", began.elapsed());
    }
}

#[test]
fn a_wrong_password_is_told_with_what_to_check() {
    let server = RedisServer::with_args(&["--requirepass", "another"]);
    let ran = run(&server.url_for("default", "s3cret"), &["ls"]);
    ran.tells(2, &["denies access", "check the user, the password"]);
    assert!(!ran.err.contains("s3cret"), "{ran:?}");
}

#[test]
fn a_missing_right_is_named_with_the_place_of_the_rule() {
    let server = RedisServer::start();
    let url = acl::url_of(&server, "locker");
    run(&url, &["ls"]).shows(0, &[]);
    server.command(&["ACL", "SETUSER", "locker", "-scan"]);
    run(&url, &["ls"]).tells(2, &["scan", "docs/operations.md", "leasehold doctor"]);
    run(&url, &["show", "r"]).shows(1, &["r is free"]);
    server.command(&["ACL", "SETUSER", "locker", "-evalsha"]);
    run(&url, &["show", "r"]).tells(2, &["evalsha", "docs/operations.md"]);
}

#[test]
fn an_unknown_command_or_option_is_told_in_one_line_with_what_may_be_meant() {
    for (arguments, parts) in [
        (&["lss"][..], &["'lss'", "'ls'"][..]),
        (&["ls", "--contend"], &["'--contend'", "'--contended'"]),
        (&["completions", "bsh"], &["'bsh'", "bash"]),
    ] {
        Ran::of(command(arguments).output().unwrap()).tells(2, parts);
    }
}

#[test]
fn the_version_names_stores_and_features() {
    let version = Ran::of(command(&["--version"]).output().unwrap());
    version.shows(0, &[env!("CARGO_PKG_VERSION"), "redis+sentinel", "layouts", "plain", "tls", "metrics"]);
    let short = Ran::of(command(&["-V"]).output().unwrap());
    assert_eq!(short.out, format!("leasehold {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn bash_understands_the_completions_and_completes_a_command() {
    let script = Ran::of(command(&["completions", "bash"]).output().unwrap());
    script.shows(0, &["_leasehold"]);
    let ask = format!(
        "{}\nCOMP_WORDS=(leasehold force); COMP_CWORD=1; _leasehold leasehold force leasehold; echo \"${{COMPREPLY[@]}}\"",
        script.out
    );
    let completed = Ran::of(Command::new("bash").args(["-c", &ask]).output().unwrap());
    assert_eq!(completed.out.trim(), "force-release", "{}", completed.err);
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = Ran::of(command(&["completions", shell]).output().unwrap());
        script.shows(0, &["force-release"]);
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    Ran::of(command(&["man"]).output().unwrap()).shows(0, &[".TH leasehold 1", "force\\-release"]);
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("man1");
    Ran::of(command(&["man", "--to", folder.to_str().unwrap()]).output().unwrap()).shows(0, &[]);
    for page in
        ["leasehold.1", "leasehold-ls.1", "leasehold-schedules-run-now.1", "leasehold-tune-recommend.1"]
    {
        let text =
            std::fs::read_to_string(folder.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains("Example"), "{page}: {text}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let server = RedisServer::start();
    let mut child = command(&["ls", "--json"])
        .env("LEASEHOLD_STORE_URL", server.url())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
}
