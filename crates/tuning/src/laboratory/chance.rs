//! Chance that comes from a seed, and is the same on every machine and in every version.

use std::sync::{Mutex, PoisonError};

use leasehold::{
    Token,
    env::{Draw, Random},
};

/// A generator of random numbers: SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
/// The generators of other crates may change with a version, and a seed in a workload must not change its meaning.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// Creates the generator of a part of a workload: parts have independent numbers.
    pub(super) fn of(seed: u64, part: u64) -> Self {
        let mut mixed = Self(seed.wrapping_add(part.wrapping_mul(0xd1b5_4a32_d192_ed03)));
        Self(mixed.next())
    }

    /// Returns a number of 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in `0.0..1.0`.
    pub(super) fn share(&mut self) -> f64 {
        // A double holds 53 bits exactly.
        const BITS: u32 = 53;
        (self.next() >> (64 - BITS)) as f64 / (1_u64 << BITS) as f64
    }

    /// Returns a number from zero to below `count`.
    pub(super) fn below(&mut self, count: u32) -> u32 {
        // The product is below `count`, which fits.
        (self.share() * f64::from(count)) as u32
    }

    /// Returns a number of the exponential distribution with mean 1.
    pub(super) fn exponential(&mut self) -> f64 {
        -(1.0 - self.share()).ln()
    }

    /// Returns a number of the normal distribution with mean 0 and deviation 1, by Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// The tokens and random numbers of a simulated manager.
#[derive(Debug)]
pub(super) struct SeededRandom(Mutex<Chance>);

impl SeededRandom {
    pub(super) const fn new(chance: Chance) -> Self {
        Self(Mutex::new(chance))
    }

    fn draw_from<T>(&self, draw: impl FnOnce(&mut Chance) -> T) -> T {
        // Nothing that can panic happens while this is locked.
        draw(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Random for SeededRandom {
    fn draw(&self, _: Draw) -> f64 {
        self.draw_from(Chance::share)
    }

    fn token(&self) -> Token {
        self.draw_from(|chance| Token::from_bits(u128::from(chance.next()) << 64 | u128::from(chance.next())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of many numbers, and the mean of their squares.
    fn moments(mut draw: impl FnMut() -> f64) -> [f64; 2] {
        let numbers: Vec<f64> = (0..20_000).map(|_| draw()).collect();
        [1, 2].map(|power| numbers.iter().map(|it| it.powi(power)).sum::<f64>() / 20_000.0)
    }

    fn close(found: [f64; 2], expected: [f64; 2]) -> bool {
        found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.06)
    }

    #[test]
    fn numbers_have_the_moments_of_their_distributions() {
        let mut chance = Chance::of(7, 0);
        assert!(close(moments(|| chance.share()), [1.0 / 2.0, 1.0 / 3.0]));
        assert!(close(moments(|| chance.exponential()), [1.0, 2.0]));
        assert!(close(moments(|| chance.normal()), [0.0, 1.0]));
        assert!(close(moments(|| f64::from(chance.below(2))), [0.5, 0.5]));
    }

    #[test]
    fn a_seed_means_the_same_numbers_for_ever_and_parts_differ() {
        let first = |seed, part| Chance::of(seed, part).next();
        assert_eq!(first(1, 0), 6_791_897_765_849_424_158);
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 1), first(2, 0));
    }
}
