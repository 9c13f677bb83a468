//! One process of a fleet: stands for the lead, ticks while it leads, and says so on its stdout.

use std::{
    env,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use actix::{Actor, AsyncContext, Context, Handler};
use leasehold::{
    Acquire, LockManager, RedisStore, Shutdown,
    election::{Candidacy, ElectionEvent, Singleton, SingletonContext},
    env::{Clock, Moment, SystemClock},
    schedule::{self, Schedule},
};
use serde::{Deserialize, Serialize};

/// The test below, as it is named on the command line.
pub(crate) const TEST: &str = "election::process::follows_its_fleet";
/// The URL of the server, for a process.
pub(crate) const URL: &str = "LEASEHOLD_FLEET_URL";

/// Set for a process that runs a schedule, and no singleton.
pub(crate) const SCHEDULE: &str = "LEASEHOLD_FLEET_SCHEDULE";

/// The resource of the singleton.
pub(crate) const RESOURCE: &str = "fleet";

pub(crate) const TICK: Duration = Duration::from_millis(200);
pub(crate) const TTL: Duration = Duration::from_secs(2);

/// A line that a process says. Moments are microseconds since the host was started.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It hears signals from now on. The time of day, in seconds, is what it believes.
    Ready {
        at: u64,
        wall: u64,
    },
    Elected {
        term: u64,
        fence: u64,
    },
    /// It did a piece of work at this moment. Its lease was valid until that one.
    Tick {
        at: u64,
        until: u64,
        fence: u64,
    },
    /// It runs a tick of a schedule at this moment, by the plan at that one.
    Run {
        at: u64,
        fence: u64,
        number: u64,
        scheduled_for: u64,
    },
}

/// The time since this host was started, by the one clock that all its processes have.
pub(crate) fn micros() -> u64 {
    Moment::since_origin(Duration::ZERO).elapsed(SystemClock.now()).as_micros() as u64
}

fn say(said: Said) {
    println!("{}", serde_json::to_string(&said).unwrap());
}

struct Ticker;

impl Actor for Ticker {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let fence = ctx.lease().fence().unwrap().get();
        ctx.run_interval(TICK, move |_, ctx| {
            // Before the question, whose answer may wait for a turn on a processor.
            let at = micros();
            let left = ctx.lease().remaining().as_micros() as u64;
            say(Said::Tick { at, until: at + left, fence });
        });
    }
}

struct Reporter;

impl Actor for Reporter {
    type Context = Context<Self>;
}

impl Handler<ElectionEvent> for Reporter {
    type Result = ();

    fn handle(&mut self, event: ElectionEvent, _: &mut Self::Context) {
        if let ElectionEvent::Elected { term, fence, .. } = event {
            say(Said::Elected { term, fence: fence.unwrap().get() });
        }
    }
}

/// The work of a schedule, done in no time: nothing but the claim keeps another process from doing it too.
async fn run(tick: schedule::Tick) {
    let (at, fence) = (micros(), tick.fence.unwrap().get());
    let scheduled_for = since_1970(tick.scheduled_for).as_micros() as u64;
    say(Said::Run { at, fence, number: tick.number, scheduled_for });
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap()
}

#[test]
#[ignore = "a process of the fleet, which starts it"]
fn follows_its_fleet() {
    use tokio::signal::unix::{SignalKind, signal};

    let url = env::var(URL).expect("started by the fleet");
    // The name of this test stands on the line that has begun.
    println!();
    actix::System::new().block_on(async {
        let mut terminate = signal(SignalKind::terminate()).unwrap();
        say(Said::Ready { at: micros(), wall: since_1970(SystemTime::now()).as_secs() });
        let locks = LockManager::builder(Arc::new(RedisStore::open(&url).unwrap())).start().unwrap();
        if env::var_os(SCHEDULE).is_some() {
            Schedule::every(TICK).named("fleet").ttl(TTL).start(&locks, run).unwrap();
        } else {
            let candidacy =
                Candidacy::from(Acquire::new(RESOURCE).ttl(TTL)).tell(Reporter.start().recipient());
            Singleton::start(&locks, candidacy, || Ticker).unwrap();
        }
        terminate.recv().await;
        locks.send(Shutdown { drain: TTL }).await.unwrap();
    });
}
