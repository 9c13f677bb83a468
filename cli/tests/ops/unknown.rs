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

use crate::{
    redis_server::RedisServer,
    support::{acquire, run_beside, with_locks},
};

/// A way to a server on which answers are lost from the first script on. Returns its URL.
fn way_that_loses_answers(server: &RedisServer) -> String {
    way(server, |is_script| !is_script)
}

/// A way to a server on which each answer takes a while. Returns its URL.
pub(crate) fn slow_way(server: &RedisServer) -> String {
    way(server, |_| {
        thread::sleep(Duration::from_millis(100));
        true
    })
}

/// A way to a server, on which this decides whether an answer is passed on. It is told if a script was sent before.
fn way(server: &RedisServer, passes: impl Fn(bool) -> bool + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let port = server.port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
            let sent_script = Arc::new(AtomicBool::new(false));
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (flag, passes) = (Arc::clone(&sent_script), passes.clone());
            thread::spawn(move || {
                pass(from, to, |sent| {
                    let is_script = sent.windows(7).any(|word| word.eq_ignore_ascii_case(b"EVALSHA"));
                    flag.fetch_or(is_script, Ordering::SeqCst);
                    true
                });
            });
            thread::spawn(move || pass(server, client, |_| passes(sent_script.load(Ordering::SeqCst))));
        }
    });
    url
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
    let lossy = way_that_loses_answers(&server);
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("r")).await;
        let token = lease.token().to_hex();
        for (arguments, code, parts) in [
            (&["show", "r"][..], 2, &["the outcome is unknown"][..]),
            (&["revoke", "r", "--grace", "1s"], 2, &["the outcome is unknown"]),
            (&["release", "r", "--token", &token], 3, &["the outcome is unknown", "safe to send it again"]),
            (
                &["force-release", "r", "--yes"],
                3,
                &["the outcome is unknown", "look with `leasehold show r`"],
            ),
        ] {
            run_beside(&lossy, arguments).await.tells(code, parts);
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
            actix_rt::spawn(async move { run_beside(&url, &["revoke", "r", "--grace", "1s"]).await });
        lease.revoke_requested().await.expect("a request");
        server.pause();
        let revoked = revoke.await.unwrap();
        server.resume();
        revoked.shows(3, &["it was taken from 0"]);
        assert!(revoked.err.contains("1 may still hold it"), "{revoked:?}");
    });
}
