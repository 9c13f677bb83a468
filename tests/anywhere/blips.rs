//! Processes whose actors take payments on threads for blocking work, while their store is away for a second or one of them dies.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use actix::{Actor, Addr, Context, Handler, Message, ResponseFuture};
use futures_util::future::try_join_all;
use leasehold::{Acquire, LockManager, RedisStore, WithLock, WithLockError, assert_held};
use leasehold_testing::{
    process::{Process, this_program},
    servers::RedisServer,
    waiting::{PATIENCE, until},
};
use rusqlite::Connection;

/// The time for which the store is away.
const AWAY: Duration = Duration::from_secs(1);
/// The processes, each with a till, and how many at a time ask each till for the same orders.
const TILLS: usize = 3;
const AT_ONCE: u32 = 2;
/// The sequences of orders, and the orders of each.
const SEQUENCES: u32 = 4;
const ORDERS: u32 = 10;
/// Set for a process with a till.
const URL: &str = "LEASEHOLD_TILL_URL";
const TABLE: &str = "LEASEHOLD_TILL_TABLE";

/// An actor that takes payments. Its table does not keep an order from being paid twice: the lock alone does.
struct Till {
    locks: Addr<LockManager>,
    table: PathBuf,
}

impl Actor for Till {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "Result<bool, WithLockError>")]
struct Pay(u32);

impl Handler<Pay> for Till {
    type Result = ResponseFuture<Result<bool, WithLockError>>;

    fn handle(&mut self, Pay(order): Pay, _: &mut Self::Context) -> Self::Result {
        let (locks, table) = (self.locks.clone(), self.table.clone());
        Box::pin(async move {
            let ask = Acquire::new(format!("orders/{order}")).wait(PATIENCE);
            let done = locks.with_lock_blocking(ask, move |_| book(&table, order)).await?;
            Ok(done.value)
        })
    }
}

fn open(table: &Path) -> Connection {
    let database = Connection::open(table).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    database.execute_batch("CREATE TABLE IF NOT EXISTS paid (number INTEGER)").unwrap();
    database
}

/// Books a payment, unless it was booked before. Returns true if it did. Two that do so at a time book it twice.
///
/// It is the code deep below, which must not run without the lock.
fn book(table: &Path, order: u32) -> bool {
    assert_held(format!("orders/{order}")).unwrap();
    let database = open(table);
    let count = "SELECT COUNT(*) FROM paid WHERE number = ?1";
    let booked: u32 = database.query_row(count, [order], |row| row.get(0)).unwrap();
    thread::sleep(Duration::from_millis(20));
    if booked == 0 {
        database.execute("INSERT INTO paid VALUES (?1)", [order]).unwrap();
    }
    booked == 0
}

fn all_booked(table: &Path) -> Vec<u32> {
    let database = open(table);
    let mut query = database.prepare("SELECT number FROM paid ORDER BY number").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
#[ignore = "a process of the other tests, which start it"]
fn is_a_till() {
    let told = |name| env::var(name).expect("started by a test");
    let (url, table) = (told(URL), PathBuf::from(told(TABLE)));
    actix::System::new().block_on(async {
        let locks = LockManager::builder(Arc::new(RedisStore::open(&url).unwrap())).start().unwrap();
        let till = Till { locks, table }.start();
        let client = async |sequence: u32| {
            for order in sequence * ORDERS..(sequence + 1) * ORDERS {
                // Whatever other processes hold now.
                assert_held(format!("orders/{order}")).unwrap_err();
                till.send(Pay(order)).await.unwrap()?;
            }
            Ok::<_, WithLockError>(())
        };
        try_join_all((0..SEQUENCES * AT_ONCE).map(|client_of| client(client_of / AT_ONCE))).await.unwrap();
    });
}

/// Something happens when some orders are booked. Each order is asked for once by every client of every till.
fn every_order_is_booked_once(
    mut server: RedisServer,
    happens: impl FnOnce(&mut RedisServer, &mut Vec<Process>),
) {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("paid.sqlite");
    drop(open(&table));
    let till = || {
        let mut command = this_program("anywhere::blips::is_a_till");
        Process::start(command.env(URL, server.url()).env(TABLE, &table))
    };
    let mut tills: Vec<_> = (0..TILLS).map(|_| till()).collect();
    until("some orders are booked", || all_booked(&table).len() >= 5);
    happens(&mut server, &mut tills);
    for till in &mut tills {
        assert!(till.end().success(), "a payment failed");
    }
    assert_eq!(all_booked(&table), (0..SEQUENCES * ORDERS).collect::<Vec<_>>());
}

#[test]
fn no_payment_of_an_actor_is_lost_or_booked_twice_while_the_store_stands_still_for_a_second() {
    every_order_is_booked_once(RedisServer::start(), |server, _| {
        server.pause();
        thread::sleep(AWAY);
        server.resume();
    });
}

#[test]
fn no_payment_of_an_actor_is_lost_or_booked_twice_while_the_store_is_killed_and_comes_back() {
    let server = RedisServer::with_args(&["--appendonly", "yes", "--appendfsync", "always"]);
    every_order_is_booked_once(server, |server, _| {
        server.kill();
        thread::sleep(AWAY);
        server.restart();
    });
}

#[test]
fn what_a_process_was_booking_when_it_was_killed_is_booked_once_by_another() {
    every_order_is_booked_once(RedisServer::start(), |_, tills| tills.remove(0).kill());
}
