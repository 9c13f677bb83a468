//! One process of a fleet: owns partitions, whose actors work, write what they did to a database with their fence, and say so.

use std::{cell::RefCell, env, rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, AsyncContext};
use leasehold::{
    Acquire, LockManager, RedisStore, Shutdown,
    election::{Candidacy, SingletonContext},
    fenced::sql::{Dialect, FenceTable},
    partitions::{Member, Partitions},
};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

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
    /// The database refused what it wrote, because a later owner had written.
    Refused { partition: u32, at: u64, fence: u64 },
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
        let (fence, partition) = (ctx.lease().fence().unwrap().get(), self.partition);
        ctx.run_interval(TICK, move |this, ctx| {
            // Before the question, whose answer may wait for a turn on a processor.
            let at = micros();
            let until = at + ctx.lease().remaining().as_micros() as u64;
            match this.write(fence) {
                true => say(Said::Work { partition, at, until, fence }),
                false => say(Said::Refused { partition, at, fence }),
            }
        });
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
        let _orders = Partitions::start(&locks, candidacy, PARTITIONS, Member::new(name), worker).unwrap();
        terminate.recv().await;
        locks.send(Shutdown { drain: TTL }).await.unwrap();
    });
}
