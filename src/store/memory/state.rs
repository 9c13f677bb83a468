//! The state of the store.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::Arc,
    time::Duration,
};

use crate::{
    core::{Fence, Moment, ResourceName},
    store::{
        Acquired, AcquiredAll, Acquisition, HandedOff, Hold, Incarnation, Listing, Names, Recovered, Report,
        StoreError, Walk,
        memory::{
            registers::Registers,
            resource::Resource,
            turn::{Inboxes, VerbTurn},
        },
    },
};

/// A fault that a test has asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The verb is not executed.
    Fail,
    /// The verb is executed, but its answer gets lost.
    LoseReply,
    /// The verb is executed after this pause.
    Stall(Duration),
}

pub(super) struct MemoryState {
    /// The resources that are held or waited for, and some that nobody has asked for since they became free.
    pub(super) resources: BTreeMap<ResourceName, Resource>,
    last_fence: u64,
    swept: Option<ResourceName>,
    pub(super) registers: Registers,
    pub(super) inboxes: Inboxes,
    pub(super) faults: VecDeque<Fault>,
    started: Moment,
    restarts: u64,
    pub(super) recovered: Option<Recovered>,
}

impl MemoryState {
    pub(super) fn started(now: Moment) -> Self {
        Self {
            resources: BTreeMap::new(),
            last_fence: 0,
            swept: None,
            registers: Registers::default(),
            inboxes: Inboxes::default(),
            faults: VecDeque::new(),
            started: now,
            restarts: 0,
            recovered: None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.resources.clear();
        self.registers.clear();
    }

    /// Drops what a server loses with its memory.
    pub(super) fn restart(&mut self, now: Moment) {
        self.clear();
        self.last_fence = 0;
        self.recovered = None;
        self.started = now;
        self.restarts += 1;
    }

    pub(super) fn incarnation(&self, now: Moment) -> Incarnation {
        Incarnation { id: self.restarts.to_string(), age: self.started.elapsed(now), durable: false }
    }

    pub(super) fn report(&self, now: Moment) -> Report {
        Report {
            incarnation: self.incarnation(now),
            recovered: self.recovered.clone(),
            last: Fence::new(self.last_fence),
            clock: Fence::new(now.micros()),
        }
    }

    pub(super) fn teach(&mut self, lesson: &Recovered) {
        self.last_fence = self.last_fence.max(lesson.fence.get());
        let before = self.recovered.take().filter(|before| before.incarnation == lesson.incarnation);
        let fence = before.map_or(lesson.fence, |before| before.fence.max(lesson.fence));
        self.recovered = Some(Recovered { fence, ..lesson.clone() });
    }

    /// Runs a verb on a resource, which may be new and is brought up to `now` first. If nothing is left of the resource
    /// afterwards, it is not kept.
    pub(super) fn with<T>(
        &mut self,
        name: &ResourceName,
        now: Moment,
        verb: impl FnOnce(&mut Resource, &mut VerbTurn<'_>) -> T,
    ) -> T {
        let mut turn = VerbTurn {
            now,
            last_fence: &mut self.last_fence,
            least_fence: None,
            inboxes: &self.inboxes,
            steps: 0,
            found_unclaimed: false,
        };
        let mut new = None;
        let resource = self.resources.get_mut(name).unwrap_or_else(|| new.insert(Resource::default()));
        resource.settle(now);
        let answer = verb(resource, &mut turn);
        match (resource.is_removable(), new) {
            (false, Some(new)) => drop(self.resources.insert(name.clone(), new)),
            (true, None) => drop(self.resources.remove(name)),
            _ => {}
        }
        answer
    }

    /// Acquires a resource. A new grant has at least the [proposed](VerbTurn::propose) fence.
    pub(super) fn acquire(
        &mut self,
        asked: &Acquisition,
        proposed: Option<Fence>,
        now: Moment,
    ) -> Result<Acquired, StoreError> {
        self.sweep(now);
        self.with(&asked.hold.resource, now, |resource, turn| {
            turn.propose(proposed);
            resource.acquire(asked, turn)
        })
    }

    /// Hands a resource off. The fence is that of [`acquire`](Self::acquire).
    pub(super) fn hand_off(
        &mut self,
        (from, to): (&Hold, &Acquisition),
        overtake: bool,
        proposed: Option<Fence>,
        now: Moment,
    ) -> HandedOff {
        self.sweep(now);
        self.with(&from.resource, now, |resource, turn| {
            turn.propose(proposed);
            resource.hand_off(from, to, overtake, turn)
        })
    }

    pub(super) fn acquire_all(
        &mut self,
        asked: &[Arc<Acquisition>],
        now: Moment,
    ) -> Result<AcquiredAll, StoreError> {
        self.sweep(now);
        let (mut grants, mut granted_now) = (Vec::with_capacity(asked.len()), Vec::new());
        for (which, asked) in asked.iter().enumerate() {
            let hold = &asked.hold;
            let (held_before, answer) = self.with(&hold.resource, now, |resource, turn| {
                (resource.is_held(hold), resource.acquire(&asked.as_try(), turn))
            });
            let kept_out = match answer {
                Ok(Acquired::Granted(grant)) => {
                    grants.push(grant);
                    granted_now.extend((!held_before).then_some(hold));
                    continue;
                }
                Ok(Acquired::Refused(refusal)) => AcquiredAll::Refused { which, refusal },
                Ok(other) => unreachable!("a try was answered {other:?}"),
                Err(error) => AcquiredAll::Failed { which, error },
            };
            for hold in granted_now.into_iter().rev() {
                // It was granted at this very moment, so the release cannot find anything new.
                let _released = self
                    .with(&hold.resource, now, |resource, turn| resource.release(hold, Duration::ZERO, turn));
            }
            return Ok(kept_out);
        }
        Ok(AcquiredAll::Granted(grants))
    }

    pub(super) fn list(&mut self, walk: &Walk, now: Moment) -> Listing {
        self.resources.retain(|_, resource| {
            resource.settle(now);
            !resource.is_removable()
        });
        let such = |is_one: fn(&Resource) -> bool| {
            let resources = self.resources.iter().filter(move |(_, resource)| is_one(resource));
            resources.map(|(name, _)| name)
        };
        match walk.names {
            Names::Held => found(walk, such(|resource| !resource.is_free()), self.resources.len()),
            Names::WaitedFor => found(walk, such(Resource::is_waited_for), self.resources.len()),
            Names::Registers => {
                let names = self.registers.names(now);
                found(walk, names.iter(), names.len())
            }
        }
    }

    /// Cleans up the next two resources in order of name, so that those that nobody asks for any more do not pile up:
    /// each new one pays for more than itself.
    pub(super) fn sweep(&mut self, now: Moment) {
        const AT_ONCE: usize = 2;
        for _ in 0..AT_ONCE {
            let after = self.swept.take().map_or(Bound::Unbounded, Bound::Excluded);
            let Some((name, resource)) = self.resources.range_mut((after, Bound::Unbounded)).next() else {
                return;
            };
            resource.settle(now);
            let (name, removable) = (name.clone(), resource.is_removable());
            if removable {
                self.resources.remove(&name);
            }
            self.swept = Some(name);
        }
    }
}

/// Returns those of these names that a walk is after, of which it has looked at so many.
fn found<'a>(walk: &Walk, names: impl Iterator<Item = &'a ResourceName>, walked: usize) -> Listing {
    let mut matching = names.filter(|name| walk.matches(name));
    let resources = matching.by_ref().take(walk.limit).cloned().collect();
    Listing { resources, complete: matching.next().is_none(), cut_short: false, walked: walked as u64 }
}
