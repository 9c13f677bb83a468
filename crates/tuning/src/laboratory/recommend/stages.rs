//! The stages of a search: a sample of the space, of which the better part goes on, and steps from the best of it.

use super::{
    figures::Figures,
    goal::{Aim, Rank},
    grid::latin_hypercube,
    load::TriedLoad,
    space::{Point, Space},
    trials::{Halt, Id, Trials},
};
use leasehold::ConfigError;

use crate::laboratory::chance::Chance;

/// The number of seeds that a setting has at the end of a search.
pub(super) const SEEDS: usize = 4;
/// The part of the search's seed that its sample is drawn from.
const SAMPLE: u64 = 1 << 45;
/// The number of settings from which steps are made.
const STARTS: usize = 3;

/// A search under way.
pub(super) struct Stages<'a> {
    pub(super) space: &'a Space,
    pub(super) aim: Aim,
    pub(super) trials: Trials<'a>,
}

impl Stages<'_> {
    /// Simulates a sample, beside these trials and the points next to them, with one seed. A quarter goes on to a second seed, and a quarter of that to all of
    /// them: successive halving (Karnin, Koren, Somekh: "Almost Optimal Exploration in Multi-Armed Bandits", 2013; Jamieson and
    /// Talwalkar, 2016, for settings). Returns the best points.
    pub(super) fn sample(&mut self, beside: &[Id], seed: u64, within: u32) -> Result<Vec<Point>, Halt> {
        const GO_ON: usize = 4;
        // One seed for all of them, one for a quarter, two for a sixteenth.
        let left = within.saturating_sub(self.trials.progress.done) as f64;
        let count = ((left / (1.0 + 1.0 / 4.0 + 2.0 / 16.0)) as usize).saturating_sub(2 * beside.len());
        let mut chance = Chance::of(seed, SAMPLE);
        let draws = latin_hypercube(count, self.space.settings.len(), &mut chance);
        let place = |draws: Vec<f64>| -> Point {
            self.space.settings.iter().zip(draws).map(|(setting, draw)| setting.grid.place(draw)).collect()
        };
        let mut points = Vec::new();
        for id in beside {
            points.push(self.space.nearest(&self.trials.config(*id)?));
        }
        points.extend(draws.into_iter().map(place));
        let mut known = Vec::new();
        for point in points {
            // With a large budget that alone takes a while.
            self.trials.go_on()?;
            known.extend(self.id(&point)?.map(|id| (id, point)));
        }
        let mut ids: Vec<Id> = beside.iter().copied().chain(known.iter().map(|(id, _)| *id)).collect();
        for seeds in [1, 2, SEEDS] {
            self.trials.search(&ids, seeds, within)?;
            ids = self.best(&ids, seeds);
            self.note(ids.first().copied());
            ids.truncate((ids.len() / GO_ON).max(STARTS));
        }
        let point = |id: &Id| known.iter().find(|(known, _)| known == id).map(|(_, point)| point.clone());
        Ok(ids.iter().filter_map(point).collect())
    }

    /// Steps from each of these points to better ones.
    pub(super) fn descend(&mut self, starts: Vec<Point>, within: u32) -> Result<(), Halt> {
        for start in starts.into_iter().take(STARTS) {
            self.descend_from(start, within)?;
        }
        Ok(())
    }

    /// Changes one setting at a time, and keeps what is better, with steps that become smaller: the pattern search of Hooke and
    /// Jeeves, "Direct Search Solution of Numerical and Statistical Problems" (1961), along one setting after the other.
    fn descend_from(&mut self, mut point: Point, within: u32) -> Result<(), Halt> {
        let Some(mut best) = self.id(&point)? else { return Ok(()) };
        if !self.trials.search(&[best], SEEDS, within)? {
            return Ok(());
        }
        let mut part = 1;
        loop {
            let mut is_better = false;
            for setting in 0..point.len() {
                let grid = &self.space.settings[setting].grid;
                let steps = (grid.stride() / part).max(1);
                let mut places = grid.around(point[setting], steps);
                places.push(grid.usual);
                for place in places {
                    let mut next = point.clone();
                    next[setting] = place;
                    let Some(id) = self.id(&next)? else { continue };
                    if id != best && self.beats(id, best, within)? {
                        (point, best, is_better) = (next, id, true);
                        self.note(Some(best));
                    }
                }
            }
            let smallest = self.space.settings.iter().all(|setting| setting.grid.stride() / part <= 1);
            if self.trials.progress.done >= within || smallest && !is_better {
                return Ok(());
            }
            if !is_better {
                part *= 2;
            }
        }
    }

    /// Returns true if a trial is better than another one that has all seeds. It ends with the first seed after which it is far
    /// behind; with less than all of them chance alone may put it a little behind.
    fn beats(&mut self, id: Id, best: Id, within: u32) -> Result<bool, Halt> {
        for seeds in 1..SEEDS {
            if !self.trials.search(&[id], seeds, within)?
                || self.rank(id, seeds).is_far_behind(self.rank(best, seeds))
            {
                return Ok(false);
            }
        }
        Ok(self.trials.search(&[id], SEEDS, within)? && self.rank(id, SEEDS) < self.rank(best, SEEDS))
    }

    /// Notes the best setting so far.
    fn note(&mut self, best: Option<Id>) {
        self.trials.progress.best =
            best.map(|id| Figures::mean(&self.trials.get(id).searched(SEEDS).as_it_is));
    }

    /// Returns the trials that have as many seeds of the search as any has, the best first.
    pub(super) fn leaders(&self) -> Vec<Id> {
        let most = self.trials.own().map(|(_, trial)| trial.searched.len()).max().unwrap_or(0);
        let ids: Vec<Id> = self.trials.own().map(|(id, _)| id).collect();
        self.best(&ids, most)
    }

    /// Returns those of the trials that have so many seeds, the best first. Among equals the first one stays the first.
    fn best(&self, ids: &[Id], seeds: usize) -> Vec<Id> {
        let has_all = |id: &&Id| seeds > 0 && self.trials.get(**id).searched.len() >= seeds;
        let mut ids: Vec<Id> = ids.iter().filter(has_all).copied().collect();
        ids.sort_by_cached_key(|id| self.rank(*id, seeds));
        ids
    }

    fn rank(&self, id: Id, seeds: usize) -> Rank {
        self.aim.rank(&self.trials.get(id).searched(seeds))
    }

    /// Returns the trial of a point; `None` if the configuration refuses it.
    fn id(&mut self, point: &[usize]) -> Result<Option<Id>, ConfigError> {
        Ok(self.trials.find(self.space.table(point)?, TriedLoad::AsItIs))
    }
}
