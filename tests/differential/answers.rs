//! What the memory store answered, and how an answer of the Redis store may differ from it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    ops::Bound::{Excluded, Unbounded},
    time::Duration,
};

use leasehold::{
    Fence, Holder, HolderState, Inspection, MemoryStore, Mode, ResourceName, StoreError, Waiter,
    store::{Acquired, Acquisition, Refusal, Store},
};

use super::case::Case;

/// More than the server's clock moves by itself in a case, and less than the half second.
pub(crate) const SLACK: Duration = Duration::from_millis(400);

/// What was found to differ, or to be wrong.
pub(crate) type Found = Result<(), String>;

/// What an acquisition was answered by the memory store, and who held the resource then.
pub(crate) struct Expected {
    asked: Acquisition,
    answer: Result<Acquired, StoreError>,
    then: Inspection,
}

impl Expected {
    pub(crate) async fn of(
        memory: &MemoryStore,
        asked: Acquisition,
        answer: Result<Acquired, StoreError>,
    ) -> Result<Self, String> {
        let then = memory.inspect(&asked.hold.resource, usize::MAX).await;
        Ok(Self { asked, answer, then: then.map_err(|error| error.to_string())? })
    }

    /// The answer of the memory store, and what it leaves.
    pub(crate) async fn from(memory: &MemoryStore, asked: Acquisition) -> Result<Self, String> {
        let answer = memory.acquire(&asked).await;
        Self::of(memory, asked, answer).await
    }
}

/// The fences that the memory store gave out for each resource, and those of the Redis store beside them.
#[derive(Default)]
pub(crate) struct Fences(BTreeMap<ResourceName, BTreeMap<Fence, Fence>>);

impl Fences {
    pub(crate) fn compare_answers(
        &mut self,
        case: &Case,
        expected: Expected,
        real: Result<Acquired, StoreError>,
    ) -> Found {
        let Expected { asked, answer, then } = expected;
        match (answer, real) {
            (Ok(Acquired::Granted(model)), Ok(Acquired::Granted(real))) => {
                same(Ok((model.holds, model.slot)), Ok((real.holds, real.slot)))?;
                self.compare(&asked.hold.resource, model.fence, real.fence)
            }
            (Ok(Acquired::Refused(model)), Ok(Acquired::Refused(real))) => {
                compare_refusals(case, &asked, &model, &real)?;
                self.find(&asked.hold.resource, &then, &real.by).map(drop)
            }
            (
                Ok(Acquired::Queued { refusal: model, ahead: model_ahead }),
                Ok(Acquired::Queued { refusal: real, ahead }),
            ) => {
                same(Ok(model_ahead), Ok(ahead))?;
                compare_refusals(case, &asked, &model, &real)?;
                self.find(&asked.hold.resource, &then, &real.by).map(drop)
            }
            (
                Err(StoreError::ModeMismatch { asked: model_asked, used: model }),
                Err(StoreError::ModeMismatch { asked, used }),
            ) => {
                // Which of those that end in the same second is named is not told, nor then its capacity.
                same(Ok((model_asked, capacity(model).is_some())), Ok((asked, capacity(used).is_some())))
            }
            (model, real) => same(model, real),
        }
    }

    pub(crate) fn compare_inspections(
        &mut self,
        resource: &ResourceName,
        all: &Inspection,
        real: &Inspection,
        limit: usize,
    ) -> Found {
        same(Ok((all.total, all.waiting, all.capacity)), Ok((real.total, real.waiting, real.capacity)))?;
        same(Ok(all.holders.len().min(limit)), Ok(real.holders.len()))?;
        for (model, real) in all.holders.iter().zip(&real.holders) {
            about(model.remaining, real.remaining)?;
            let model = self.find(resource, all, real)?;
            // What plain commands wrote tells the time by the client's clock, which does not move here, and a repeat writes a new one.
            if real.mode != Mode::Exclusive || real.owner.is_some() {
                since(model.held_for, real.held_for)?;
            }
        }
        same(Ok(all.waiters.len().min(limit)), Ok(real.waiters.len()))?;
        for (model, real) in all.waiters.iter().zip(&real.waiters) {
            since(model.waited, real.waited)?;
            let fields =
                |waiter: &Waiter| (waiter.token, waiter.mode, waiter.owner.clone(), waiter.metadata.clone());
            same(Ok(fields(model)), Ok(fields(real)))?;
        }
        let different: BTreeSet<_> = real.holders.iter().map(|holder| holder.token).collect();
        same(Ok(different.len()), Ok(real.holders.len()))
    }

    fn find<'a>(
        &mut self,
        resource: &ResourceName,
        all: &'a Inspection,
        real: &Holder,
    ) -> Result<&'a Holder, String> {
        let Some(model) = all.holders.iter().find(|holder| holder.token == real.token) else {
            return Err(format!("{real:?} is not among {:?}", all.holders));
        };
        about(model.remaining, real.remaining)?;
        // The fence of what was taken by plain commands is known to its holder alone.
        if real.fence.is_some() {
            self.compare(resource, model.fence, real.fence)?;
        }
        // A refusal does not tell it.
        let Holder { fence, remaining, held_for, .. } = *real;
        let expected = Holder { fence, remaining, held_for, ..model.clone() };
        same(Ok(&expected), Ok(real)).map(|()| model)
    }

    /// The numbers are each store's own, but those of one resource are in the same order. A repeat may have a larger one.
    fn compare(&mut self, resource: &ResourceName, model: Option<Fence>, real: Option<Fence>) -> Found {
        let (Some(model), Some(real)) = (model, real) else {
            return Err(format!("without a fence: {model:?}, {real:?}"));
        };
        let fences = self.0.entry(resource.clone()).or_default();
        if let Some(before) = fences.insert(model, real).filter(|before| *before > real) {
            return Err(format!("{real} for {model}, which had {before} before"));
        }
        let (earlier, later) =
            (fences.range(..model).next_back(), fences.range((Excluded(model), Unbounded)).next());
        if earlier.is_some_and(|(_, &earlier)| earlier >= real)
            || later.is_some_and(|(_, &later)| later <= real)
        {
            return Err(format!("{real} for {model} is not between {earlier:?} and {later:?}"));
        }
        Ok(())
    }
}

/// Of those that end, or open, in the same second each store may name another.
fn compare_refusals(case: &Case, asked: &Acquisition, model: &Refusal, real: &Refusal) -> Found {
    if capacity(asked.mode).is_some() && capacity(real.by.mode).is_some() {
        about(model.by.remaining, real.by.remaining)?;
    } else {
        about(model.remaining, real.remaining)?;
    }
    let closed = real.remaining - real.by.remaining;
    if model.by.token == real.by.token {
        return same(Ok(model.remaining - model.by.remaining), Ok(closed));
    }
    let named = case.asked.iter().find(|asked| asked.hold.token.prefix() == real.by.token);
    let lock_delay = named.map_or(Duration::ZERO, |asked| asked.lock_delay);
    // What was handed over and not yet taken up has none.
    let delayed = real.by.state == HolderState::Holding && closed == lock_delay;
    same(Ok(true), Ok(delayed || closed.is_zero()))
}

fn capacity(mode: Mode) -> Option<u32> {
    match mode {
        Mode::Permits { of, .. } => Some(of.get()),
        _ => None,
    }
}

pub(crate) fn same<T: Debug>(model: Result<T, StoreError>, real: Result<T, StoreError>) -> Found {
    let (model, real) = (format!("{model:?}"), format!("{real:?}"));
    if model == real { Ok(()) } else { Err(format!("memory: {model}\n redis: {real}")) }
}

/// A time that has passed: the server's clock moves by itself, and fences may be a little ahead of it.
fn since(model: Option<Duration>, real: Option<Duration>) -> Found {
    const AHEAD: Duration = Duration::from_millis(2);
    let near = match (model, real) {
        (Some(model), Some(real)) => real + AHEAD >= model && real <= model + SLACK,
        (None, None) => true,
        _ => false,
    };
    if near { Ok(()) } else { Err(format!("{real:?} have passed in redis, and {model:?} in memory")) }
}

fn about(model: Duration, real: Duration) -> Found {
    let near = real <= model && real + SLACK >= model;
    if near { Ok(()) } else { Err(format!("{real:?} is left in redis, and {model:?} in memory")) }
}
