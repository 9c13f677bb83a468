//! One process of a fleet: owns partitions, whose actors work, write what they did to a database with their fence, and say so.

use std::{cell::RefCell, env, rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, AsyncContext, Handler, Message};
use leasehold::{
    Acquire, LockManager, RedisStore, Shutdown,
    election::{Candidacy, SingletonContext},
    fenced::sql::{Dialect, FenceTable},
    partitions::{Member, Partitions, Place},
};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::election::process::micros;
pub(crate) use crate::election::process::{TICK, TTL};

/// The test below, as it is named on the command line.
pub(crate) const TEST: &str = "partitions::process::works_in_its_fleet";
/// What a process is told: the URL of the server, the path of the database, and its name.
pub(crate) const URL: &str = "LEASEHOLD_PARTITIONS_URL";
pub(crate) const DATABASE: &str = "LEASEHOLD_PARTITIONS_DATABASE";
pub(crate) const NAME: &str = "LEASEHOLD_PARTITIONS_NAME";

pub(crate) const PARTITIONS: u32 = 64;

/// A line that a process says. Moments are microseconds since the host was started.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It hears signals from now on.
    Ready,
    /// It did a piece of work at this moment. Its lease was valid until that one.
    Work { partition: u32, at: u64, until: u64, fence: u64 },
    /// The database had refused what it wrote by this moment, because a later owner had written. Its lease is valid until that one.
    Refused { partition: u32, at: u64, until: u64, fence: u64 },
    /// It was told at this moment that the member of this place owns a partition.
    There { partition: u32, at: u64, place: usize },
}

fn say(said: Said) {
    println!("{}", serde_json::to_string(&said).unwrap());
}

/// The table of fences.
pub(crate) fn fences() -> FenceTable {
    FenceTable::new(Dialect::Sqlite, "fences").unwrap()
}

struct Worker {
    partition: u32,
    database: Rc<RefCell<Connection>>,
}

impl Worker {
    fn work(&self, ctx: &SingletonContext<Self>) {
        let (partition, fence) = (self.partition, ctx.lease().fence().unwrap().get());
        let now = || {
            // Before the question, whose answer may wait for a turn on a processor.
            let at = micros();
            (at, at + ctx.lease().remaining().as_micros() as u64)
        };
        let (at, until) = now();
        if self.write(fence) {
            return say(Said::Work { partition, at, until, fence });
        }
        let (at, until) = now();
        say(Said::Refused { partition, at, until, fence });
    }

    /// Returns false if a later owner has written.
    fn write(&self, fence: u64) -> bool {
        let database = self.database.borrow();
        let name = format!("orders/{}", self.partition);
        let entered = database.execute(&fences().enter(), (name, i64::try_from(fence).unwrap()));
        entered.expect("a database that is there") == 1
    }
}

impl Actor for Worker {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.work(ctx);
        ctx.run_interval(TICK, |this, ctx| this.work(ctx));
    }
}

/// Asks for a piece of work.
#[derive(Message)]
#[rtype(result = "()")]
struct Work;

impl Handler<Work> for Worker {
    type Result = ();

    fn handle(&mut self, _: Work, ctx: &mut Self::Context) {
        self.work(ctx);
    }
}

/// Asks again and again who owns the partition of a key, sends work to those that are here, and says who has the others.
async fn send_work(orders: Partitions<Worker>) {
    for customer in 0.. {
        let key = format!("customer/{customer}");
        let partition = orders.partition_of(&key);
        match orders.of(&key).await {
            // Its partition may be lost meanwhile.
            Ok(Place::Here(worker)) => _ = worker.send(Work).await,
            Ok(Place::There(member)) => {
                let place = member.name.strip_prefix("host-").and_then(|place| place.parse().ok());
                say(Said::There { partition, at: micros(), place: place.expect("the name of a place") });
            }
            // On its way, or the store did not answer in time.
            Ok(Place::Nobody) | Err(_) => {}
        }
        sleep(TICK / 4).await;
    }
}

#[test]
#[ignore = "a process of the fleet, which starts it"]
fn works_in_its_fleet() {
    use tokio::signal::unix::{SignalKind, signal};

    let told = |name| env::var(name).expect("started by the fleet");
    let (url, database, name) = (told(URL), told(DATABASE), told(NAME));
    // The name of this test stands on the line that has begun.
    println!();
    let database = Connection::open(database).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    let database = Rc::new(RefCell::new(database));
    actix::System::new().block_on(async {
        let mut terminate = signal(SignalKind::terminate()).unwrap();
        say(Said::Ready);
        let locks = LockManager::builder(Arc::new(RedisStore::open(&url).unwrap())).start().unwrap();
        let candidacy = Candidacy::from(Acquire::new("orders").ttl(TTL));
        let worker = move |partition| Worker { partition, database: Rc::clone(&database) };
        let orders = Partitions::start(&locks, candidacy, PARTITIONS, Member::new(name), worker).unwrap();
        actix_rt::spawn(send_work(orders));
        terminate.recv().await;
        locks.send(Shutdown { drain: TTL }).await.unwrap();
    });
}
