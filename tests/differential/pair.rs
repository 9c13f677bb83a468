//! Two stores side by side, and what is done to both.

use std::{collections::BTreeSet, num::NonZeroU32, sync::Arc, time::Duration};

use leasehold::{
    Listing, MemoryStore, RedisStore, ResourceName, Token,
    store::{
        Acquired, AcquiredAll, Acquisition, Hold, HolderNotice, HoldersNotified, Names, Refusal, Renewal,
        Store, ToHolders, Walk,
    },
};

use super::{
    answers::{Expected, Fences, Found, same},
    case::{Case, Op, RESOURCES, Request, name},
    told::Told,
};
use leasehold_testing::servers::RedisServer;
use support::{clock::TestClock, patient};

/// After this much time nothing is left of any hold.
const LONG_AFTER: Duration = Duration::from_secs(60);

/// Two stores and their times.
pub(crate) struct Pair<'a> {
    server: &'a RedisServer,
    redis: RedisStore,
    clock: Arc<TestClock>,
    memory: MemoryStore,
    fences: Fences,
    told: Told,
}

impl<'a> Pair<'a> {
    pub(crate) async fn new(server: &'a RedisServer) -> Self {
        server.command(&["FLUSHALL"]);
        let clock = Arc::new(TestClock::new());
        let memory = MemoryStore::new(clock.clone());
        let redis = patient::open(&server.url());
        let told = Told::listen(&memory, &redis).await;
        Self { server, redis, clock, memory, fences: Fences::default(), told }
    }

    pub(crate) async fn run(&mut self, case: &Case) -> Found {
        for (step, op) in case.ops.iter().enumerate() {
            self.step(case, op).await.map_err(|found| format!("step {step}, {op:?}: {found}"))?;
        }
        for resource in 0..RESOURCES {
            self.set_capacity(resource, 0).await?;
        }
        self.told.compare(&self.memory, &self.redis).await?;
        self.compare_keys().await?;
        self.elapse(LONG_AFTER);
        same(
            Ok(vec![]),
            Ok(self.server.keys().into_iter().filter(|(key, _)| key != "leasehold:fence").collect()),
        )
    }

    async fn step(&mut self, case: &Case, op: &Op) -> Found {
        match op {
            &Op::Acquire(asked, ttl) => self.acquire(case, case.acquisition(asked, ttl)).await,
            &Op::Try(asked, ttl) => {
                self.acquire(case, Acquisition { ticket: None, ..case.acquisition(asked, ttl) }).await
            }
            &Op::Renew(asked, ttl, told) => self.renew_each(&case.renewals(&[(asked, ttl, told)])).await,
            &Op::Release(asked, cooldown) => {
                let hold = &case.asked[asked].hold;
                same(self.memory.release(hold, cooldown).await, self.redis.release(hold, cooldown).await)
            }
            &Op::IsHeld(asked) => {
                let hold = &case.asked[asked].hold;
                same(self.memory.is_held(hold).await, self.redis.is_held(hold).await)
            }
            &Op::Inspect(resource, limit) => self.inspect(&name(resource), limit).await,
            &Op::List(limit) => self.list(limit).await,
            &Op::ForceRelease(resource) => {
                let name = name(resource);
                same(self.memory.force_release(&name).await, self.redis.force_release(&name).await)
            }
            &Op::SetCapacity(resource, permits) => self.set_capacity(resource, permits).await,
            &Op::Notify(resource, which) => self.notify(name(resource), None, which).await,
            &Op::NotifyAmong(resource, which) => {
                let tokens = case.asked.iter().map(|asked| asked.hold.token);
                self.notify(name(resource), Some(tokens.collect()), which).await
            }
            &Op::Pass(from, to, ttl, overtake) => match case.heir(from, to, ttl) {
                Some(to) => self.pass(case, &case.asked[from].hold, to, overtake).await,
                None => Ok(()),
            },
            Op::AcquireEach(requests) => self.acquire_each(case, requests).await,
            Op::AcquireAll(requests) => self.acquire_all(case, requests).await,
            Op::RenewEach(renewals) => self.renew_each(&case.renewals(renewals)).await,
            Op::ReleaseEach(releases) => self.release_each(&case.holds(releases)).await,
            &Op::Elapse(time) => {
                self.elapse(time);
                Ok(())
            }
        }
    }

    async fn set_capacity(&self, resource: usize, permits: u32) -> Found {
        let (name, permits) = (name(resource), NonZeroU32::new(permits));
        same(self.memory.set_capacity(&name, permits).await, self.redis.set_capacity(&name, permits).await)
    }

    async fn notify(&self, resource: ResourceName, among: Option<Vec<Token>>, which: usize) -> Found {
        let wanted_back = HolderNotice::RevokeRequested {
            revocation: Token::from_bits(which as u128),
            reason: "a deploy, \"v2\",  needs it: ü".into(),
            grace: Duration::from_millis(1_500),
        };
        let notice = [None, Some(wanted_back), Some(HolderNotice::Taken)][which].clone();
        let to = ToHolders { resource, among, notice };
        let sorted = |mut notified: HoldersNotified| {
            notified.holders.sort();
            notified
        };
        let model = self.memory.notify_holders(&to).await.map(sorted);
        same(model, self.redis.notify_holders(&to).await.map(sorted))
    }

    async fn acquire(&mut self, case: &Case, asked: Acquisition) -> Found {
        let expected = Expected::from(&self.memory, asked.clone()).await?;
        self.fences.compare_answers(case, expected, self.redis.acquire(&asked).await)
    }

    /// In memory they are acquired one after the other, and so it is known who held what in between.
    async fn acquire_each(&mut self, case: &Case, requests: &[Request]) -> Found {
        let asked: Vec<_> = requests.iter().map(|request| Arc::new(case.requested(request))).collect();
        let mut expected = Vec::new();
        for asked in &asked {
            expected.push(Expected::from(&self.memory, Acquisition::clone(asked)).await?);
        }
        let real = self.redis.acquire_each(&asked).await;
        same(Ok(expected.len()), Ok(real.len()))?;
        for (number, (expected, real)) in expected.into_iter().zip(real).enumerate() {
            let found = self.fences.compare_answers(case, expected, real);
            found.map_err(|found| format!("number {number}: {found}"))?;
        }
        Ok(())
    }

    async fn acquire_all(&mut self, case: &Case, requests: &[Request]) -> Found {
        let asked: Vec<_> = requests.iter().map(|request| Arc::new(case.requested(request))).collect();
        let answers = (self.memory.acquire_all(&asked).await, self.redis.acquire_all(&asked).await);
        let answers = match answers {
            (Ok(AcquiredAll::Granted(model)), Ok(AcquiredAll::Granted(real))) => {
                same(Ok((model.len(), asked.len())), Ok((real.len(), asked.len())))?;
                let granted = |grant| Ok(Acquired::Granted(grant));
                (0..).zip(model.into_iter().map(granted).zip(real.into_iter().map(granted))).collect()
            }
            (
                Ok(AcquiredAll::Refused { which: model_which, refusal: model }),
                Ok(AcquiredAll::Refused { which, refusal: real }),
            ) => {
                same(Ok(model_which), Ok(which))?;
                let taken_back = |refusal: &Refusal| {
                    asked[..which].iter().any(|asked| asked.hold.token.prefix() == refusal.by.token)
                };
                // One of those that are taken back may have been in the way: it is not there any more.
                let compared = !taken_back(&model) && !taken_back(&real);
                let both = (Ok(Acquired::Refused(model)), Ok(Acquired::Refused(real)));
                if compared { vec![(which, both)] } else { vec![] }
            }
            (
                Ok(AcquiredAll::Failed { which: model_which, error: model }),
                Ok(AcquiredAll::Failed { which, error: real }),
            ) => {
                same(Ok(model_which), Ok(which))?;
                vec![(which, (Err(model), Err(real)))]
            }
            (model, real) => return same(model, real),
        };
        for (which, (model, real)) in answers {
            let expected = Expected::of(&self.memory, Acquisition::clone(&asked[which]), model).await?;
            self.fences.compare_answers(case, expected, real)?;
        }
        Ok(())
    }

    async fn renew_each(&self, renewals: &[Renewal<'_>]) -> Found {
        let (model, real) = (self.memory.renew_each(renewals).await, self.redis.renew_each(renewals).await);
        same(Ok(model), Ok(real))
    }

    async fn release_each(&self, releases: &[(&Hold, Duration)]) -> Found {
        let (model, real) =
            (self.memory.release_each(releases).await, self.redis.release_each(releases).await);
        same(Ok(model), Ok(real))
    }

    async fn pass(&mut self, case: &Case, from: &Hold, to: Acquisition, overtake: bool) -> Found {
        let passed = self.memory.hand_off(from, &to, overtake).await;
        match (passed, self.redis.hand_off(from, &to, overtake).await) {
            (Ok(model), Ok(real)) => {
                same(Ok((model.released, model.others_wait)), Ok((real.released, real.others_wait)))?;
                let expected = Expected::of(&self.memory, to, model.acquired).await?;
                self.fences.compare_answers(case, expected, real.acquired)
            }
            (model, real) => same(model, real),
        }
    }

    /// Lists from the first name, and behind it. How many keys a store has walked over is its own affair.
    async fn list(&self, limit: usize) -> Found {
        let mut walk = Walk::new(b"job ", limit);
        for after in [&b""[..], name(0).as_bytes()] {
            walk.after = after.to_vec();
            let names = |listing: Listing| (listing.resources, listing.complete);
            same(self.memory.list(&walk).await.map(names), self.redis.list(&walk).await.map(names))?;
        }
        let mut waited_for = Walk::new(b"job ", usize::MAX);
        waited_for.names = Names::WaitedFor;
        let model = self.memory.list(&waited_for).await.map_err(|error| error.to_string())?.resources;
        let real = self.redis.list(&waited_for).await.map_err(|error| error.to_string())?.resources;
        // Where some tickets have expired and are not cleared away, the keys stay until the last one has.
        if model.iter().all(|name| real.contains(name)) {
            return Ok(());
        }
        Err(format!("somebody waits for {model:?}, and redis has {real:?}"))
    }

    async fn inspect(&mut self, resource: &ResourceName, limit: usize) -> Found {
        let all = self.memory.inspect(resource, usize::MAX).await.map_err(|error| error.to_string())?;
        let real = self.redis.inspect(resource, limit).await.map_err(|error| error.to_string())?;
        self.fences.compare_inspections(resource, &all, &real, limit)
    }

    fn elapse(&self, time: Duration) {
        self.clock.advance(time);
        self.server.advance(time);
    }

    /// Every key has an end, and belongs to a resource that is held or waited for, or is the counter of fences.
    async fn compare_keys(&self) -> Found {
        let (mut held, mut waited_for) = (BTreeSet::new(), BTreeSet::new());
        for (key, left) in self.server.keys() {
            // A raise is for a quorum, on whose nodes the counter stays.
            if left <= 0 && key != "leasehold:fence" {
                return Err(format!("{key} has no end"));
            }
            let Some((encoded, part)) = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')) else {
                same(Ok("leasehold:fence"), Ok(key.as_str()))?;
                continue;
            };
            let resources = if [":q", ":w", ":p"].contains(&part) { &mut waited_for } else { &mut held };
            resources.insert(ResourceName::decode(encoded).map_err(|error| error.to_string())?);
        }
        let listing =
            self.memory.list(&Walk::new(b"", usize::MAX)).await.map_err(|error| error.to_string())?;
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
