//! The resources of a workload: which of them a request asks for.

use serde::Deserialize;

use leasehold::InvalidValue;

use crate::laboratory::chance::Chance;

/// The largest number of resources.
const MOST: u32 = 1_000_000;

/// The choice of a resource.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Resources {
    /// One resource, which all want.
    #[default]
    One,
    /// Several resources, each as popular as the others.
    Uniform {
        /// The number of resources.
        count: u32,
    },
    /// Several resources, of which the n-th is asked for in proportion to 1 / n^exponent.
    Zipf {
        /// The number of resources.
        count: u32,
        /// The exponent: 1 is usual, 0 makes all of them as popular.
        exponent: f64,
    },
}

/// The choice, ready to be drawn from.
#[derive(Debug)]
pub(super) enum Choice {
    Uniform(u32),
    /// The shares of the first n resources together.
    Cumulated(Vec<f64>),
}

impl Resources {
    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        let (count, exponent) = match *self {
            Self::One => return Ok(()),
            Self::Uniform { count } => (count, 0.0),
            Self::Zipf { count, exponent } => (count, exponent),
        };
        if !(1..=MOST).contains(&count) {
            return Err(InvalidValue::new("resources.count", count, format!("1 to {MOST}")));
        }
        if !(0.0..=10.0).contains(&exponent) {
            return Err(InvalidValue::new("resources.exponent", exponent, "0 to 10"));
        }
        Ok(())
    }

    pub(super) fn choice(&self) -> Choice {
        match *self {
            Self::One => Choice::Uniform(1),
            Self::Uniform { count } => Choice::Uniform(count),
            Self::Zipf { count, exponent } => {
                let mut sum = 0.0;
                let shares = (1..=count).map(|rank| {
                    sum += f64::from(rank).powf(-exponent);
                    sum
                });
                Choice::Cumulated(shares.collect())
            }
        }
    }
}

impl Choice {
    /// Draws the number of a resource, counted from 0.
    pub(super) fn draw(&self, chance: &mut Chance) -> u32 {
        match self {
            Self::Uniform(count) => chance.below(*count),
            Self::Cumulated(shares) => {
                let drawn = chance.share() * shares.last().copied().unwrap_or_default();
                let at = shares.partition_point(|share| *share <= drawn);
                u32::try_from(at).unwrap_or(u32::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(resources: &Resources) -> [f64; 3] {
        let (choice, mut chance) = (resources.choice(), Chance::of(5, 0));
        let drawn: Vec<_> = (0..20_000).map(|_| choice.draw(&mut chance)).collect();
        [0, 1, 3].map(|which| drawn.iter().filter(|drawn| **drawn == which).count() as f64 / 20_000.0)
    }

    #[test]
    fn resources_are_as_popular_as_their_kind_says() {
        for (resources, expected) in [
            (Resources::One, [1.0, 0.0, 0.0]),
            (Resources::Uniform { count: 4 }, [0.25, 0.25, 0.25]),
            (Resources::Zipf { count: 4, exponent: 1.0 }, [0.48, 0.24, 0.12]),
            (Resources::Zipf { count: 4, exponent: 0.0 }, [0.25, 0.25, 0.25]),
        ] {
            resources.check().unwrap();
            let found = shares(&resources);
            let near = found.iter().zip(expected).all(|(it, near)| (it - near).abs() < 0.015);
            assert!(near, "{resources:?}: {found:?}");
        }
    }

    #[test]
    fn no_resources_and_odd_exponents_are_refused_by_name() {
        for (resources, field) in [
            (Resources::Uniform { count: 0 }, "resources.count"),
            (Resources::Zipf { count: MOST + 1, exponent: 1.0 }, "resources.count"),
            (Resources::Zipf { count: 1, exponent: f64::NAN }, "resources.exponent"),
        ] {
            assert_eq!(resources.check().unwrap_err().field, field);
        }
    }
}
