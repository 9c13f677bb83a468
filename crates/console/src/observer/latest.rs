//! The resources that were of interest lately, in bounded memory.

use std::{collections::BTreeMap, time::Duration};

use leasehold::ResourceName;
use tokio::time::Instant;

/// The time for which a resource is looked at after nobody waits for it any more, and after somebody looked at it.
const INTEREST: Duration = Duration::from_secs(60);
/// The largest number of contended resources in one look, and of others that are of interest.
pub(super) const RESOURCES: usize = 100;

/// Resources, each with when it was of interest last.
#[derive(Default)]
pub(super) struct Latest(BTreeMap<ResourceName, Instant>);

impl Latest {
    /// Notes that a resource is of interest. Of too many the one that was so the longest time ago is forgotten.
    pub(super) fn insert(&mut self, name: ResourceName, now: Instant) {
        self.0.insert(name, now);
        if self.0.len() > 2 * RESOURCES {
            let oldest = self.0.iter().min_by_key(|(_, last)| **last).map(|(name, _)| name.clone());
            oldest.into_iter().for_each(|name| {
                self.0.remove(&name);
            });
        }
    }

    /// Forgets what is of interest no more.
    pub(super) fn forget(&mut self, now: Instant) {
        self.0.retain(|_, last| now - *last < INTEREST);
    }

    /// Returns the resources, those of interest last first.
    pub(super) fn latest_first(&self) -> impl Iterator<Item = &ResourceName> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by(|(_, one), (_, other)| other.cmp(one));
        all.into_iter().map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_latest_come_first_whatever_their_names_and_memory_is_bounded() {
        let (mut latest, start) = (Latest::default(), Instant::now());
        let name = |at: usize| ResourceName::new(format!("r/{:04}", 9_999 - at)).unwrap();
        for at in 0..3 * RESOURCES {
            latest.insert(name(at), start + Duration::from_millis(at as u64));
        }
        let names: Vec<_> = latest.latest_first().cloned().collect();
        assert_eq!((names.len(), &names[0]), (2 * RESOURCES, &name(3 * RESOURCES - 1)));
        assert_eq!(names.last(), Some(&name(RESOURCES)));
        latest.forget(start + INTEREST + Duration::from_secs(1));
        assert_eq!(latest.latest_first().count(), 0);
    }
}
