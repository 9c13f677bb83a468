//! The outcome of a search, as it is told.

use toml::{Table, Value};

use super::{
    Prediction, Recommendation,
    course::{Course, FRONT},
    figures::Figures,
    front::{front, simple},
    stages::Stages,
    trials::{Id, Trial},
};

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

    /// Returns the front of all settings that have as many fresh seeds as any has, or as many of the search.
    fn front(&self) -> Vec<Prediction> {
        let trials = &self.stages.trials;
        let of = |trial: &Trial| (trial.fresh.len(), trial.searched.len());
        let most = trials.own().map(|(_, trial)| of(trial)).max().unwrap_or_default();
        let counts = |trial: &Trial| if most.0 > 0 { of(trial).0 == most.0 } else { of(trial).1 == most.1 };
        let ids: Vec<Id> = trials.own().filter(|(_, trial)| counts(trial)).map(|(id, _)| id).collect();
        let figures =
            |ids: &[Id]| ids.iter().map(|id| Figures::mean(seen(trials.get(*id)))).collect::<Vec<_>>();
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
        let trial = trials.get(id);
        let each = seen(trial);
        Prediction {
            name: name.to_owned(),
            config: trial.settings.to_string(),
            figures: Figures::mean(each),
            seeds: each.len(),
            within_limits: each.iter().filter(|figures| aim.is_met(figures)).count(),
        }
    }
}

/// Returns the figures of a trial: of fresh seeds, if it has any.
fn seen(trial: &Trial) -> &[Figures] {
    if trial.fresh.is_empty() { &trial.searched } else { &trial.fresh }
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
