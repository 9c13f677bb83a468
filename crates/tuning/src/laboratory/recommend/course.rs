//! The course of a search, from the first simulation to the recommendation.

use super::{
    figures::Figures,
    front::front,
    goal::{Goal, SeenFigures},
    limit::Limit,
    load::TriedLoad,
    search::Search,
    stages::{SEEDS, Stages},
    trials::{Halt, Id, SettingTrial},
};
use leasehold::ConfigError;

/// The largest number of settings on a front.
pub(super) const FRONT: usize = 10;
/// The number of the best settings that are simulated with fresh seeds.
const FINALISTS: usize = 4;
/// The number of those that are simulated with longer waits too. The search shortens a wait as long as limits are kept with
/// its own seeds, and then the first fresh one breaks them.
const ROOMIER: usize = 2;

/// A search, with what it has found so far.
pub(super) struct Course<'a> {
    pub(super) stages: Stages<'a>,
    pub(super) compared: Vec<(String, Id)>,
    pub(super) sensitivity: Vec<(String, Id)>,
    /// The trial with the best figure of the goal.
    best: Option<Id>,
    /// The trial that is recommended.
    winner: Option<Id>,
    seed: u64,
    pub(super) plan: SearchPlan,
}

/// The numbers of simulations after which stages are over, and the number of fresh seeds.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchPlan {
    sample: u32,
    descent: u32,
    check: u32,
    simpler: u32,
    around: u32,
    all: u32,
    pub(super) fresh: usize,
}

impl SearchPlan {
    fn of(simulations: u32) -> Self {
        let share = |percent: u32| {
            u32::try_from(u64::from(simulations) * u64::from(percent) / 100).unwrap_or(u32::MAX)
        };
        Self {
            sample: share(40),
            descent: share(60),
            check: share(75),
            simpler: share(83),
            around: share(92),
            all: simulations,
            fresh: (simulations / 150).clamp(2, 5) as usize,
        }
    }
}

impl<'a> Course<'a> {
    pub(super) fn new(mut stages: Stages<'a>, search: &Search) -> Result<Self, ConfigError> {
        let mut compared = Vec::new();
        for (name, settings) in stages.space.compared()? {
            // A preset may contradict what is not searched.
            compared.extend(stages.trials.find(settings, TriedLoad::AsItIs).map(|id| (name, id)));
        }
        let plan = SearchPlan::of(search.simulations);
        Ok(Self {
            stages,
            compared,
            sensitivity: Vec::new(),
            best: None,
            winner: None,
            seed: search.seed,
            plan,
        })
    }

    /// Makes the search. What it has found stays, also if it ends before its time.
    pub(super) fn run(&mut self) -> Result<(), Halt> {
        let SearchPlan { sample, descent, check, simpler, around, .. } = self.plan;
        self.begin("measuring what is");
        self.simulate_own()?;
        self.serve_as_many();
        self.begin("sampling");
        let beside: Vec<Id> = self.compared.iter().map(|(_, id)| *id).collect();
        let starts = self.stages.sample(&beside, self.seed, sample)?;
        self.begin("stepping");
        self.stages.descend(starts, descent)?;
        self.begin("checking");
        self.check(check)?;
        self.begin("simplifying");
        self.simplify(simpler)?;
        self.begin("looking around");
        self.look_around(around)?;
        self.begin("checking again");
        // It was chosen with these seeds, and would be flattered by them alone.
        self.stages.trials.check_both(self.winner.as_slice(), 2 * self.plan.fresh, self.plan.all)?;
        self.begin("being wrong");
        self.be_wrong()
    }

    fn begin(&mut self, stage: &'static str) {
        self.stages.trials.progress.stage = stage;
    }

    /// Simulates the settings of the workload, so that there is something to tell whenever the search ends.
    fn simulate_own(&mut self) -> Result<(), Halt> {
        let own = self.compared.first().map(|(_, own)| *own);
        self.stages.trials.check_both(own.as_slice(), self.plan.fresh, self.plan.all)?;
        Ok(())
    }

    /// Adds the limit of success that nobody has set. The shortest wait is otherwise that of a try, which serves hardly anybody.
    fn serve_as_many(&mut self) {
        let Stages { aim, trials, .. } = &mut self.stages;
        if aim.goal == Goal::Success || aim.limits.iter().any(Limit::is_of_success) {
            return;
        }
        let Some((_, own)) = self.compared.first() else { return };
        let seen = trials.checked(*own);
        let least = |each: &[Figures]| each.iter().map(|figures| figures.success).fold(1.0, f64::min);
        aim.limits.push(Limit::success(least(&seen.as_it_is)));
        aim.longer_holds = Some(Limit::success(least(&seen.longer_holds)));
    }

    /// Simulates the best settings with seeds that the search has not seen, and takes the best; and then those on the front.
    fn check(&mut self, within: u32) -> Result<(), Halt> {
        let leaders = self.stages.leaders();
        let known: Vec<(Id, Figures)> = self
            .stages
            .trials
            .own()
            .filter(|(_, trial)| !trial.searched.is_empty())
            .map(|(id, trial)| (id, Figures::mean(&trial.searched(SEEDS).as_it_is)))
            .collect();
        let figures: Vec<Figures> = known.iter().map(|(_, figures)| *figures).collect();
        let on_front: Vec<Id> = front(&figures, FRONT).into_iter().map(|place| known[place].0).collect();
        let first = leaders.first().copied();
        let compared = self.compared.iter().map(|(_, id)| *id);
        let finalists = leaders.iter().copied().take(FINALISTS);
        let mut ids: Vec<Id> = first.into_iter().collect();
        let Stages { space, trials, .. } = &mut self.stages;
        for leader in leaders.iter().take(ROOMIER) {
            let longer = space.roomier(&trials.get(*leader).settings.clone(), &trials.config(*leader)?)?;
            ids.extend(longer.into_iter().filter_map(|table| trials.find(table, TriedLoad::AsItIs)));
        }
        ids.extend(compared.chain(finalists));
        self.stages.trials.check_both(&ids, self.plan.fresh, within)?;
        self.choose();
        self.stages.trials.check(&on_front, self.plan.fresh, within)?;
        Ok(())
    }

    /// Takes the best of the trials that have all fresh seeds. Of those that are as good it is the one whose second figure is the best,
    /// and then the one with the fewest settings.
    fn choose(&mut self) {
        let Stages { aim, trials, .. } = &self.stages;
        let all = trials.own().map(|(id, trial)| (id, trial, trials.checked(id)));
        let checked: Vec<(Id, &SettingTrial, SeenFigures)> =
            all.filter(|(_, _, seen)| self.has_all(seen)).collect();
        let best = checked.iter().min_by_key(|(_, _, seen)| aim.rank(seen));
        self.best = best.map(|(id, _, _)| *id);
        self.winner = best.and_then(|(_, _, best)| {
            let alike = checked.iter().filter(|(_, _, seen)| aim.is_as_good(seen, best));
            let place = |(_, trial, seen): &&(Id, &SettingTrial, SeenFigures)| {
                (aim.rank(seen).second(), trial.changes())
            };
            alike.min_by_key(place).map(|(id, _, _)| *id)
        });
    }

    /// Returns true if these are the figures of all fresh seeds, with both loads.
    fn has_all(&self, seen: &SeenFigures) -> bool {
        seen.as_it_is.len() >= self.plan.fresh && seen.longer_holds.len() >= self.plan.fresh
    }

    /// Takes what is simpler and as good: something that is known, or the same with fewer changes.
    fn simplify(&mut self, within: u32) -> Result<(), Halt> {
        let (Some(best), Some(winner)) = (self.best, self.winner) else { return Ok(()) };
        let known = self.compared.iter().map(|(_, id)| *id).find(|id| self.is_as_good(*id, winner, best));
        if known.is_some() {
            self.winner = known;
            return Ok(());
        }
        let mut simplest = winner;
        while let Some(simpler) = self.simpler(simplest, (winner, best), within)? {
            simplest = simpler;
            self.winner = Some(simplest);
        }
        Ok(())
    }

    /// Returns the same settings with fewer changes, if they are as good.
    fn simpler(&mut self, simplest: Id, (winner, best): (Id, Id), within: u32) -> Result<Option<Id>, Halt> {
        let settings = self.stages.trials.get(simplest).settings.clone();
        for table in self.stages.space.simpler(&settings) {
            let Some(id) = self.stages.trials.find(table, TriedLoad::AsItIs) else { continue };
            let is_checked = self.stages.trials.check_both(&[id], self.plan.fresh, within)?;
            if is_checked && self.is_as_good(id, winner, best) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Returns true if a trial reaches the goal as the best one does, and is not dearer than the winner.
    fn is_as_good(&self, this: Id, winner: Id, best: Id) -> bool {
        let Stages { aim, trials, .. } = &self.stages;
        let [this, winner, best] = [this, winner, best].map(|id| trials.checked(id));
        self.has_all(&this) && aim.is_as_good(&this, &best) && !aim.is_dearer(&this, &winner)
    }

    /// Simulates the winner with other waits, queues and pauses, for the front. If one of them is better, it is taken.
    fn look_around(&mut self, within: u32) -> Result<(), Halt> {
        let (Some(winner), Some(best)) = (self.winner, self.best) else { return Ok(()) };
        let Stages { space, trials, .. } = &mut self.stages;
        let around = space.around(&trials.get(winner).settings)?;
        let ids: Vec<Id> =
            around.into_iter().filter_map(|table| trials.find(table, TriedLoad::AsItIs)).collect();
        trials.check_both(&ids, self.plan.fresh, within)?;
        self.choose();
        // What was chosen before was made simpler since, and stays unless it was beaten.
        if self.best == Some(best)
            || self.winner.zip(self.best).is_some_and(|(new, best)| self.is_as_good(winner, new, best))
        {
            self.winner = Some(winner);
        }
        Ok(())
    }

    /// Simulates the winner where the load, or one of its settings, is otherwise.
    fn be_wrong(&mut self) -> Result<(), Halt> {
        let Some(winner) = self.winner else { return Ok(()) };
        let Stages { space, trials, .. } = &mut self.stages;
        let settings = trials.get(winner).settings.clone();
        let config = trials.config(winner)?;
        let loads = TriedLoad::OTHERS.map(|(load, name)| (name.to_owned(), settings.clone(), load));
        let varied = space.varied(&settings, &config)?.into_iter();
        let all = loads.into_iter().chain(varied.map(|(name, table)| (name, table, TriedLoad::AsItIs)));
        for (name, table, load) in all {
            let Some(id) = trials.find(table, load) else { continue };
            if trials.check(&[id], self.plan.fresh, self.plan.all)? {
                self.sensitivity.push((name, id));
            }
        }
        Ok(())
    }

    /// Returns the setting that is recommended: the best so far.
    pub(super) fn recommended(&self) -> Id {
        let leader = || self.stages.leaders().first().copied();
        // Without any figure of the search there are those of the workload as it is.
        self.winner.or_else(leader).unwrap_or_default()
    }
}
