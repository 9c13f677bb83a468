//! The counters of each class of requests.

use std::{collections::BTreeMap, sync::Arc};

use super::tally::{RunningSummary, Summary};
use crate::listeners::event::{Class, LockEvent, OTHER};

/// The largest number of classes, the one for all that come later included.
const CLASSES: usize = 64;

/// The classes of a manager. Their number is bounded, so that a mistake in naming them costs no memory.
#[derive(Clone, Default)]
pub(crate) struct Classes {
    places: BTreeMap<Arc<str>, Class>,
    tallies: Vec<(Arc<str>, RunningSummary)>,
}

impl Classes {
    /// Returns the class of this name. The first request of a class makes it.
    pub(crate) fn named(&mut self, name: &str) -> Class {
        if let Some(class) = self.places.get(name) {
            return *class;
        }
        if self.tallies.len() + 1 >= CLASSES && name != OTHER {
            return self.named(OTHER);
        }
        let name: Arc<str> = name.into();
        let class = Class(self.tallies.len() as u8);
        self.tallies.push((Arc::clone(&name), RunningSummary::default()));
        self.places.insert(name, class);
        class
    }

    pub(crate) fn name(&self, class: Class) -> Option<&Arc<str>> {
        self.tallies.get(class.place()).map(|(name, _)| name)
    }

    pub(super) fn note(&mut self, class: Class, event: &LockEvent<'_>) {
        if let Some((_, tally)) = self.tallies.get_mut(class.place()) {
            tally.note(event);
        }
    }

    #[cfg(feature = "actix-web")]
    pub(super) fn add(&mut self, other: &Self) {
        for (name, theirs) in &other.tallies {
            let ours = self.named(name);
            self.tallies[ours.place()].1.add(theirs);
        }
    }

    pub(super) fn summaries(&self) -> BTreeMap<String, Summary> {
        self.tallies.iter().map(|(name, tally)| (name.to_string(), tally.summary())).collect()
    }
}
