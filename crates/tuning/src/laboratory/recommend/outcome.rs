//! The outcome of a search, as it is told.

use serde::Serialize;
use toml::{Table, Value};

use super::{
    course::{Course, FRONT},
    figures::Figures,
    front::{front, simple},
    goal::SeenFigures,
    stages::Stages,
    trials::{Id, SettingTrial},
};

/// A setting, and what was predicted for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Prediction {
    /// The name, for people.
    pub name: String,
    /// The settings that differ from the default, as a fragment of `config.toml`.
    pub config: String,
    /// The means of the figures.
    pub figures: Figures,
    /// The number of seeds that they are the means of.
    pub seeds: usize,
    /// The number of seeds with which all limits were kept.
    pub within_limits: usize,
    /// The number of seeds with which it was simulated where locks are held for half as long again.
    pub longer_holds_seeds: usize,
    /// The number of these with which all limits were kept.
    pub longer_holds_within_limits: usize,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recommendation {
    /// The best setting.
    pub best: Prediction,
    /// The limits, with the one of success that was added.
    pub limits: Vec<String>,
    /// True if the setting keeps all limits with each seed. Else it is the one that comes nearest.
    pub is_within_limits: bool,
    /// True if the search came to its end. If it was stopped, the setting is the best so far, and may have changes that do not
    /// matter.
    pub is_complete: bool,
    /// The settings of the workload as it is, the default, and the presets.
    pub compared: Vec<Prediction>,
    /// The same setting where it, or the load, is not as it was thought to be.
    pub sensitivity: Vec<Prediction>,
    /// The settings that no other one beats in success, wait and the server's time together, from the shortest wait to the
    /// longest.
    pub front: Vec<Prediction>,
    /// The number of simulations that were made.
    pub simulations: u32,
}

impl Course<'_> {
    /// Returns the recommendation, or the best so far.
    pub(super) fn recommendation(&self, is_complete: bool) -> Recommendation {
        let Stages { aim, trials, .. } = &self.stages;
        let best = self.recommended();
        let named = |all: &[(String, Id)]| all.iter().map(|(name, id)| self.prediction(name, *id)).collect();
        let compared: Vec<Prediction> = named(&self.compared);
        let best = self.prediction("recommended", best);
        Recommendation {
            limits: aim.limits.iter().map(ToString::to_string).collect(),
            is_within_limits: best.seeds > 0 && best.within_limits == best.seeds,
            is_complete,
            best,
            compared: compared.into_iter().filter(|it| it.seeds > 0).collect(),
            sensitivity: named(&self.sensitivity),
            front: self.front(),
            simulations: trials.progress.done,
        }
    }

    /// Returns the front of all settings that have as many fresh seeds as are made, or as many of the search as any has.
    fn front(&self) -> Vec<Prediction> {
        let trials = &self.stages.trials;
        let of = |trial: &SettingTrial| (trial.fresh.len().min(self.plan.fresh), trial.searched.len());
        let most = trials.own().map(|(_, trial)| of(trial)).max().unwrap_or_default();
        let counts =
            |trial: &SettingTrial| if most.0 > 0 { of(trial).0 == most.0 } else { of(trial).1 == most.1 };
        let ids: Vec<Id> = trials.own().filter(|(_, trial)| counts(trial)).map(|(id, _)| id).collect();
        let figures =
            |ids: &[Id]| ids.iter().map(|id| Figures::mean(&self.seen(*id).as_it_is)).collect::<Vec<_>>();
        let changes: Vec<usize> = ids.iter().map(|id| trials.get(*id).changes()).collect();
        let ids: Vec<Id> = simple(&figures(&ids), &changes).into_iter().map(|place| ids[place]).collect();
        let name = |id: Id| in_one_line(&trials.get(id).settings);
        front(&figures(&ids), FRONT)
            .into_iter()
            .map(|place| self.prediction(&name(ids[place]), ids[place]))
            .collect()
    }

    fn prediction(&self, name: &str, id: Id) -> Prediction {
        let Stages { aim, trials, .. } = &self.stages;
        let SeenFigures { as_it_is, longer_holds } = self.seen(id);
        let within_limits = |each: &[Figures]| each.iter().filter(|figures| aim.is_met(figures)).count();
        Prediction {
            name: name.to_owned(),
            config: trials.get(id).settings.to_string(),
            figures: Figures::mean(&as_it_is),
            seeds: as_it_is.len(),
            within_limits: within_limits(&as_it_is),
            longer_holds_seeds: longer_holds.len(),
            longer_holds_within_limits: within_limits(&longer_holds),
        }
    }

    /// Returns the figures of a trial: of fresh seeds, if it has any.
    fn seen(&self, id: Id) -> SeenFigures {
        let trials = &self.stages.trials;
        let trial = trials.get(id);
        if trial.fresh.is_empty() { trial.searched(trial.searched.len()) } else { trials.checked(id) }
    }
}

/// Formats settings as on a command line; the default is called so.
fn in_one_line(settings: &Table) -> String {
    let keys = settings.iter().flat_map(|(section, keys)| {
        let keys = keys.as_table().into_iter().flatten();
        keys.map(move |(key, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            format!("{section}.{key}={value}")
        })
    });
    let line = keys.collect::<Vec<_>>().join(" ");
    if line.is_empty() { "default".to_owned() } else { line }
}
