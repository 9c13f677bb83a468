//! A client of a simulated world: asks for leases in every way there is, and uses them in every way there is.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{
    Acquire, AcquireError, Backoff, Lease, LockManager, Owner, ReadLock, Release, Request, Token, WriteLock,
};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use tokio::time::{sleep, timeout};

use super::history::{Held, History, What};

/// How many resources there are, and what each is for: an exclusive one that everybody wants, a re-entrant one, one for
/// readers and writers, permits, one that is left alone most of the time, and one that is held long.
pub(crate) const RESOURCES: usize = 6;
const REENTRANT: usize = 1;
const READ_WRITE: usize = 2;
const PERMITS: usize = 3;
const COLD: usize = 4;

/// What all clients of a world share.
pub(crate) struct World {
    pub(crate) managers: Vec<Addr<LockManager>>,
    pub(crate) history: Arc<History>,
    /// Whether one store decides. A quorum has no permits: what they are for is exclusive there. Nor have all re-entries
    /// of an owner one fence there.
    pub(crate) one_store: bool,
    /// What the resources protect: each remembers the largest fence of an exclusive holder.
    pub(crate) protected: RefCell<[u64; RESOURCES]>,
    pub(crate) requests: RefCell<u64>,
    /// The leases that nobody thinks of any more. They are dropped when the world has ended, for each keeps its manager.
    pub(crate) forgotten: RefCell<Vec<Lease>>,
}

/// One client.
pub(crate) struct Client {
    world: Rc<World>,
    locks: Addr<LockManager>,
    rng: StdRng,
    /// A token that it had once.
    old: Option<Token>,
}

/// How a lease is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Briefly,
    /// Until it is lost.
    ToTheEnd,
    /// Dropped without a release.
    Abandon,
    /// As by a process that dies.
    Forget,
    /// Renewed by hand, at times too late.
    ByHand,
    /// Without looking whether it still holds.
    Blindly,
    /// Released again afterwards, and what never was held as well.
    ReleaseTwice,
}

/// How a lease is asked for.
struct Ask {
    resource: usize,
    owner: Option<Owner>,
    /// Decides about options; none without.
    chance: Option<u64>,
    ttl: Duration,
    wait: Duration,
    gives_up_after: Option<Duration>,
    usage: Use,
    min_hold: Duration,
}

impl Client {
    pub(crate) fn new(world: Rc<World>, number: usize, seed: u64) -> Self {
        let locks = world.managers[number % world.managers.len()].clone();
        Self { world, locks, rng: StdRng::seed_from_u64(seed), old: None }
    }

    /// Asks and uses until the world is `end` old.
    pub(crate) async fn live(&mut self, end: Duration) {
        while self.world.history.now() < end {
            let pause = self.millis(1, 150);
            sleep(pause).await;
            self.turn().await;
        }
    }

    /// Asks for every resource once, without any trick, and must get it.
    pub(crate) async fn quiet_turn(&mut self) {
        for resource in 0..RESOURCES {
            let ask = Ask {
                resource,
                owner: self.owner_for(resource),
                chance: None,
                ttl: Duration::from_secs(2),
                wait: Duration::from_secs(8),
                gives_up_after: None,
                usage: Use::Briefly,
                min_hold: Duration::ZERO,
            };
            let Some(lease) = self.ask(&ask).await else { continue };
            self.work(resource, &lease);
            sleep(Duration::from_millis(5)).await;
            self.release(resource, lease).await;
        }
    }

    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.rng.random_range(least..=most))
    }

    async fn turn(&mut self) {
        let resource = *[0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 5, 5].choose(&mut self.rng).unwrap_or(&0);
        let resource = if self.rng.random_bool(0.01) { COLD } else { resource };
        let ask = self.draw(resource);
        let Some(lease) = self.ask(&ask).await else { return };
        self.use_lease(resource, lease, ask.usage).await;
    }

    fn owner_for(&mut self, resource: usize) -> Option<Owner> {
        let number = self.rng.random_range(0..3);
        (resource == REENTRANT).then(|| Owner::new(format!("owner {number}")).expect("a short name"))
    }

    fn draw(&mut self, resource: usize) -> Ask {
        let usage = [
            Use::Briefly,
            Use::Briefly,
            Use::Briefly,
            Use::Briefly,
            Use::Briefly,
            Use::ToTheEnd,
            Use::Abandon,
            Use::Forget,
            Use::ByHand,
            Use::Blindly,
            Use::ReleaseTwice,
        ];
        let usage = *usage.choose(&mut self.rng).unwrap_or(&Use::Briefly);
        // Whoever releases what it got may ask for long: nobody may have to wait for that TTL.
        let releases = matches!(usage, Use::Briefly | Use::Abandon);
        let ttl = if releases && self.rng.random_bool(0.3) {
            Duration::from_secs(15)
        } else {
            self.millis(200, 2_000)
        };
        let wait = if self.rng.random_bool(0.3) { Duration::ZERO } else { self.millis(50, 3_000) };
        let gives_up_after = self.rng.random_bool(0.2).then(|| self.millis(0, 1_500));
        let min_hold = if self.rng.random_bool(0.1) { self.millis(50, 500) } else { Duration::ZERO };
        let (owner, chance) = (self.owner_for(resource), Some(self.rng.random()));
        Ask { resource, owner, chance, ttl, wait, gives_up_after, usage, min_hold }
    }

    /// Asks as told. Answers the lease if there is one.
    async fn ask(&mut self, ask: &Ask) -> Option<Lease> {
        let name = format!("r{}", ask.resource);
        let answer = match (ask.resource, &ask.owner) {
            (_, Some(owner)) => self.send(Acquire::new(name).owner(owner.as_str()), ask).await,
            (READ_WRITE, _) if self.rng.random_bool(0.3) => self.send(WriteLock::new(name), ask).await,
            (READ_WRITE, _) => self.send(ReadLock::new(name), ask).await,
            (PERMITS, _) if self.world.one_store => {
                let count = self.rng.random_range(1..=3);
                // Two capacities are in use, as while an application is replaced by one that names another.
                self.send(Acquire::new(name).permits(count, 4 + count % 2), ask).await
            }
            _ => self.send(Acquire::new(name), ask).await,
        };
        answer.inspect(|lease| self.old = Some(lease.token()))
    }

    async fn send<Kind: 'static>(&mut self, request: Request<Kind>, ask: &Ask) -> Option<Lease> {
        let number = self.world.requests.replace_with(|number| *number + 1);
        let backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(400)).expect("constants");
        let request = request.ttl(ask.ttl).wait(ask.wait).backoff(backoff).min_hold(ask.min_hold);
        let request = with_options(request, ask).metadata("request", number.to_string());
        let (resource, history) = (ask.resource, Arc::clone(&self.world.history));
        history.add(resource, What::Asked { request: number, wait: ask.wait });
        let answer = self.locks.send(request);
        let answer = match ask.gives_up_after {
            None => answer.await,
            Some(gives_up_after) => match timeout(gives_up_after, answer).await {
                Ok(answer) => answer,
                Err(_) => {
                    history.add(resource, What::Cancelled { request: number });
                    return None;
                }
            },
        };
        match answer.unwrap_or(Err(AcquireError::ShuttingDown)) {
            Ok(lease) => {
                self.granted(number, &lease, ask);
                Some(lease)
            }
            Err(error) => {
                history.add(resource, What::Failed { request: number, kind: error.kind() });
                None
            }
        }
    }

    fn granted(&self, request: u64, lease: &Lease, ask: &Ask) {
        let (resource, history) = (ask.resource, &self.world.history);
        let Some(fence) = lease.fence() else {
            let details = format!("{lease:?} has no fence");
            return history.add(resource, What::Wrong { property: "P2", details });
        };
        let blind = matches!(ask.usage, Use::Forget | Use::Blindly);
        let until = blind.then(|| history.now() + lease.remaining());
        let (token, mode) = (lease.token(), lease.mode());
        let grant = Held { request, token, owner: ask.owner.clone(), mode, fence };
        let min_hold = !ask.min_hold.is_zero();
        history.add(resource, What::Granted { grant, until, min_hold });
    }

    async fn use_lease(&mut self, resource: usize, lease: Lease, usage: Use) {
        match usage {
            Use::Briefly | Use::ReleaseTwice | Use::Abandon => {
                let pause = self.millis(1, 60);
                if self.hold(resource, &lease, pause).await && usage == Use::Abandon {
                    self.world.history.add(resource, What::LetGo { token: lease.token() });
                    return drop(lease);
                }
            }
            Use::ToTheEnd => {
                let long = self.millis(700, 4_000);
                self.hold(resource, &lease, long).await;
            }
            Use::Forget => return self.world.forgotten.borrow_mut().push(lease),
            Use::ByHand => self.renew_by_hand(resource, &lease).await,
            Use::Blindly => {
                let pause = lease.remaining() + self.millis(0, 2_000);
                sleep(pause).await;
                self.look(resource, &lease);
                self.work(resource, &lease);
            }
        }
        let token = lease.token();
        self.release(resource, lease).await;
        if usage == Use::ReleaseTwice {
            let nobodys = Token::from_bits(self.rng.random());
            for token in [token, self.old.unwrap_or(nobodys), nobodys] {
                let manager = self.world.managers.choose(&mut self.rng).unwrap_or(&self.locks);
                // Whether that took anything away is judged by what the store did.
                let _ = manager.send(Release::new(format!("r{resource}"), token)).await;
            }
        }
    }

    /// Holds a lease for so long, or until it is lost, and works on it. Answers whether it still holds.
    async fn hold(&mut self, resource: usize, lease: &Lease, so_long: Duration) -> bool {
        let end = self.world.history.now() + so_long;
        loop {
            self.look(resource, lease);
            self.work(resource, lease);
            lease.heartbeat();
            let left = end.saturating_sub(self.world.history.now());
            let step = self.millis(1, 100).min(left);
            tokio::select! {
                biased;
                reason = lease.lost() => {
                    self.world.history.add(resource, What::LossTold { token: lease.token(), reason });
                    self.look(resource, lease);
                    return false;
                }
                () = sleep(step) => {}
            }
            if left.is_zero() {
                return true;
            }
        }
    }

    async fn renew_by_hand(&mut self, resource: usize, lease: &Lease) {
        for _ in 0..3 {
            let share = self.rng.random_range(0.3..1.1);
            if !self.hold(resource, lease, lease.remaining().mul_f64(share)).await {
                return;
            }
            // A failure is told as a loss, sooner or later.
            let _ = lease.renew().await;
        }
    }

    async fn release(&self, resource: usize, lease: Lease) {
        let (token, history) = (lease.token(), &self.world.history);
        history.add(resource, What::LetGo { token });
        let answer = match lease.release().await {
            Ok(released) => format!("{released:?}"),
            Err(error) => error.to_string(),
        };
        history.add(resource, What::Answered { token, answer });
    }

    fn look(&self, resource: usize, lease: &Lease) {
        let (token, valid) = (lease.token(), lease.is_valid());
        self.world.history.add(resource, What::Looked { token, valid });
    }

    /// Works on what only a holder may touch, and what refuses a fence that is too small.
    fn work(&self, resource: usize, lease: &Lease) {
        let Some(fence) = lease.fence() else { return };
        if [READ_WRITE, PERMITS].contains(&resource) || resource == REENTRANT && !self.world.one_store {
            return;
        }
        let largest = &mut self.world.protected.borrow_mut()[resource];
        let accepted = fence.get() >= *largest;
        *largest = fence.get().max(*largest);
        self.world.history.add(resource, What::Worked { token: lease.token(), fence, accepted });
    }
}

/// Options that chance decides, as far as they go with how the lease is used.
fn with_options<Kind>(request: Request<Kind>, ask: &Ask) -> Request<Kind> {
    if matches!(ask.usage, Use::Forget | Use::ByHand | Use::Blindly) {
        return request.no_renew();
    }
    // What ends by itself before its TTL is taken back by the store with the TTL, so that must be short.
    match ask.chance.map(|chance| chance % 10) {
        Some(0) if ask.ttl < Duration::from_secs(5) => request.max_hold(ask.ttl.mul_f64(1.5) + ask.min_hold),
        Some(1) if ask.ttl < Duration::from_secs(5) => request.max_renewals(1),
        Some(2) if ask.ttl < Duration::from_secs(5) => request.heartbeat(Duration::from_millis(60)),
        Some(3 | 4) => request.lock_delay(Duration::from_millis(700)),
        Some(5 | 6) if ask.ttl < Duration::from_secs(5) => request.no_renew(),
        _ => request,
    }
}
