//! Trials: settings that were simulated, with the figures of each seed.

use std::{
    collections::{HashMap, HashSet},
    num::NonZero,
    ops::ControlFlow,
    panic::resume_unwind,
    thread,
};

use leasehold::{Config, ConfigError};
use toml::{Table, Value};

use super::{figures::Figures, goal::SeenFigures, load::TriedLoad, search::Progress};
use crate::laboratory::{chance::Chance, model::simulate, profile::ServerProfile, workload::Workload};

/// The part of the seed of a search that the seeds of simulations are drawn from.
const SEEDS: u64 = 1 << 44;
/// The number of the first seed that no search has seen. Settings that were chosen for their luck with the other ones are found
/// out here.
const FRESH: usize = 1_000;

/// The place of a trial among all of them.
pub(super) type Id = usize;

/// A setting under a load, and how it went.
#[derive(Debug)]
pub(super) struct SettingTrial {
    pub(super) settings: Table,
    pub(super) load: TriedLoad,
    /// The figures of the seeds of the search, which come in their order: see [`load_of`].
    pub(super) searched: Vec<Figures>,
    /// The figures of fresh seeds.
    pub(super) fresh: Vec<Figures>,
    /// The trial of the same settings with longer holds, once there is one.
    longer_holds: Option<Id>,
}

impl SettingTrial {
    /// Returns the number of settings that differ from the default. A preset stands for two pauses and the attempts.
    pub(super) fn changes(&self) -> usize {
        let keys = self.settings.values().filter_map(Value::as_table).flat_map(Table::keys);
        keys.map(|key| if key == "preset" { 3 } else { 1 }).sum()
    }

    /// Returns the first so many seeds of the search.
    pub(super) fn searched(&self, seeds: usize) -> SeenFigures {
        let mut seen = SeenFigures::default();
        for (seed, figures) in self.searched.iter().enumerate().take(seeds) {
            match load_of(self.load, seed) {
                TriedLoad::LongerHolds => seen.longer_holds.push(*figures),
                _ => seen.as_it_is.push(*figures),
            }
        }
        seen
    }
}

/// Returns the load with which a seed is simulated. Each second seed of the search has longer holds, so that what it finds is not best
/// for one length of them alone.
const fn load_of(load: TriedLoad, seed: usize) -> TriedLoad {
    match load {
        TriedLoad::AsItIs if seed < FRESH && seed % 2 == 1 => TriedLoad::LongerHolds,
        load => load,
    }
}

/// The end of a search before its time.
#[derive(Debug)]
pub(super) enum Halt {
    /// Somebody has stopped it.
    Stopped,
    /// The workload or the profile cannot be simulated.
    Failed(ConfigError),
}

impl From<ConfigError> for Halt {
    fn from(error: ConfigError) -> Self {
        Self::Failed(error)
    }
}

/// All trials, and what simulates them.
pub(super) struct Trials<'a> {
    workload: &'a Workload,
    profile: &'a ServerProfile,
    watch: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
    seed: u64,
    threads: usize,
    all: Vec<SettingTrial>,
    known: HashMap<(TriedLoad, String), Id>,
    pub(super) progress: Progress,
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        workload: &'a Workload,
        profile: &'a ServerProfile,
        (seed, simulations): (u64, u32),
        watch: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Self {
        // Without an answer one thread does it all.
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let progress = Progress { stage: "", done: 0, of: simulations, best: None };
        Self { workload, profile, watch, seed, threads, all: Vec::new(), known: HashMap::new(), progress }
    }

    pub(super) fn get(&self, id: Id) -> &SettingTrial {
        &self.all[id]
    }

    /// Returns the configuration of a trial.
    pub(super) fn config(&self, id: Id) -> Result<Config, ConfigError> {
        self.workload.with_settings(self.get(id).settings.clone())?.config()
    }

    /// Returns all trials of the workload as it is, with their places.
    pub(super) fn own(&self) -> impl Iterator<Item = (Id, &SettingTrial)> {
        self.all.iter().enumerate().filter(|(_, trial)| trial.load == TriedLoad::AsItIs)
    }

    /// Returns the trial of these settings; `None` if the configuration refuses them.
    pub(super) fn find(&mut self, settings: Table, load: TriedLoad) -> Option<Id> {
        let key = (load, settings.to_string());
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        load.apply(&self.workload.with_settings(settings.clone()).ok()?)?;
        self.all.push(SettingTrial {
            settings,
            load,
            searched: Vec::new(),
            fresh: Vec::new(),
            longer_holds: None,
        });
        self.known.insert(key, self.all.len() - 1);
        Some(self.all.len() - 1)
    }

    /// Simulates these trials until each has the figures of so many seeds of the search.
    pub(super) fn search(&mut self, ids: &[Id], seeds: usize, within: u32) -> Result<bool, Halt> {
        self.run(ids, seeds, within, 0)
    }

    /// Simulates these trials, and the same settings with longer holds, until all have the figures of so many fresh seeds.
    pub(super) fn check_both(&mut self, ids: &[Id], seeds: usize, within: u32) -> Result<bool, Halt> {
        let mut both = Vec::new();
        for id in ids {
            let settings = self.get(*id).settings.clone();
            // A workload whose holds cannot be longer is simulated as it is.
            let longer = self.find(settings, TriedLoad::LongerHolds).unwrap_or(*id);
            self.all[*id].longer_holds = Some(longer);
            both.extend([*id, longer]);
        }
        self.check(&both, seeds, within)
    }

    /// Returns the figures of fresh seeds.
    pub(super) fn checked(&self, id: Id) -> SeenFigures {
        let trial = self.get(id);
        let longer = trial.longer_holds.map_or(&[][..], |longer| &self.get(longer).fresh);
        SeenFigures { as_it_is: trial.fresh.clone(), longer_holds: longer.to_vec() }
    }

    /// Simulates these trials until each has the figures of so many fresh seeds.
    pub(super) fn check(&mut self, ids: &[Id], seeds: usize, within: u32) -> Result<bool, Halt> {
        self.run(ids, seeds, within, FRESH)
    }

    /// Simulates what is missing, in its order, as long as fewer than `within` simulations were made in all. Returns false if some
    /// are still missing. Which simulations are made depends on neither the number of threads nor their speed.
    fn run(&mut self, ids: &[Id], seeds: usize, within: u32, first: usize) -> Result<bool, Halt> {
        let (mut jobs, mut seen) = (Vec::new(), HashSet::new());
        for id in ids.iter().filter(|id| seen.insert(**id)) {
            let done = if first == 0 { self.all[*id].searched.len() } else { self.all[*id].fresh.len() };
            jobs.extend((done..seeds).map(|seed| (*id, first + seed)));
        }
        let left = within.min(self.progress.of).saturating_sub(self.progress.done) as usize;
        let is_whole = jobs.len() <= left;
        jobs.truncate(left);
        for together in jobs.chunks(self.threads) {
            let found = self.simulated(together)?;
            for ((id, _), figures) in together.iter().zip(found) {
                let trial = &mut self.all[*id];
                if first == 0 { &mut trial.searched } else { &mut trial.fresh }.push(figures);
                self.progress.done += 1;
            }
            self.go_on()?;
        }
        Ok(is_whole)
    }

    /// Tells the progress. Fails if the search was stopped.
    pub(super) fn go_on(&mut self) -> Result<(), Halt> {
        match (self.watch)(&self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::Stopped),
        }
    }

    /// Simulates several trials at the same time, each with one seed.
    fn simulated(&self, jobs: &[(Id, usize)]) -> Result<Vec<Figures>, ConfigError> {
        // Other threads do not see who watches.
        let Self { workload, profile, seed: search_seed, all, .. } = self;
        let simulate = |(id, seed): &(Id, usize)| {
            let SettingTrial { settings, load, .. } = &all[*id];
            let workload = workload.with_settings(settings.clone())?;
            let load = load_of(*load, *seed);
            // A workload whose holds cannot be longer is simulated as it is. The other loads were applied once before.
            let mut workload = load.apply(&workload).unwrap_or(workload);
            workload.seed = Chance::of(*search_seed, SEEDS + *seed as u64).next();
            let report = simulate(&workload, &load.profile(profile))?;
            Ok(Figures::of(&report))
        };
        thread::scope(|scope| {
            let running: Vec<_> = jobs.iter().map(|job| scope.spawn(|| simulate(job))).collect();
            let joined = running.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
            joined.collect()
        })
    }
}
