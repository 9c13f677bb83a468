//! The web application among the examples, asked over HTTP.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
};

use super::program::{Program, signal};
use leasehold_testing::servers::RedisServer;
use leasehold_testing::waiting::until;

/// The running application.
struct Shop {
    program: Program,
    address: String,
}

impl Shop {
    fn open(payment: &str, store: &str) -> Self {
        Self::open_with(payment, store, &[])
    }

    /// One with a lock manager for the process, and one with a lock manager in each worker.
    fn both(payment: &str, store: &str) -> [Self; 2] {
        [Self::open(payment, store), Self::open_with(payment, store, &["--per-worker"])]
    }

    fn open_with(payment: &str, store: &str, options: &[&str]) -> Self {
        let usual = ["--listen", "127.0.0.1:0", "--payment", payment];
        let (arguments, variables) = ([&usual, options].concat(), [("LEASEHOLD_STORE_URL", store)]);
        let mut program = Program::start_with("web_orders", &arguments, &variables);
        let line = program.hears("listening at http://");
        let address = line.trim_start_matches("listening at http://").to_owned();
        Self { program, address }
    }

    fn pay(&self, order: u32) -> String {
        ask(&self.address, &format!("POST /orders/{order}/pay"))
    }

    /// Starts a payment, and waits until it has its lock.
    fn begin_to_pay(&self, order: u32) -> thread::JoinHandle<String> {
        let address = self.address.clone();
        let paying = thread::spawn(move || ask(&address, &format!("POST /orders/{order}/pay")));
        while !ask(&self.address, "GET /locks").contains(&format!("orders/{order} ")) {
            assert!(!paying.is_finished(), "{}", paying.join().unwrap());
            thread::yield_now();
        }
        paying
    }
}

/// Sends one request, and reads the whole answer.
pub(super) fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The number of the receipt in an answer, which must be a good one.
pub(super) fn receipt(answer: &str, already_paid: bool) -> u64 {
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains(&format!(r#""already_paid":{already_paid}"#)), "{answer}");
    let (_, number) = answer.split_once(r#""receipt":"#).unwrap();
    number.trim_end_matches('}').parse().unwrap()
}

#[test]
fn an_order_that_is_being_paid_is_locked_until_it_is_paid() {
    let shop = Shop::open("6s", "memory://");
    let first = shop.begin_to_pay(42);
    let refused = shop.pay(42);
    assert!(refused.starts_with("HTTP/1.1 423 Locked\r\n"), "{refused}");
    let (_, after) = refused.split_once("retry-after: ").unwrap();
    let seconds: u32 = after.lines().next().unwrap().parse().unwrap();
    assert!((1..=11).contains(&seconds), "{refused}");
    assert!(refused.contains("content-type: application/problem+json"), "{refused}");
    assert!(refused.contains(r#""kind":"held""#), "{refused}");
    assert!(!refused.contains("takes a payment"), "who holds it is nobody's business: {refused}");

    let other = shop.begin_to_pay(43);
    for paid in [first, other] {
        receipt(&paid.join().unwrap(), false);
    }
}

#[test]
fn a_second_payment_is_answered_with_the_receipt_of_the_first() {
    let shop = Shop::open("10ms", "memory://second-payment");
    let first = receipt(&shop.pay(42), false);
    assert_eq!(receipt(&shop.pay(42), true), first);
    assert_ne!(receipt(&shop.pay(43), false), first);
}

#[test]
fn what_was_paid_is_answered_as_paid_when_the_store_is_killed_meanwhile() {
    let mut server = RedisServer::start();
    let shop = Shop::open("6s", &server.url());
    let payment = shop.begin_to_pay(42);
    server.kill();
    let first = receipt(&payment.join().unwrap(), false);
    assert_eq!(receipt(&shop.pay(42), true), first, "and it is not paid again");
    let other = shop.pay(43);
    assert!(other.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{other}");
    assert!(other.contains(r#""kind":"unavailable""#) && other.contains("retry-after: 1"), "{other}");
}

#[test]
fn a_payment_that_loses_its_lock_is_answered_as_unknown_and_can_be_asked_for_again() {
    let server = RedisServer::start();
    let shop = Shop::open_with("12s", &server.url(), &["--ttl", "4s"]);
    let payment = shop.begin_to_pay(42);
    server.pause();
    let answer = payment.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
    assert!(answer.contains(r#""kind":"outcome_unknown""#), "{answer}");
    assert!(
        !answer.contains("retry-after: "),
        "only who knows the ledger knows that it may be repeated: {answer}"
    );
    server.resume();
    let mut again = String::new();
    until("it is paid", || {
        again = shop.pay(42);
        again.starts_with("HTTP/1.1 200 OK\r\n")
    });
    receipt(&again, false);
}

#[test]
fn a_payment_is_finished_before_the_shop_closes() {
    let server = RedisServer::start();
    for shop in Shop::both("6s", &server.url()) {
        let payment = shop.begin_to_pay(42);
        signal("TERM", shop.program.id());
        let answer = payment.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let said = shop.program.succeeds();
        assert_eq!(said.last().unwrap(), "stopped; locks taken away: 0");
        assert!(server.keys().iter().all(|(key, _)| !key.contains("orders/42")), "{:?}", server.keys());
    }
}

#[test]
fn one_of_many_payments_at_once_is_taken_whichever_worker_has_them() {
    for shop in Shop::both("300ms", "memory://") {
        let pay = |address: String| thread::spawn(move || ask(&address, "POST /orders/42/pay"));
        let paying: Vec<_> = (0..8).map(|_| pay(shop.address.clone())).collect();
        let answers: Vec<_> = paying.into_iter().map(|paying| paying.join().unwrap()).collect();
        let first_of = |status: &str| answers.iter().filter(|answer| answer.starts_with(status)).count();
        let taken = answers.iter().filter(|answer| answer.contains(r#""already_paid":false"#)).count();
        let (paid, locked) = (first_of("HTTP/1.1 200"), first_of("HTTP/1.1 423"));
        assert_eq!((taken, paid + locked), (1, answers.len()), "{answers:#?}");
    }
}

#[test]
fn without_a_store_the_shop_opens_and_says_that_it_cannot_serve() {
    let shop = Shop::open("1s", "redis://127.0.0.1:1");
    let answer = shop.pay(42);
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
    assert!(answer.contains(r#""kind":"unavailable""#), "{answer}");
    let health = ask(&shop.address, "GET /health");
    assert!(health.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{health}");
}

#[test]
fn a_shop_with_its_store_is_ready() {
    let shop = Shop::open("1s", "memory://");
    let health = ask(&shop.address, "GET /health");
    assert!(health.starts_with("HTTP/1.1 200 OK\r\n") && health.contains("\r\n\r\nready\n"), "{health}");
}

#[test]
fn a_shop_that_is_interrupted_waits_for_nobody_and_leaves_no_lock_behind() {
    let server = RedisServer::start();
    for shop in Shop::both("30s", &server.url()) {
        let payment = shop.begin_to_pay(42);
        signal("INT", shop.program.id());
        let said = shop.program.succeeds();
        assert!(said.last().unwrap().starts_with("stopped; locks taken away: "), "{said:#?}");
        let keys = server.keys();
        assert!(keys.iter().all(|(key, _)| !key.contains("orders/42")), "{keys:?}");
        // Its connection may be cut before an answer.
        let answer = payment.join().unwrap_or_default();
        assert!(!answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
}
