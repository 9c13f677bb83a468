//! The web application among the examples, asked over HTTP.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
};

use super::program::{Program, signal};

/// The running application.
struct Shop {
    program: Program,
    address: String,
}

impl Shop {
    fn open(payment: &str, store: &str) -> Self {
        let arguments = ["--listen", "127.0.0.1:0", "--payment", payment];
        let mut program = Program::start_with("web_orders", &arguments, &[("LEASEHOLD_STORE_URL", store)]);
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
fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn an_order_that_is_being_paid_is_locked_until_it_is_paid() {
    let shop = Shop::open("2s", "memory://");
    let first = shop.begin_to_pay(42);
    let refused = shop.pay(42);
    assert!(refused.starts_with("HTTP/1.1 423 Locked\r\n"), "{refused}");
    let (_, after) = refused.split_once("retry-after: ").unwrap();
    let seconds: u32 = after.lines().next().unwrap().parse().unwrap();
    assert!((1..=11).contains(&seconds), "{refused}");
    assert!(
        refused.contains(r#"{"error":"the order is locked by somebody who takes a payment"}"#),
        "{refused}"
    );

    let other = shop.begin_to_pay(43);
    for paid in [first, other] {
        let answer = paid.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    let again = shop.pay(42);
    assert!(again.starts_with("HTTP/1.1 200 OK\r\n"), "{again}");
}

#[test]
fn a_payment_is_finished_before_the_shop_closes() {
    let shop = Shop::open("1s", "memory://");
    let payment = shop.begin_to_pay(42);
    signal("TERM", shop.program.id());
    let answer = payment.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let said = shop.program.succeeds();
    assert_eq!(said.last().unwrap(), "stopped; locks taken away: 0");
}

#[test]
fn without_a_store_the_shop_opens_and_says_that_it_cannot_serve() {
    let shop = Shop::open("1s", "redis://127.0.0.1:1");
    let answer = shop.pay(42);
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
    assert!(answer.contains("the store is not available"), "{answer}");
}
