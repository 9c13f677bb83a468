//! Actors that take payments on a thread for blocking work while their store is away for a second.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use actix::{Actor, Addr, Context, Handler, Message, ResponseFuture};
use futures_util::future::join_all;
use leasehold::{Acquire, LockManager, RedisStore, WithLock, WithLockError, assert_held};
use leasehold_testing::{
    servers::RedisServer,
    waiting::{PATIENCE, eventually},
};
use rusqlite::Connection;

/// The time for which the store is away.
const AWAY: Duration = Duration::from_secs(1);
/// The tills, each with a manager of its own, and how many at a time ask each of them for the same orders.
const TILLS: usize = 3;
const AT_ONCE: usize = 2;
/// The sequences of orders, and the orders of each.
const SEQUENCES: u32 = 4;
const ORDERS: u32 = 10;

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

/// The store goes away when some orders are booked, and comes back. Each order is asked for once by everybody.
async fn every_order_is_booked_once(mut server: RedisServer, away: impl AsyncFnOnce(&mut RedisServer)) {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("paid.sqlite");
    drop(open(&table));
    let till = || {
        let store = Arc::new(RedisStore::open(&server.url()).unwrap());
        let locks = LockManager::builder(store).start().unwrap();
        Till { locks, table: table.clone() }.start()
    };
    let tills: Vec<_> = (0..TILLS).map(|_| till()).collect();
    let client = async |number: usize, sequence: u32| {
        for order in sequence * ORDERS..(sequence + 1) * ORDERS {
            tills[number % TILLS].send(Pay(order)).await.unwrap().unwrap();
        }
    };
    let clients =
        (0..SEQUENCES).flat_map(|sequence| (0..TILLS * AT_ONCE).map(move |number| (number, sequence)));
    let clients = join_all(clients.map(|(number, sequence)| client(number, sequence)));
    let blip = async {
        eventually("some orders are booked", async || all_booked(&table).len() >= 5).await;
        away(&mut server).await;
    };
    tokio::join!(clients, blip);
    assert_eq!(all_booked(&table), (0..SEQUENCES * ORDERS).collect::<Vec<_>>());
}

#[actix::test]
async fn no_payment_of_an_actor_is_lost_or_booked_twice_while_the_store_stands_still_for_a_second() {
    let away = async |server: &mut RedisServer| {
        server.pause();
        tokio::time::sleep(AWAY).await;
        server.resume();
    };
    every_order_is_booked_once(RedisServer::start(), away).await;
}

#[actix::test]
async fn no_payment_of_an_actor_is_lost_or_booked_twice_while_the_store_is_killed_and_comes_back() {
    let server = RedisServer::with_args(&["--appendonly", "yes", "--appendfsync", "always"]);
    let away = async |server: &mut RedisServer| {
        server.kill();
        tokio::time::sleep(AWAY).await;
        server.restart();
    };
    every_order_is_booked_once(server, away).await;
}
