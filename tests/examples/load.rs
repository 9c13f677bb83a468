//! Two shops that share a ledger, under load, with their store killed in the middle.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::program::Program;
use leasehold_testing::servers::RedisServer;
use leasehold_testing::waiting::PATIENCE;

/// The requests of all clients: 500 a second.
const CLIENTS: u32 = 25;
const PAUSE: Duration = Duration::from_millis(50);
/// The orders of a second, and how many clients ask for one of them at the same time.
const ORDERS: u64 = 50;
const AT_ONCE: u64 = 10;
const LENGTH: Duration = Duration::from_secs(8);
const KILLED_AFTER: Duration = Duration::from_secs(3);
const AWAY_FOR: Duration = Duration::from_secs(1);

/// One answered request.
struct Answered {
    order: u64,
    status: u16,
    /// The receipt, and true if it was of an earlier payment.
    receipt: Option<(u64, bool)>,
    took: Duration,
}

fn shop(server: &RedisServer, ledger: &Path) -> (Program, String) {
    let ledger = ledger.to_str().unwrap();
    let arguments = ["--listen", "127.0.0.1:0", "--payment", "20ms", "--ttl", "2s", "--ledger", ledger];
    let mut program =
        Program::start_with("web_orders", &arguments, &[("LEASEHOLD_STORE_URL", &server.url())]);
    let line = program.hears("listening at http://");
    (program, line.trim_start_matches("listening at http://").to_owned())
}

fn pay(address: &str, order: u64) -> Answered {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /orders/{order}/pay HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer:?}")).parse().unwrap();
    let receipt = (status == 200).then(|| {
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        (body["receipt"].as_u64().unwrap(), body["already_paid"].as_bool().unwrap())
    });
    Answered { order, status, receipt, took: began.elapsed() }
}

/// Asks again and again, for one order after the other. New orders come each second.
fn client(number: u32, shops: &[String], began: Instant, done: &AtomicBool) -> Vec<Answered> {
    let mut answered = Vec::new();
    for turn in 0_u64.. {
        let due = began + PAUSE / CLIENTS * number + PAUSE * u32::try_from(turn).unwrap();
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if done.load(Ordering::Relaxed) {
            break;
        }
        let asked = turn * u64::from(CLIENTS) + u64::from(number);
        let order = began.elapsed().as_secs() * ORDERS + asked / AT_ONCE % ORDERS;
        answered.push(pay(&shops[usize::try_from(turn).unwrap() % shops.len()], order));
    }
    answered
}

/// The orders that were paid, each with its receipts: one, if all is well.
pub(super) fn payments(ledger: &Path) -> BTreeMap<u64, Vec<u64>> {
    let database = Connection::open(ledger).unwrap();
    let mut query = database.prepare("SELECT paid, receipt FROM receipts ORDER BY receipt").unwrap();
    let rows = query.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap();
    let mut payments = BTreeMap::<u64, Vec<u64>>::new();
    for row in rows {
        let (order, receipt) = row.unwrap();
        payments.entry(order.unsigned_abs()).or_default().push(receipt.unsigned_abs());
    }
    payments
}

#[test]
fn two_shops_under_load_take_no_payment_twice_though_their_store_is_killed() {
    let (mut server, directory) = (RedisServer::start(), tempfile::tempdir().unwrap());
    let ledger = directory.path().join("orders.sqlite");
    let (programs, shops): (Vec<_>, Vec<_>) = (0..2).map(|_| shop(&server, &ledger)).unzip();
    let (began, done) = (Instant::now(), AtomicBool::new(false));
    let mut answered: Vec<Answered> = thread::scope(|scope| {
        let (shops, done) = (&shops, &done);
        let clients: Vec<_> =
            (0..CLIENTS).map(|number| scope.spawn(move || client(number, shops, began, done))).collect();
        thread::sleep(KILLED_AFTER);
        server.kill();
        thread::sleep(AWAY_FOR);
        server.restart();
        thread::sleep(LENGTH - KILLED_AFTER - AWAY_FOR);
        done.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    // Whoever was told that the outcome is unknown asks again, and is answered in the end.
    let asked: BTreeSet<u64> = answered.iter().map(|answered| answered.order).collect();
    let give_up = Instant::now() + PATIENCE;
    for order in &asked {
        loop {
            let last = pay(&shops[0], *order);
            let is_paid = last.receipt.is_some();
            answered.push(last);
            if is_paid {
                break;
            }
            assert!(Instant::now() < give_up, "order {order} is never paid");
            thread::sleep(PAUSE);
        }
    }
    drop(programs);
    judge(&answered, &asked, &payments(&ledger));
}

fn judge(answered: &[Answered], asked: &BTreeSet<u64>, payments: &BTreeMap<u64, Vec<u64>>) {
    let twice: Vec<_> = payments.iter().filter(|(_, receipts)| receipts.len() > 1).collect();
    assert!(twice.is_empty(), "paid twice: {twice:?}");
    assert!(payments.keys().eq(asked), "every order is paid in the end");
    for Answered { order, receipt, .. } in answered {
        let told = receipt.map_or(payments[order][0], |(receipt, _)| receipt);
        assert_eq!(payments[order], [told], "order {order}");
    }
    let count = |status| answered.iter().filter(|answered| answered.status == status).count();
    let (paid, held, unavailable) = (count(200), count(423), count(503));
    assert_eq!(paid + held + unavailable, answered.len(), "another status");
    let first =
        answered.iter().filter(|answered| answered.receipt.is_some_and(|(_, already)| !already)).count();
    assert!(
        (1..=asked.len()).contains(&first) && held > 0 && unavailable > 0,
        "{first} {held} {unavailable}"
    );
    let mut took: Vec<_> = answered.iter().map(|answered| answered.took).collect();
    took.sort();
    let (p50, p99) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    println!(
        "{} requests, {} orders: {paid} paid, {held} held, {unavailable} unavailable; p50 {p50:?}, p99 {p99:?}",
        answered.len(),
        asked.len()
    );
}
