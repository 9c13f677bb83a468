//! The web application of axum among the examples, also while its store is away for a second.

use std::{thread, time::Duration};

use super::{
    load::payments,
    program::{Program, signal},
    web::{ask, receipt},
};
use leasehold_testing::{servers::RedisServer, waiting::until};

/// The time for which the store is away.
const AWAY: Duration = Duration::from_secs(1);
/// The clients that ask for the same orders in the same sequence.
const AT_ONCE: usize = 4;
/// The sequences of orders, and the orders of each.
const SEQUENCES: u32 = 4;
const ORDERS: u32 = 12;

/// Starts the application. Returns it with its address.
fn open(server: &RedisServer, payment: &str, options: &[&str]) -> (Program, String) {
    let url = server.url();
    let usual = ["--store", &url, "--listen", "127.0.0.1:0", "--payment", payment, "--wait", "60s"];
    let mut program = Program::start("axum_orders", &[&usual, options].concat());
    let line = program.hears("listening at http://");
    (program, line.trim_start_matches("listening at http://").to_owned())
}

fn is_locked(server: &RedisServer, order: u32) -> bool {
    server.keys().iter().any(|(key, _)| key.contains(&format!("orders/{order}")))
}

fn pay(address: &str, order: u32) -> String {
    ask(address, &format!("POST /orders/{order}/pay"))
}

#[test]
fn a_second_payment_waits_for_the_first_and_gets_its_receipt() {
    let server = RedisServer::start();
    let (_program, address) = open(&server, "6s", &[]);
    let there = address.clone();
    let first = thread::spawn(move || receipt(&pay(&there, 42), false));
    until("the order is locked", || is_locked(&server, 42));
    let second = receipt(&pay(&address, 42), true);
    assert_eq!(first.join().unwrap(), second);
}

#[test]
fn a_payment_is_finished_before_the_process_ends_and_leaves_no_lock() {
    let server = RedisServer::start();
    let (program, address) = open(&server, "6s", &[]);
    let paying = thread::spawn(move || pay(&address, 42));
    until("the order is locked", || is_locked(&server, 42));
    signal("TERM", program.id());
    receipt(&paying.join().unwrap(), false);
    assert_eq!(program.succeeds().last().unwrap(), "stopped; locks taken away: 0");
    assert!(!is_locked(&server, 42), "{:?}", server.keys());
}

#[test]
fn no_payment_is_lost_or_taken_twice_while_the_store_stands_still_for_a_second() {
    every_order_is_paid_once(RedisServer::start(), |server| {
        server.pause();
        thread::sleep(AWAY);
        server.resume();
    });
}

#[test]
fn no_payment_is_lost_or_taken_twice_while_the_store_is_killed_and_comes_back_with_its_data() {
    let server = RedisServer::with_args(&["--appendonly", "yes", "--appendfsync", "always"]);
    every_order_is_paid_once(server, |server| {
        server.kill();
        thread::sleep(AWAY);
        server.restart();
    });
}

/// Two processes serve one shop. The store goes away when some orders are paid; clients ask once for each order.
fn every_order_is_paid_once(mut server: RedisServer, goes_away: impl FnOnce(&mut RedisServer)) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = directory.path().join("orders.sqlite");
    let options = ["--ledger", ledger.to_str().unwrap()];
    let (_programs, shops): (Vec<_>, Vec<_>) = (0..2).map(|_| open(&server, "20ms", &options)).unzip();
    let answers: Vec<(u32, String)> = thread::scope(|scope| {
        let shops = &shops;
        let client = |number: usize, sequence: u32| {
            let orders = sequence * ORDERS..(sequence + 1) * ORDERS;
            scope.spawn(move || {
                orders.map(|order| (order, pay(&shops[number % 2], order))).collect::<Vec<_>>()
            })
        };
        let clients: Vec<_> = (0..SEQUENCES)
            .flat_map(|sequence| (0..AT_ONCE).map(move |number| (number, sequence)))
            .map(|(number, sequence)| client(number, sequence))
            .collect();
        until("some orders are paid", || payments(&ledger).len() >= 5);
        goes_away(&mut server);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let payments = payments(&ledger);
    assert!(payments.keys().copied().eq(0..u64::from(SEQUENCES * ORDERS)), "{payments:?}");
    assert!(payments.values().all(|receipts| receipts.len() == 1), "paid twice: {payments:?}");
    for (order, answer) in &answers {
        let is_first = answer.contains(r#""already_paid":false"#);
        assert_eq!(payments[&u64::from(*order)], [receipt(answer, !is_first)], "order {order}");
    }
    println!("{} answers, {} orders, each paid once", answers.len(), payments.len());
}
