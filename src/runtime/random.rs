//! Randomness: tokens, and the draws for jitter.

use std::fmt;

use crate::core::Token;

/// The purpose of a random draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Draw {
    /// The pause of a caller before its next attempt.
    Attempt,
    /// The jitter of the pause after a renewal, should that be missed. It is drawn for each renewal of a lease, before it is sent.
    Renewal,
    /// The pause of a supervisor before it restarts a crashed actor.
    Restart,
}

/// A source of tokens and random numbers.
pub trait Random: fmt::Debug + Send + Sync + 'static {
    /// Returns a random number in `0.0..1.0`.
    fn draw(&self, purpose: Draw) -> f64;

    /// Returns a token that is unique and cannot be guessed: 128 random bits, of which a UUID v4 gives 122.
    fn token(&self) -> Token;
}

/// Random numbers that cannot be guessed, from [`uuid`]. The operating system seeds their generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn draw(&self, _: Draw) -> f64 {
        // The low 53 bits of a UUID v4 are all random, and a double holds 53 bits exactly.
        const BITS: u32 = 53;
        let random = uuid::Uuid::new_v4().as_u128() & ((1 << BITS) - 1);
        random as f64 / (1_u64 << BITS) as f64
    }

    fn token(&self) -> Token {
        Token::from_bits(uuid::Uuid::new_v4().as_u128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_lie_between_zero_and_one_and_differ() {
        let draws: Vec<f64> = (0..1_000).map(|_| SystemRandom.draw(Draw::Attempt)).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let mean = draws.iter().sum::<f64>() / 1_000.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
    }
}
