//! The latest changes that were made from this console, as the pages show them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use leasehold::ResourceName;
use tokio::time::Instant;

use super::model::ChangeView;

/// The largest number of changes that are remembered.
const MOST: usize = 50;

/// The latest changes.
#[derive(Clone, Default)]
pub(crate) struct Changes(Arc<Mutex<VecDeque<Line>>>);

struct Line {
    number: u64,
    name: ResourceName,
    what: String,
    who: String,
    began: Instant,
    outcome: Option<String>,
}

impl Changes {
    /// Notes a change that begins, and returns its number.
    pub(crate) fn add(&self, name: ResourceName, what: String, who: String) -> u64 {
        let mut lines = self.lines();
        let number = lines.back().map_or(0, |line| line.number + 1);
        lines.push_back(Line { number, name, what, who, began: Instant::now(), outcome: None });
        if lines.len() > MOST {
            lines.pop_front();
        }
        number
    }

    /// Notes the outcome of a change.
    pub(crate) fn end(&self, number: u64, outcome: String) {
        for line in self.lines().iter_mut().filter(|line| line.number == number) {
            line.outcome = Some(outcome.clone());
        }
    }

    /// Returns the latest changes to what has this name, the latest first.
    pub(crate) fn of(&self, name: &ResourceName) -> Vec<ChangeView> {
        let view = |line: &Line| ChangeView {
            what: line.what.clone(),
            who: line.who.clone(),
            ago: line.began.elapsed(),
            outcome: line.outcome.clone(),
        };
        self.lines().iter().rev().filter(|line| line.name == *name).map(view).collect()
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<Line>> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
