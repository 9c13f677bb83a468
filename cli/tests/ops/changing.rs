//! `release`, `revoke` and `force-release`: what they do to holders, and what they say about it.

use std::{process::Stdio, time::Duration};

use leasehold::{Acquire, LossReason};
use serde_json::json;

use leasehold_testing::servers::RedisServer;

use crate::support::{PATIENT, Ran, acquire, command, run, run_beside, run_prepared, until, with_locks};

#[test]
fn who_has_the_token_releases_and_nobody_else_does() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        let token = lease.token().to_hex();
        let other = "0".repeat(32);
        run_beside(&server.url(), &["release", "r", "--token", &other])
            .await
            .shows(1, &["not held by this token"]);
        let wrong = run_beside(&server.url(), &["release", "r", "--token", "0123"]).await;
        wrong.tells(2, &["invalid token", "32 lower-case"]);
        run_beside(&server.url(), &["release", "r", "--token", &token]).await.shows(0, &["r is released"]);
        run_beside(&server.url(), &["show", "r"]).await.shows(1, &["r is free"]);
        let again = run_beside(&server.url(), &["release", "r", "--token", &token, "--json"]).await;
        assert_eq!((again.code, &again.json()[0]["released"]), (Some(1), &json!(false)));
    });
}

#[test]
fn a_token_is_read_from_the_standard_input_and_the_owner_keeps_its_other_holds() {
    use std::io::Write;
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let first = acquire(&locks, Acquire::new("r").owner("o")).await;
        let _second = acquire(&locks, Acquire::new("r").owner("o")).await;
        let mut child = command(&["release", "r", "--token", "-"])
            .env("LEASEHOLD_STORE_URL", server.url())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap(), "{}", first.token().to_hex()).unwrap();
        Ran::of(child.wait_with_output().unwrap()).shows(0, &["r is released"]);
        run_beside(&server.url(), &["show", "r"]).await.shows(0, &["r: 1 holder"]);
    });
}

#[test]
fn a_holder_that_answers_a_revoke_finishes_by_itself() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        let holder = actix_rt::spawn(async move {
            let request = lease.revoke_requested().await.expect("a request");
            // Longer than the command needs to see who holds.
            tokio::time::sleep(Duration::from_secs(5)).await;
            lease.release().await.unwrap();
            request.reason.to_string()
        });
        let arguments = ["revoke", "r", "--grace", "60s", "--reason", "deploying v2"];
        let revoked = run_beside(&server.url(), &arguments).await;
        revoked.shows(0, &["r: 1 finished by themselves, it was taken from 0"]);
        assert!(revoked.err.starts_with("r: telling 1 holder, which may finish within 1m\n"), "{revoked:?}");
        assert_eq!(holder.await.unwrap(), "deploying v2");
        run_beside(&server.url(), &["revoke", "r"]).await.shows(1, &["nobody held r"]);
    });
}

#[test]
fn a_grace_beyond_all_times_is_refused() {
    let server = RedisServer::start();
    for grace in ["2days", "300000000000y"] {
        run(&server.url(), &["revoke", "r", "--grace", grace]).tells(2, &["invalid grace", "0s to 1d"]);
    }
}

#[test]
fn a_holder_that_does_not_answer_loses_it_when_the_grace_is_over() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        let revoked = run_beside(&server.url(), &["revoke", "r", "--grace", "300ms", "--json"]).await;
        assert_eq!(revoked.code, Some(0), "{revoked:?}");
        let expected = json!({
            "kind": "revoked", "resource": "r", "finished": 0, "taken": 1, "unconfirmed": 0, "more": false,
        });
        assert_eq!(revoked.json(), [expected]);
        assert_eq!(lease.lost().await, LossReason::Forced);
    });
}

#[test]
fn the_progress_of_a_revoke_is_told_as_holders_finish() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let finishes = acquire(&locks, Acquire::new("r").permits(1, 2)).await;
        let _stays = acquire(&locks, Acquire::new("r").permits(1, 2)).await;
        actix_rt::spawn(async move {
            finishes.revoke_requested().await.expect("a request");
            finishes.release().await.unwrap();
        });
        let revoked = run_beside(&server.url(), &["revoke", "r", "--grace", "10s", "--json"]).await;
        let progress = revoked.of_kind("progress").remove(0);
        assert_eq!((&progress["total"], &progress["finished"]), (&json!(2), &json!(1)));
        let end = revoked.of_kind("revoked").remove(0);
        assert_eq!((&end["finished"], &end["taken"]), (&json!(1), &json!(1)));
    });
}

#[test]
fn of_more_holders_than_a_store_tells_all_are_counted_and_no_progress_is_told() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let mut leases = Vec::new();
        for _ in 0..401 {
            leases.push(acquire(&locks, Acquire::new("r").permits(1, 1_000)).await);
        }
        let revoked = run_beside(&server.url(), &["revoke", "r", "--grace", "1s"]).await;
        assert!(
            revoked.err.starts_with("r: telling 401 holders, which may finish within 1.0s\n"),
            "{revoked:?}"
        );
        assert!(!revoked.err.contains(" finished, "), "{revoked:?}");
    });
}

#[test]
fn an_interrupted_revoke_takes_nothing_and_says_so() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        let child = command(&["revoke", "r", "--grace", "1h"])
            .env("LEASEHOLD_STORE_URL", server.url())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        lease.revoke_requested().await.expect("a request");
        let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupted.unwrap().success());
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.err.contains("interrupted") && ran.err.contains("nothing was taken"), "{ran:?}");
        assert!(lease.is_valid());
    });
}

#[test]
fn a_holder_is_told_of_a_forced_release() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        // The inbox of the holder has to be there for it to be told at once.
        until("the holder hears", async || {
            let heard = server.command(&["PUBSUB", "NUMSUB", "leasehold:inbox:all"]);
            format!("{heard:?}").contains("int(1)")
        })
        .await;
        run_beside(&server.url(), &["force-release", "r", "--yes"])
            .await
            .shows(0, &["r was taken from 1 holder"]);
        assert_eq!(lease.lost().await, LossReason::Forced);
        let again = run_beside(&server.url(), &["force-release", "r", "--yes", "--json"]).await;
        assert_eq!((again.code, &again.json()[0]["taken"]), (Some(1), &json!(0)));
    });
}

#[test]
fn a_change_whose_result_cannot_be_written_has_the_code_of_the_change() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let full = async |arguments: &[&str]| {
            let disk = std::fs::File::options().write(true).open("/dev/full").unwrap();
            let mut command = command(arguments);
            command.env("LEASEHOLD_STORE_URL", server.url()).stdout(disk);
            run_prepared(command).await
        };
        let lease = acquire(&locks, Acquire::new("r")).await;
        let forced = full(&["force-release", "r", "--yes"]).await;
        forced.tells(0, &["the result could not be written", "No space left"]);
        assert_eq!(lease.lost().await, LossReason::Forced);
        full(&["force-release", "r", "--yes", "--json"]).await.tells(1, &["could not be written"]);
        full(&["revoke", "r"]).await.tells(1, &["could not be written"]);
        full(&["capacity", "r", "6"]).await.tells(0, &["could not be written"]);
        let lease = acquire(&locks, Acquire::new("r")).await;
        let token = lease.token().to_hex();
        full(&["release", "r", "--token", &token]).await.tells(0, &["could not be written"]);
        // A question without an answer has failed.
        full(&["show", "r"]).await.tells(2, &["No space left"]);
    });
}

#[test]
fn without_a_terminal_a_forced_release_is_refused_unless_yes_is_said() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        run_beside(&server.url(), &["force-release", "r"]).await.tells(2, &["--yes"]);
        run_beside(&server.url(), &["show", "r"]).await.shows(0, &["1 holder"]);
        assert!(lease.is_valid());
    });
}

/// Runs the command on a terminal of 100 columns, with this as what is typed. Returns its exit code and the screen.
fn on_a_terminal(url: &str, arguments: &str, typed: &str) -> (Option<i32>, String) {
    use std::io::Write;
    let line = format!("stty cols 100 rows 24; {} {arguments}", env!("CARGO_BIN_EXE_leasehold"));
    let mut child = std::process::Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("LEASEHOLD_STORE_URL", url)
        .envs(PATIENT)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program `script`");
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn on_a_terminal_a_forced_release_asks_and_only_yes_is_yes() {
    let server = RedisServer::start();
    let url = server.url();
    with_locks(&server.url(), async |locks| {
        let _lease = acquire(&locks, Acquire::new("r").purpose("billing")).await;
        let ask = async |typed: &'static str| {
            let url = url.clone();
            let asked = actix_rt::task::spawn_blocking(move || on_a_terminal(&url, "force-release r", typed));
            asked.await.unwrap()
        };
        for no in ["\n", "n\n", "maybe\n"] {
            let (code, screen) = ask(no).await;
            assert_eq!(code, Some(1), "{screen}");
            assert!(screen.contains("billing") && screen.contains("[y/N]"), "{screen}");
        }
        run_beside(&url, &["show", "r"]).await.shows(0, &["1 holder"]);
        let (code, screen) = ask("y\n").await;
        assert_eq!(code, Some(0), "{screen}");
        run_beside(&url, &["show", "r"]).await.shows(1, &["free"]);
    });
}

#[test]
fn a_terminal_has_colours_and_a_table_as_wide_as_itself() {
    let server = RedisServer::start();
    let url = server.url();
    with_locks(&server.url(), async |locks| {
        let request = Acquire::new("r".repeat(120)).purpose("a purpose of many words ".repeat(5));
        let _lease = acquire(&locks, request).await;
        let (code, screen) =
            actix_rt::task::spawn_blocking(move || on_a_terminal(&url, "ls", "")).await.unwrap();
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains("\u{1b}[1m"), "no colours: {screen:?}");
        let shown = screen.lines().map(without_colours).map(|line| line.trim_end().chars().count()).max();
        assert!(shown <= Some(100), "{shown:?}: {screen}");
    });
}

/// The text of a line, as it is shown.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| shown + part.split_once('m').map_or("", |(_, text)| text))
}

#[test]
fn a_command_without_a_store_says_how_to_name_one() {
    for arguments in [&["ls"][..], &["show", "r"], &["force-release", "r", "--yes"], &["schedules", "ls"]] {
        let ran = Ran::of(command(arguments).output().unwrap());
        ran.tells(2, &["memory://", "--store URL", "configured by"]);
    }
    let ran = run("http://x", &["ls"]);
    ran.tells(2, &["invalid store.url", "redis://"]);
}
