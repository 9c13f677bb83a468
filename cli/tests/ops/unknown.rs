//! Changes whose answer is lost on the way: nobody knows whether they were made, and the command says so.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use leasehold::Acquire;

use leasehold_testing::servers::RedisServer;

use crate::support::{acquire, command, run_beside, run_prepared, with_locks};

/// A way to a server on which answers are lost from the first request with this in it on. Returns its URL.
fn way_that_loses_answers(server: &RedisServer, from: &'static str) -> String {
    way(server, Duration::ZERO, Some(from))
}

/// A way to a server on which each request takes a while. Returns its URL.
pub(crate) fn slow_way(server: &RedisServer, each: Duration) -> String {
    way(server, each, None)
}

fn way(server: &RedisServer, delay: Duration, loses_from: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let port = server.port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
            let loses = Arc::new(AtomicBool::new(false));
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let flag = Arc::clone(&loses);
            thread::spawn(move || {
                pass(from, to, |sent| {
                    // An answer may come in several parts, a request does not.
                    thread::sleep(delay);
                    let begins = loses_from.is_some_and(|word| has(sent, word));
                    flag.fetch_or(begins, Ordering::SeqCst);
                    true
                });
            });
            thread::spawn(move || pass(server, client, |_| !loses.load(Ordering::SeqCst)));
        }
    });
    url
}

fn has(sent: &[u8], word: &str) -> bool {
    sent.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// Passes bytes on, those that are to be.
fn pass(mut from: TcpStream, mut to: TcpStream, is_passed: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if is_passed(&bytes[..count]) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_change_whose_answer_is_lost_has_a_code_of_its_own_and_a_question_has_not() {
    let server = RedisServer::start();
    let lossy = way_that_loses_answers(&server, "EVALSHA");
    // The look before a revoke gets its answer.
    let loses_revoke = way_that_loses_answers(&server, "the reason");
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        let token = lease.token().to_hex();
        let revoked = run_beside(&loses_revoke, &["revoke", "r", "--reason", "the reason"]).await;
        assert_eq!(revoked.code, Some(3), "{revoked:?}");
        assert!(revoked.err.contains("holders may have been told; look with"), "{revoked:?}");
        for (arguments, code, parts) in [
            (&["show", "r"][..], 2, &["the outcome is unknown"][..]),
            (&["revoke", "r", "--grace", "1s"], 2, &["the outcome is unknown"]),
            (&["capacity", "r", "6"], 3, &["the outcome is unknown", "safe to send it again"]),
            (&["release", "r", "--token", &token], 3, &["the outcome is unknown", "safe to send it again"]),
            (
                &["force-release", "r", "--yes"],
                3,
                &["the outcome is unknown", "look with `leasehold show r`"],
            ),
        ] {
            let mut command = command(arguments);
            // The answer does not come.
            command.env("LEASEHOLD_STORE_URL", &lossy).env_remove("LEASEHOLD_STORE_RESPONSE_TIMEOUT");
            run_prepared(command).await.tells(code, parts);
        }
    });
}

#[test]
fn a_store_that_is_gone_at_the_end_of_the_grace_leaves_it_open_who_holds() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        let url = server.url();
        let revoke =
            actix_rt::spawn(async move { run_beside(&url, &["revoke", "r", "--grace", "10s"]).await });
        lease.revoke_requested().await.expect("a request");
        server.pause();
        let revoked = revoke.await.unwrap();
        server.resume();
        revoked.shows(3, &["it was taken from 0"]);
        assert!(revoked.err.contains("1 may still hold it"), "{revoked:?}");
    });
}
