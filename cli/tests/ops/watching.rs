//! `watch`: the events that it tells, and how it ends.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use leasehold::Acquire;
use serde_json::Value;

use leasehold_testing::servers::RedisServer;

use crate::{
    support::{acquire, calls, command, until, with_locks},
    unknown::slow_way,
};

/// A watch that goes on, and what it tells.
struct Watch {
    process: Child,
    events: Receiver<Value>,
    notes: Receiver<String>,
}

impl Watch {
    fn start(url: &str, arguments: &[&str]) -> Self {
        let arguments = [&["watch", "--json", "--every", "50ms"], arguments].concat();
        let mut process = command(&arguments)
            .env("LEASEHOLD_STORE_URL", url)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ((send, events), (tell, notes)) = (channel(), channel());
        let out = BufReader::new(process.stdout.take().unwrap());
        thread::spawn(move || {
            for line in out.lines() {
                let _ = send.send(serde_json::from_str(&line.unwrap()).unwrap());
            }
        });
        let err = BufReader::new(process.stderr.take().unwrap());
        thread::spawn(move || {
            for line in err.lines() {
                let _ = tell.send(line.unwrap());
            }
        });
        Self { process, events, notes }
    }

    /// Waits for the next event, which must be this one.
    async fn tells(&self, event: &str) -> Value {
        let mut told = None;
        until(event, async || {
            told = told.take().or_else(|| self.events.try_recv().ok());
            told.is_some()
        })
        .await;
        let told = told.unwrap();
        assert_eq!(told["event"], event, "{told}");
        told
    }

    /// Waits for a note with this in it.
    async fn notes(&self, part: &str) {
        until(part, async || self.notes.try_iter().any(|note| note.contains(part))).await;
    }

    /// Ends it as Ctrl-C does, and returns its exit code.
    fn interrupt(mut self) -> Option<i32> {
        let sent = std::process::Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn what_happens_to_a_resource_is_told_as_it_happens() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let watch = Watch::start(&server.url(), &["r"]);
        watch.tells("free").await;
        let first = acquire(&locks, Acquire::new("r").purpose("first")).await;
        let acquired = watch.tells("acquired").await;
        assert_eq!((&acquired["resource"], &acquired["holder"]["purpose"]), (&"r".into(), &"first".into()));
        let second = Acquire::new("r").purpose("second").wait(Duration::from_secs(60));
        let second = actix_rt::spawn(locks.send(second));
        let waiting = watch.tells("waiting").await;
        assert_eq!(
            (&waiting["waiter"]["purpose"], &waiting["waiter"]["position"]),
            (&"second".into(), &1.into())
        );
        first.release().await.unwrap();
        watch.tells("released").await;
        let second = second.await.unwrap().unwrap().unwrap();
        let next = watch.tells("handed_over").await;
        assert_eq!(next["holder"]["fence"], second.fence().unwrap().get());
        second.release().await.unwrap();
        watch.tells("released").await;
        let _short = acquire(&locks, Acquire::new("r").ttl(Duration::from_secs(15)).no_renew()).await;
        watch.tells("acquired").await;
        watch.tells("expired").await;
        assert_eq!(watch.interrupt(), Some(0));
    });
}

#[test]
fn resources_below_a_prefix_are_found_and_forgotten() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let old = acquire(&locks, Acquire::new("orders/1")).await;
        let _other = acquire(&locks, Acquire::new("else")).await;
        let watch = Watch::start(&server.url(), &["--prefix", "orders/"]);
        watch.notes("watching 1 resource below \"orders/\"; each walk looks at").await;
        assert_eq!(watch.tells("holding").await["resource"], "orders/1");
        let new = acquire(&locks, Acquire::new("orders/2")).await;
        assert_eq!(watch.tells("acquired").await["resource"], "orders/2");
        old.release().await.unwrap();
        assert_eq!(watch.tells("released").await["resource"], "orders/1");
        let _again = acquire(&locks, Acquire::new("orders/1")).await;
        assert_eq!(watch.tells("acquired").await["resource"], "orders/1");
        drop(new);
        assert_eq!(watch.tells("released").await["resource"], "orders/2");
    });
}

#[test]
fn a_foreign_record_below_a_prefix_is_told_once_and_the_others_are_watched() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("orders/1")).await;
        server.command(&["SET", "leasehold:{orders/0}", "something else"]);
        let watch = Watch::start(&server.url(), &["--prefix", "orders/"]);
        assert_eq!(watch.tells("holding").await["resource"], "orders/1");
        watch.notes("orders/0: the store holds something foreign").await;
        lease.release().await.unwrap();
        assert_eq!(watch.tells("released").await["resource"], "orders/1");
        let walks = calls(&server, "scan");
        until("it has walked again", async || calls(&server, "scan") > walks + 2).await;
        assert_eq!(watch.notes.try_iter().collect::<Vec<_>>(), <[String; 0]>::default());
        assert_eq!(watch.interrupt(), Some(0));
    });
}

#[test]
fn a_walk_that_takes_long_is_rare_and_what_is_known_is_looked_at_in_between() {
    let server = RedisServer::start();
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("orders/1")).await;
        let before = (calls(&server, "scan"), calls(&server, "evalsha"));
        let watch = Watch::start(&slow_way(&server, Duration::from_millis(100)), &["--prefix", "orders/"]);
        watch.tells("holding").await;
        until("it has looked 20 times", async || calls(&server, "evalsha") >= before.1 + 20).await;
        let walks = calls(&server, "scan") - before.0;
        // A look takes as long as a walk, of which one is due in the time of twenty.
        assert!((1..=5).contains(&walks), "{walks} walks");
        // Also one that was free for a while is known.
        lease.release().await.unwrap();
        watch.tells("released").await;
        let before = calls(&server, "scan");
        for _ in 0..6 {
            let lease = acquire(&locks, Acquire::new("orders/1")).await;
            watch.tells("acquired").await;
            lease.release().await.unwrap();
            watch.tells("released").await;
        }
        let walks = calls(&server, "scan") - before;
        assert!(walks < 6, "{walks} walks to find it again");
    });
}

#[test]
fn a_store_that_goes_away_is_told_and_asked_again() {
    let server = RedisServer::start();
    let watch = Watch::start(&server.url(), &["r"]);
    actix::System::new().block_on(async {
        watch.tells("free").await;
        server.pause();
        watch.notes("asking again").await;
        server.resume();
        watch.notes("the store answers again").await;
    });
    assert_eq!(watch.interrupt(), Some(0));
}

#[test]
fn a_watch_of_nothing_or_too_often_is_refused() {
    use crate::support::run;
    run("redis://127.0.0.1:1", &["watch"]).tells(2, &["<NAME>", "leasehold watch --help"]);
    run("redis://127.0.0.1:1", &["watch", "r", "--every", "1ms"]).tells(2, &["invalid --every", "50ms"]);
}

#[test]
fn a_watch_ends_when_nobody_reads_it_also_if_nothing_happens() {
    let server = RedisServer::start();
    let mut process = command(&["watch", "quiet", "--json", "--store", &server.url()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(process.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    drop(out);
    assert!(line.contains("quiet"), "{line}");
    let (end, ended) = channel();
    let id = process.id();
    thread::spawn(move || end.send(process.wait().unwrap().code()));
    let code = ended.recv_timeout(Duration::from_secs(60));
    // It fails only if it has ended, as it should.
    let _ = std::process::Command::new("kill").arg(id.to_string()).stderr(Stdio::null()).status();
    assert_eq!(code, Ok(Some(0)));
}
