//! All that the store keeps.

use std::{collections::BTreeMap, ops::Bound};

use super::{faults::Faults, inboxes::Inboxes, resource::Resource, turn::Turn};
use crate::{
    protocol::{Moment, ResourceName},
    store::Listing,
};

#[derive(Default)]
pub(super) struct State {
    /// Those that are held or waited for, and some that nobody has asked for since they became free.
    pub(super) resources: BTreeMap<ResourceName, Resource>,
    last_fence: u64,
    swept: Option<ResourceName>,
    pub(super) inboxes: Inboxes,
    pub(super) faults: Faults,
}

impl State {
    /// Runs a verb on a resource that may be new; one of which nothing is left afterwards is not kept.
    pub(super) fn with<T>(
        &mut self,
        name: &ResourceName,
        now: Moment,
        verb: impl FnOnce(&mut Resource, &mut Turn<'_>) -> T,
    ) -> T {
        let mut turn = Turn::new(now, &mut self.last_fence, &self.inboxes);
        let Some(resource) = self.resources.get_mut(name) else {
            let mut resource = Resource::default();
            let answer = verb(&mut resource, &mut turn);
            if !resource.is_forgotten() {
                self.resources.insert(name.clone(), resource);
            }
            return answer;
        };
        let answer = verb(resource, &mut turn);
        if resource.is_forgotten() {
            self.resources.remove(name);
        }
        answer
    }

    pub(super) fn list(&mut self, prefix: &[u8], limit: usize, now: Moment) -> Listing {
        self.resources.retain(|_, resource| {
            resource.settle(now);
            !resource.is_forgotten()
        });
        let taken = self.resources.iter().filter(|(_, resource)| !resource.is_free()).map(|(name, _)| name);
        let mut matching = taken.filter(|name| name.as_bytes().starts_with(prefix));
        let resources = matching.by_ref().take(limit).cloned().collect();
        Listing { resources, complete: matching.next().is_none() }
    }

    /// Looks at the next two resources in line, so that those that nobody asks for any more do not pile up: each new
    /// one pays for more than itself.
    pub(super) fn sweep(&mut self, now: Moment) {
        const AT_ONCE: usize = 2;
        for _ in 0..AT_ONCE {
            let after = self.swept.take().map_or(Bound::Unbounded, Bound::Excluded);
            let Some((name, resource)) = self.resources.range_mut((after, Bound::Unbounded)).next() else {
                return;
            };
            resource.settle(now);
            let (name, forgotten) = (name.clone(), resource.is_forgotten());
            if forgotten {
                self.resources.remove(&name);
            }
            self.swept = Some(name);
        }
    }
}
