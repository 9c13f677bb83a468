//! Two stores side by side, and the comparison of their answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
    time::Duration,
};

use leasehold::{
    protocol::{Fence, Mode, ResourceName},
    store::{
        Acquired, Acquisition, Holder, HolderState, Inspection, MemoryStore, RedisStore, Refusal, Store,
        StoreError,
    },
};

use super::{
    case::{Case, Op, RESOURCES, name},
    told::Told,
};
use crate::support::{clock::TestClock, redis_server::RedisServer};

/// More than the server's clock moves by itself in a case, and less than the half second.
pub(crate) const SLACK: Duration = Duration::from_millis(400);
/// After this much time nothing is left of any hold.
const LONG_AFTER: Duration = Duration::from_secs(60);

/// What was found to differ, or to be wrong.
pub(crate) type Found = Result<(), String>;

/// Two stores and their times.
pub(crate) struct Pair<'a> {
    server: &'a RedisServer,
    redis: RedisStore,
    clock: Arc<TestClock>,
    memory: MemoryStore,
    /// The fences of the one store by those of the other.
    fences: BTreeMap<Fence, Fence>,
    told: Told,
}

impl<'a> Pair<'a> {
    pub(crate) async fn new(server: &'a RedisServer) -> Self {
        server.command(&["FLUSHALL"]);
        let clock = Arc::new(TestClock::new());
        let memory = MemoryStore::new(clock.clone());
        let redis = RedisStore::open(&server.url()).unwrap();
        let told = Told::listen(&memory, &redis).await;
        Self { server, redis, clock, memory, fences: BTreeMap::new(), told }
    }

    pub(crate) async fn run(&mut self, case: &Case) -> Found {
        for (step, op) in case.ops.iter().enumerate() {
            self.step(case, op).await.map_err(|found| format!("step {step}, {op:?}: {found}"))?;
        }
        self.told.compare(&self.memory, &self.redis).await?;
        self.compare_keys().await?;
        self.pass(LONG_AFTER);
        same(
            Ok(vec![]),
            Ok(self.server.keys().into_iter().filter(|(key, _)| key != "leasehold:fence").collect()),
        )
    }

    async fn step(&mut self, case: &Case, op: &Op) -> Found {
        match *op {
            Op::Acquire(asked, ttl) => {
                self.acquire(case, &Acquisition { ttl, ..case.asked[asked].clone() }).await
            }
            Op::Try(asked, ttl) => {
                self.acquire(case, &Acquisition { ttl, place: None, ..case.asked[asked].clone() }).await
            }
            Op::Renew(asked, ttl) => {
                let hold = &case.asked[asked].hold;
                same(self.memory.renew(hold, ttl).await, self.redis.renew(hold, ttl).await)
            }
            Op::Release(asked, closed_for) => {
                let hold = &case.asked[asked].hold;
                same(self.memory.release(hold, closed_for).await, self.redis.release(hold, closed_for).await)
            }
            Op::IsHeld(asked) => {
                let hold = &case.asked[asked].hold;
                same(self.memory.is_held(hold).await, self.redis.is_held(hold).await)
            }
            Op::Inspect(resource, limit) => self.inspect(&name(resource), limit).await,
            Op::List(limit) => {
                same(self.memory.list(b"job ", limit).await, self.redis.list(b"job ", limit).await)
            }
            Op::ForceRelease(resource) => {
                let name = name(resource);
                same(self.memory.force_release(&name).await, self.redis.force_release(&name).await)
            }
            Op::Pass(time) => {
                self.pass(time);
                Ok(())
            }
        }
    }

    async fn acquire(&mut self, case: &Case, asked: &Acquisition) -> Found {
        match (self.memory.acquire(asked).await, self.redis.acquire(asked).await) {
            (Ok(Acquired::Granted(model)), Ok(Acquired::Granted(real))) => {
                same(Ok(model.holds), Ok(real.holds))?;
                self.compare_fences(model.fence, real.fence)
            }
            (Ok(Acquired::Refused(model)), Ok(Acquired::Refused(real))) => {
                self.compare_refusals(case, asked, &model, &real).await
            }
            (
                Ok(Acquired::Queued { refusal: model, ahead: model_ahead }),
                Ok(Acquired::Queued { refusal: real, ahead }),
            ) => {
                same(Ok(model_ahead), Ok(ahead))?;
                self.compare_refusals(case, asked, &model, &real).await
            }
            (
                Err(StoreError::CapacityMismatch { asked: model_asked, used: model }),
                Err(StoreError::CapacityMismatch { asked, used }),
            ) => {
                // Which of those that end in the same second is named is not told.
                same(Ok((model_asked, capacity(model))), Ok((asked, capacity(used))))
            }
            (model, real) => same(model, real),
        }
    }

    /// The numbers are each store's own, but their order is the same.
    fn compare_fences(&mut self, model: Option<Fence>, real: Option<Fence>) -> Found {
        let (Some(model), Some(real)) = (model, real) else {
            return Err(format!("without a fence: {model:?}, {real:?}"));
        };
        if let Some(before) = self.fences.insert(model, real) {
            return same(Ok(before), Ok(real));
        }
        let (earlier, later) =
            (self.fences.range(..model).next_back(), self.fences.range((Excluded(model), Unbounded)).next());
        if earlier.is_some_and(|(_, &earlier)| earlier >= real)
            || later.is_some_and(|(_, &later)| later <= real)
        {
            return Err(format!("{real} for {model} is not between {earlier:?} and {later:?}"));
        }
        Ok(())
    }

    /// Of those that end, or open, in the same second each store may name another.
    async fn compare_refusals(
        &mut self,
        case: &Case,
        asked: &Acquisition,
        model: &Refusal,
        real: &Refusal,
    ) -> Found {
        if capacity(asked.mode).is_some() && capacity(real.by.mode).is_some() {
            about(model.by.remaining, real.by.remaining)?;
        } else {
            about(model.remaining, real.remaining)?;
        }
        let closed = real.remaining - real.by.remaining;
        if model.by.token == real.by.token {
            same(Ok(model.remaining - model.by.remaining), Ok(closed))?;
        } else {
            let named = case.asked.iter().find(|asked| asked.hold.token.prefix() == real.by.token);
            let lock_delay = named.map_or(Duration::ZERO, |asked| asked.lock_delay);
            // What was handed over and not yet taken up has none.
            let delayed = real.by.state == HolderState::Holding && closed == lock_delay;
            same(Ok(true), Ok(delayed || closed.is_zero()))?;
        }
        let all =
            self.memory.inspect(&asked.hold.resource, usize::MAX).await.map_err(|error| error.to_string())?;
        self.find(&all, &real.by)
    }

    async fn inspect(&mut self, resource: &ResourceName, limit: usize) -> Found {
        let all = self.memory.inspect(resource, usize::MAX).await.map_err(|error| error.to_string())?;
        let real = self.redis.inspect(resource, limit).await.map_err(|error| error.to_string())?;
        same(Ok((all.total, all.waiting)), Ok((real.total, real.waiting)))?;
        same(Ok(all.holders.len().min(limit)), Ok(real.holders.len()))?;
        for (model, real) in all.holders.iter().zip(&real.holders) {
            about(model.remaining, real.remaining)?;
            self.find(&all, real)?;
        }
        let different: BTreeSet<_> = real.holders.iter().map(|holder| holder.token).collect();
        same(Ok(different.len()), Ok(real.holders.len()))
    }

    fn find(&mut self, all: &Inspection, real: &Holder) -> Found {
        let Some(model) = all.holders.iter().find(|holder| holder.token == real.token) else {
            return Err(format!("{real:?} is not among {:?}", all.holders));
        };
        about(model.remaining, real.remaining)?;
        self.compare_fences(model.fence, real.fence)?;
        let expected = Holder { fence: real.fence, remaining: real.remaining, ..model.clone() };
        same(Ok(&expected), Ok(real))
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.server.advance(time);
    }

    /// Every key has an end, and belongs to a resource that is held or waited for, or is the counter of fences.
    async fn compare_keys(&self) -> Found {
        let (mut held, mut waited_for) = (BTreeSet::new(), BTreeSet::new());
        for (key, left) in self.server.keys() {
            if left <= 0 {
                return Err(format!("{key} has no end"));
            }
            let Some((encoded, part)) = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')) else {
                same(Ok("leasehold:fence"), Ok(key.as_str()))?;
                continue;
            };
            let resources = if [":q", ":w", ":p"].contains(&part) { &mut waited_for } else { &mut held };
            resources.insert(ResourceName::decode(encoded).map_err(|error| error.to_string())?);
        }
        let listing = self.memory.list(b"", usize::MAX).await.map_err(|error| error.to_string())?;
        same(Ok(listing.resources), Ok(held.into_iter().collect()))?;
        for name in (0..RESOURCES).map(name) {
            let found = self.memory.inspect(&name, 0).await.map_err(|error| error.to_string())?;
            // Where somebody waited longest who is gone, the keys stay that long.
            if found.waiting > 0 && !waited_for.contains(&name) {
                return Err(format!("{} wait for {name}, and there is no key", found.waiting));
            }
        }
        Ok(())
    }
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

fn about(model: Duration, real: Duration) -> Found {
    let near = real <= model && real + SLACK >= model;
    if near { Ok(()) } else { Err(format!("{real:?} is left in redis, and {model:?} in memory")) }
}
