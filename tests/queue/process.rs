//! One process: a lock manager, and callers that wait for one resource.

use std::{collections::HashSet, env, sync::Arc, time::Duration};

use actix::{Actor, Addr, Context, Handler};
use leasehold::{
    Acquire, Backoff, LeaseChange, LeaseEvent, LockManager, Settings, Shutdown, Stats, TokenPrefix,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    sync::Notify,
    time::sleep,
};

use crate::queue::talk::{Do, Setup, Told, Turn, micros};
use leasehold_testing::waiting::PATIENCE;
use support::patient;

/// The test below, as it is named on the command line.
pub(crate) const TEST: &str = "queue::process::follows_its_test";
/// Where a process finds its [`Setup`].
pub(crate) const SETUP: &str = "LEASEHOLD_TEST_SETUP";
pub(crate) const HOLD: Duration = Duration::from_millis(1);
/// The resource for which all wait.
pub(crate) const RESOURCE: &str = "crowded";

#[test]
#[ignore = "a process of the other tests, which start it"]
fn follows_its_test() {
    let setup = env::var(SETUP).expect("started by a test");
    // The name of this test stands on the line that has begun.
    println!();
    actix::System::new().block_on(follow(serde_json::from_str(&setup).unwrap()));
}

async fn follow(setup: Setup) {
    let locks = manager(&setup);
    let let_go = Arc::new(Notify::new());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut asked = 0;
    // A test that fails closes the line.
    while let Some(line) = lines.next_line().await.unwrap() {
        match serde_json::from_str(&line).unwrap() {
            Do::Ask(callers) => {
                let ear = Ear { arrived: HashSet::new(), expected: callers }.start();
                for caller in asked..asked + callers {
                    let asked = micros();
                    // What is sent is in the mailbox before the next is sent.
                    let asking = locks.send(resource().events(ear.clone().recipient()));
                    actix_rt::spawn(call(caller, asked, asking));
                }
                asked += callers;
            }
            Do::Hold => drop(actix_rt::spawn(hold(locks.clone(), Arc::clone(&let_go)))),
            Do::LetGo => let_go.notify_one(),
            Do::End => return end(&locks).await,
        }
    }
}

fn manager(setup: &Setup) -> Addr<LockManager> {
    let mut settings = Settings::default();
    settings.lease.ttl = setup.ttl;
    settings.wait.ticket_ttl = setup.ticket_ttl;
    settings.wait.grant_window = setup.grant_window;
    settings.wait.local_handover_limit = setup.local_handover_limit;
    settings.backoff = Backoff::new(setup.longest_pause / 5, setup.longest_pause).unwrap();
    let store = patient::open(&setup.url);
    LockManager::builder(Arc::new(store)).settings(settings).start().unwrap()
}

fn resource() -> Acquire {
    Acquire::new(RESOURCE).wait(PATIENCE)
}

type Asking = actix::dev::Request<LockManager, Acquire>;

/// Waits, holds, and releases.
async fn call(caller: usize, asked: u64, asking: Asking) {
    match asking.await.unwrap() {
        Ok(lease) => {
            let granted = micros();
            // What it knew at its start; renewals may make it longer.
            let until = granted + lease.remaining().as_micros() as u64;
            // A loss shows in what the release answers, and there is nothing to do against it.
            let _ = lease.run(sleep(HOLD)).await;
            // Whoever got no turn for longer than the validity believed in its lease no more, and may see that late.
            let now = micros();
            let ended = if lease.is_valid() { now } else { now.min(until) };
            let fence = lease.fence().unwrap().get();
            tell(&Told::Served(Turn { caller, fence, asked, granted, ended }));
            drop(lease.release().await);
        }
        Err(error) => tell(&Told::Refused(micros(), error.to_string())),
    }
}

async fn hold(locks: Addr<LockManager>, let_go: Arc<Notify>) {
    let lease = locks.send(resource()).await.unwrap().unwrap();
    tell(&Told::Holding);
    // Lost or let go, it is over.
    let _ = lease.run(let_go.notified()).await;
}

async fn end(locks: &Addr<LockManager>) {
    let stats = locks.send(Stats).await.unwrap();
    locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    tell(&Told::Ended(stats.pending, stats.held));
}

fn tell(told: &Told) {
    println!("{}", serde_json::to_string(told).unwrap());
}

/// Hears of the callers of one `Ask` until all of them wait.
struct Ear {
    arrived: HashSet<TokenPrefix>,
    expected: usize,
}

impl Actor for Ear {
    type Context = Context<Self>;
}

impl Handler<LeaseEvent> for Ear {
    type Result = ();

    fn handle(&mut self, event: LeaseEvent, _: &mut Self::Context) {
        let arrives = matches!(event.change, LeaseChange::Queued { .. } | LeaseChange::Granted);
        if arrives && self.arrived.insert(event.token) && self.arrived.len() == self.expected {
            tell(&Told::Waiting);
        }
    }
}
