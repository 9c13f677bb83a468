//! Chance that comes from a seed, and now and then a panic.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use leasehold::{
    Token,
    env::{Draw, Random},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// What the planned panics say; the panic hook keeps quiet about them.
pub const PLANNED: &str = "the random numbers were told to panic";

/// Seeded random numbers: a draw for a renewal may kill the renewer, one for an attempt the manager.
#[derive(Debug)]
pub(crate) struct SeededRandom {
    rng: Mutex<StdRng>,
    calm: Arc<AtomicBool>,
}

impl SeededRandom {
    /// Random numbers that panic now and then, until it is `calm`.
    pub(crate) fn new(seed: u64, calm: Arc<AtomicBool>) -> Self {
        Self { rng: Mutex::new(StdRng::seed_from_u64(seed)), calm }
    }
}

impl Random for SeededRandom {
    fn draw(&self, what: Draw) -> f64 {
        let (draw, fate): (f64, f64) = {
            let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
            (rng.random(), rng.random())
        };
        let deadly = match what {
            Draw::Renewal => 0.01,
            Draw::Attempt => 0.002,
            _ => 0.0,
        };
        assert!(fate >= deadly || self.calm.load(Ordering::Relaxed), "{PLANNED}");
        draw
    }

    fn token(&self) -> Token {
        Token::from_bits(self.rng.lock().unwrap_or_else(PoisonError::into_inner).random())
    }
}
