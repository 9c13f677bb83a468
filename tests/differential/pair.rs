//! Two stores side by side, and the comparison of their answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
    time::Duration,
};

use leasehold::{
    protocol::{Fence, Mode, ResourceName},
    store::{
        Acquired, Acquisition, Grant, Holder, HolderState, Inspection, MemoryStore, RedisStore, Refusal,
        Store, StoreError,
    },
};

use super::case::{Case, Op, name};
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
}

impl<'a> Pair<'a> {
    pub(crate) fn new(server: &'a RedisServer) -> Self {
        server.command(&["FLUSHALL"]);
        let clock = Arc::new(TestClock::new());
        let memory = MemoryStore::new(clock.clone());
        let redis = RedisStore::open(&server.url()).unwrap();
        Self { server, redis, clock, memory, fences: BTreeMap::new() }
    }

    pub(crate) async fn run(&mut self, case: &Case) -> Found {
        for (step, op) in case.ops.iter().enumerate() {
            self.step(case, op).await.map_err(|found| format!("step {step}, {op:?}: {found}"))?;
        }
        self.compare_keys().await?;
        self.pass(LONG_AFTER);
        self.compare_keys().await
    }

    async fn step(&mut self, case: &Case, op: &Op) -> Found {
        match *op {
            Op::Acquire(asked, ttl) => {
                self.acquire(case, &Acquisition { ttl, ..case.asked[asked].clone() }).await
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
                self.compare_fences(model, real)
            }
            (Ok(Acquired::Refused(model)), Ok(Acquired::Refused(real))) => {
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
    fn compare_fences(&mut self, model: Grant, real: Grant) -> Found {
        let (Some(model), Some(real)) = (model.fence, real.fence) else {
            return Err(format!("a grant without a fence: {model:?}, {real:?}"));
        };
        if let Some(before) = self.fences.get(&model) {
            return same(Ok(*before), Ok(real));
        }
        let last = self.fences.last_key_value();
        if last.is_some_and(|(&model_last, &real_last)| model <= model_last || real <= real_last) {
            return Err(format!("a new fence is not the largest: {model} and {real} after {last:?}"));
        }
        self.fences.insert(model, real);
        Ok(())
    }

    /// Of those that end, or open, in the same second each store may name another.
    async fn compare_refusals(
        &self,
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
        let named = case.asked.iter().find(|asked| asked.hold.token.prefix() == real.by.token);
        let lock_delay = named.map_or(Duration::ZERO, |asked| asked.lock_delay);
        let closed = if real.by.state == HolderState::Holding { lock_delay } else { Duration::ZERO };
        same(Ok(real.by.remaining + closed), Ok(real.remaining))?;
        let all =
            self.memory.inspect(&asked.hold.resource, usize::MAX).await.map_err(|error| error.to_string())?;
        self.find(&all, &real.by)
    }

    async fn inspect(&self, resource: &ResourceName, limit: usize) -> Found {
        let all = self.memory.inspect(resource, usize::MAX).await.map_err(|error| error.to_string())?;
        let real = self.redis.inspect(resource, limit).await.map_err(|error| error.to_string())?;
        same(Ok((all.total, all.holders.len().min(limit))), Ok((real.total, real.holders.len())))?;
        for (model, real) in all.holders.iter().zip(&real.holders) {
            about(model.remaining, real.remaining)?;
            self.find(&all, real)?;
        }
        let different: BTreeSet<_> = real.holders.iter().map(|holder| holder.token).collect();
        same(Ok(different.len()), Ok(real.holders.len()))
    }

    fn find(&self, all: &Inspection, real: &Holder) -> Found {
        let Some(model) = all.holders.iter().find(|holder| holder.token == real.token) else {
            return Err(format!("{real:?} is not among {:?}", all.holders));
        };
        about(model.remaining, real.remaining)?;
        let fence = model.fence.and_then(|fence| self.fences.get(&fence).copied());
        let expected = Holder { fence, remaining: real.remaining, ..model.clone() };
        same(Ok(&expected), Ok(real))
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.server.advance(time);
    }

    /// Every key has an end, and belongs to a resource that is not free, or is the counter of fences.
    async fn compare_keys(&self) -> Found {
        let mut with_key = BTreeSet::new();
        for (key, left) in self.server.keys() {
            if left <= 0 {
                return Err(format!("{key} has no end"));
            }
            if key != "leasehold:fence" {
                let encoded = key.split(['{', '}']).nth(1).unwrap_or_default();
                with_key.insert(ResourceName::decode(encoded).map_err(|error| error.to_string())?);
            }
        }
        let listing = self.memory.list(b"", usize::MAX).await.map_err(|error| error.to_string())?;
        same(Ok(listing.resources), Ok(with_key.into_iter().collect()))
    }
}

fn capacity(mode: Mode) -> Option<u32> {
    match mode {
        Mode::Permits { of, .. } => Some(of.get()),
        _ => None,
    }
}

fn same<T: Debug>(model: Result<T, StoreError>, real: Result<T, StoreError>) -> Found {
    let (model, real) = (format!("{model:?}"), format!("{real:?}"));
    if model == real { Ok(()) } else { Err(format!("memory: {model}\n redis: {real}")) }
}

fn about(model: Duration, real: Duration) -> Found {
    let near = real <= model && real + SLACK >= model;
    if near { Ok(()) } else { Err(format!("{real:?} is left in redis, and {model:?} in memory")) }
}
