//! What only a real server can show of the ways to run one: a client of the application, the plain layout beside other
//! libraries, replicas that must confirm, TLS, and the rights of a user.
//!
//! What a lock does in general is in `acceptance.rs`, for every one of them.

mod client;
mod credentials;
mod plain;
mod redis_py;
mod replicas;
mod rights;
mod tls;

use std::time::Duration;

use leasehold::{
    Mode, ResourceName, Token,
    store::{Acquisition, Hold},
};

const TTL: Duration = Duration::from_secs(30);

fn exclusive(name: impl AsRef<[u8]>, token: u128) -> Acquisition {
    Acquisition {
        hold: Hold {
            resource: ResourceName::new(name).unwrap(),
            token: Token::from_bits(token),
            owner: None,
        },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: TTL,
        lock_delay: Duration::ZERO,
        metadata: Default::default(),
        ticket: None,
    }
}
