//! The values of a setting that are tried, in their order.

use crate::laboratory::chance::Chance;

/// The values of a setting.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// The values: ascending numbers, or the numbers of names.
    pub(super) values: Vec<f64>,
    /// The place of the default.
    pub(super) usual: usize,
    /// True if the values are names, which lie beside each other without an order.
    are_names: bool,
    /// True if the first sample of the space should hardly ever leave it at its default.
    is_always_varied: bool,
}

impl Grid {
    /// Creates the grid of ascending numbers.
    pub(super) const fn scale(values: Vec<f64>) -> Self {
        Self { values, usual: 0, are_names: false, is_always_varied: false }
    }

    /// Creates the grid of so many names.
    pub(super) fn names(count: usize) -> Self {
        let values = (0..count).map(|number| number as f64).collect();
        Self { are_names: true, ..Self::scale(values) }
    }

    pub(super) const fn always_varied(mut self) -> Self {
        self.is_always_varied = true;
        self
    }

    /// Adds a value, unless it is there.
    pub(super) fn insert(&mut self, value: f64) {
        let place = self.values.partition_point(|it| *it < value);
        if self.values.get(place) != Some(&value) {
            self.values.insert(place, value);
        }
    }

    /// Returns the place of the value next to this one, by their ratio. Zero is next to zero alone.
    pub(super) fn nearest(&self, value: f64) -> usize {
        let distance = |it: f64| match (it == 0.0, value == 0.0) {
            (true, true) => 0.0,
            (true, _) | (_, true) => f64::MAX,
            _ => (it / value).ln().abs(),
        };
        let by_distance =
            |a: &usize, b: &usize| distance(self.values[*a]).total_cmp(&distance(self.values[*b]));
        (0..self.values.len()).min_by(by_distance).unwrap_or(0)
    }

    /// Returns the place for a draw in `0.0..1.0`. The lower part of the draws is the default: few settings matter for a workload,
    /// and a sample that changes all of them finds hardly any good ones.
    pub(super) fn place(&self, draw: f64) -> usize {
        let default = if self.is_always_varied { 0.1 } else { 0.6 };
        if draw < default {
            return self.usual;
        }
        // The product is below the length.
        ((draw - default) / (1.0 - default) * self.values.len() as f64) as usize
    }

    /// Returns the places that are so many steps away. Of names these are all the others, whatever the distance.
    pub(super) fn around(&self, place: usize, steps: usize) -> Vec<usize> {
        if self.are_names {
            return (0..self.values.len()).filter(|it| *it != place).collect();
        }
        let above = Some(place + steps).filter(|it| *it < self.values.len());
        above.into_iter().chain(place.checked_sub(steps)).collect()
    }

    /// Returns the number of steps with which a search begins.
    pub(super) fn stride(&self) -> usize {
        (self.values.len() / 4).max(1)
    }
}

/// Returns the preferred numbers of ISO 3, R″20 from one number to another one: 1, 1.1, 1.2, 1.4, … 9, 10, 11, …
pub(super) fn series(from: f64, to: f64) -> Vec<f64> {
    const PREFERRED: [f64; 20] =
        [1.0, 1.1, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.5, 2.8, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 9.0];
    let powers = from.log10().floor() as i32..=to.log10().floor() as i32;
    let all = powers.flat_map(|power| PREFERRED.map(|it| it * 10.0_f64.powi(power)));
    // Parts of a microsecond are errors of a double.
    all.map(f64::round).filter(|it| (from..=to).contains(it)).collect()
}

/// Returns preferred numbers that are whole.
pub(super) fn counts(from: f64, to: f64) -> Vec<f64> {
    let mut counts: Vec<f64> = series(from, to).into_iter().map(f64::round).collect();
    counts.dedup();
    counts
}

/// Returns points that fill a space of so many dimensions evenly, each number in `0.0..1.0`: a Latin hypercube (McKay, Beckman,
/// Conover: "A Comparison of Three Methods for Selecting Values of Input Variables", 1979).
pub(super) fn latin_hypercube(points: usize, dimensions: usize, chance: &mut Chance) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::with_capacity(dimensions); points];
    for _ in 0..dimensions {
        let mut strata: Vec<usize> = (0..points).collect();
        for last in (1..points).rev() {
            let other = (chance.share() * (last + 1) as f64) as usize;
            strata.swap(last, other);
        }
        for (point, stratum) in all.iter_mut().zip(strata) {
            point.push((stratum as f64 + chance.share()) / points as f64);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_preferred_numbers_within_their_bounds() {
        assert_eq!(series(8_500.0, 14_000.0), [9_000.0, 10_000.0, 11_000.0, 12_000.0, 14_000.0]);
        assert_eq!(counts(1.0, 6.0), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn places_are_found_by_value_distance_and_draw() {
        let mut grid = Grid::scale(vec![0.0, 10.0, 20.0, 40.0, 80.0]);
        (grid.usual, grid.is_always_varied) = (2, false);
        assert_eq!([0.0, 1.0, 30.0, 500.0].map(|it| grid.nearest(it)), [0, 1, 3, 4]);
        assert_eq!([0.0, 0.59, 0.61, 0.999].map(|it| grid.place(it)), [2, 2, 0, 4]);
        assert_eq!((grid.around(1, 1), grid.around(3, 2)), (vec![2, 0], vec![1]));
        assert_eq!(Grid::names(3).around(1, 1), [0, 2]);
        grid.insert(30.0);
        grid.insert(30.0);
        assert_eq!(grid.values, [0.0, 10.0, 20.0, 30.0, 40.0, 80.0]);
    }

    #[test]
    fn a_latin_hypercube_has_one_number_in_each_stratum_of_each_dimension() {
        let points = latin_hypercube(20, 3, &mut Chance::of(1, 0));
        for dimension in 0..3 {
            let mut strata: Vec<_> = points.iter().map(|point| (point[dimension] * 20.0) as usize).collect();
            strata.sort_unstable();
            assert_eq!(strata, (0..20).collect::<Vec<_>>());
        }
    }
}
