//! The classes of requests that the application names, each with counters of its own.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    event::CountedEvent,
    tally::{RunningSummary, Summary},
};
use crate::core::{InvalidValue, ensure};

/// The largest number of classes, the one for all that come later included.
const CLASSES: usize = 64;

/// The class of requests that came when there were enough classes.
const OTHER: &str = "other";

pub(super) const NONE: &str = "none";

/// A class of requests, by its place among the classes of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class(u8);

impl Class {
    /// Checks the name of a class, which becomes a label of metrics.
    pub(crate) fn check(name: &str) -> Result<(), InvalidValue> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_.:-".contains(&b);
        let is_label = (1..=64).contains(&name.len()) && name.bytes().all(plain);
        let allowed = "1 to 64 of A-Z a-z 0-9 _ . : -, and neither none nor other";
        ensure(is_label && ![OTHER, NONE].contains(&name), "class", format_args!("{name:?}"), allowed)
    }

    pub(super) const fn place(self) -> usize {
        self.0 as usize
    }
}

/// The classes of a manager. Their number is bounded, so that a mistake in naming them costs no memory.
#[derive(Default)]
pub(super) struct Classes {
    places: BTreeMap<Arc<str>, Class>,
    tallies: Vec<(Arc<str>, RunningSummary)>,
}

impl Classes {
    /// Returns the class of this name. The first request of a class makes it.
    pub(super) fn named(&mut self, name: &str) -> Class {
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

    pub(super) fn name(&self, class: Class) -> Option<&Arc<str>> {
        self.tallies.get(class.place()).map(|(name, _)| name)
    }

    pub(super) fn note(&mut self, class: Class, event: &CountedEvent) {
        if let Some((_, tally)) = self.tallies.get_mut(class.place()) {
            tally.note(event);
        }
    }

    pub(super) fn summaries(&self) -> BTreeMap<String, Summary> {
        self.tallies.iter().map(|(name, tally)| (name.to_string(), tally.summary())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_bounded_and_the_rest_is_one_more() {
        let mut classes = Classes::default();
        for number in 0..1_000 {
            let class = classes.named(&number.to_string());
            classes.note(class, &CountedEvent::Requested);
        }
        let summaries = classes.summaries();
        assert_eq!(summaries.len(), CLASSES);
        assert_eq!((summaries["0"].requests, summaries["62"].requests), (1, 1));
        assert_eq!(summaries[OTHER].requests, 1_000 - 63);
    }

    #[test]
    fn a_name_that_is_no_label_is_refused() {
        for wrong in ["", "two words", "ä", &"x".repeat(65), NONE, OTHER] {
            assert_eq!(Class::check(wrong).unwrap_err().field, "class");
        }
        assert_eq!(Class::check("orders.pay:v2-a_B"), Ok(()));
    }
}
