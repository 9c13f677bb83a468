//! The kinds of load.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{
    Acquire, Inspect, Lease, List, LockManager, ReadLock, Revoke,
    schedule::{Schedule, Scheduler},
};
use tokio::time::sleep;

use super::LEASES;
use crate::Failure;

/// The leases that are dropped at once.
const DROPPED_AT_ONCE: usize = 10_000;
/// The number of them that are asked for at once.
const ASKED_AT_ONCE: usize = 500;
const SCHEDULES: usize = 1_000;

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Requests for a lock that is held, each of another owner.
    Owner,
    /// Permits of a lock that is held.
    Permits,
    /// Readers of a lock that is held.
    Read,
    /// Requests for a lock that is held.
    Plain,
    /// The same, by more callers than may wait: the others are refused at once, and ask again at once.
    Full,
    /// Requests for a lock that goes from hand to hand, with a notification each time.
    HandOver,
    /// 10,000 leases, dropped at once, again and again.
    Release,
    Inspect,
    Revoke,
    List,
    /// The ticks of 1,000 schedules, each once a second.
    Schedules,
}

/// All of them.
pub(super) const KINDS: [Kind; 11] = [
    Kind::Owner,
    Kind::Permits,
    Kind::Read,
    Kind::Plain,
    Kind::Full,
    Kind::HandOver,
    Kind::Release,
    Kind::Inspect,
    Kind::Revoke,
    Kind::List,
    Kind::Schedules,
];

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Permits => "permits",
            Self::Read => "read",
            Self::Plain => "plain",
            Self::Full => "full",
            Self::HandOver => "hand over",
            Self::Release => "release",
            Self::Inspect => "inspect",
            Self::Revoke => "revoke",
            Self::List => "list",
            Self::Schedules => "schedules",
        }
    }

    /// Returns true if its requests wait for a lock, so that the number of callers makes the load.
    pub(super) const fn waits(self) -> bool {
        matches!(self, Self::Owner | Self::Permits | Self::Read | Self::Plain | Self::Full | Self::HandOver)
    }

    /// Returns the smallest number of callers.
    pub(super) const fn fewest(self) -> usize {
        match self {
            // `limits.max_waiters` is 10,000.
            Self::Full => 11_000,
            _ => 1_280,
        }
    }

    /// Makes a request. Whatever it is answered, its caller asks again.
    async fn ask(self, locks: &Addr<LockManager>, caller: usize, turn: u64, wait: Duration) {
        let request: Acquire = match self {
            Self::Owner => Acquire::new("held").owner(format!("{caller}/{turn}")),
            Self::Permits => Acquire::new("held").permits(1, 3),
            Self::Read => ReadLock::new("held").into(),
            Self::HandOver => Acquire::new("busy"),
            Self::Inspect => return drop(locks.send(Inspect::new("held")).await),
            Self::Revoke => return drop(locks.send(Revoke::new(format!("nobody/{caller}"))).await),
            Self::List => return drop(locks.send(List::new("")).await),
            Self::Plain | Self::Full | Self::Release | Self::Schedules => Acquire::new("held"),
        };
        drop(locks.send(request.wait(wait)).await);
    }
}

/// One manager, and who asks it.
pub(super) struct Load {
    pub(super) locks: Addr<LockManager>,
    pub(super) kind: Kind,
    /// True while callers go on.
    pub(super) on: Rc<Cell<bool>>,
    pub(super) ended: Rc<Cell<u64>>,
}

/// The schedules that were started, which go on until they are stopped.
pub(super) struct Started(Vec<Scheduler>);

impl Started {
    pub(super) async fn stop(self) {
        join_all(self.0.iter().map(Scheduler::stop)).await;
    }
}

impl Load {
    /// Starts callers that ask again as soon as they have an answer.
    pub(super) fn start(&self, callers: usize, wait: Duration) -> Result<Started, Failure> {
        match self.kind {
            Kind::Release => self.drop_at_once(),
            Kind::Schedules => return self.schedules().map(Started),
            _ => (0..callers).for_each(|caller| self.ask_again_and_again(caller, wait)),
        }
        Ok(Started(Vec::new()))
    }

    fn ask_again_and_again(&self, caller: usize, wait: Duration) {
        let (locks, kind) = (self.locks.clone(), self.kind);
        let (on, ended) = (Rc::clone(&self.on), Rc::clone(&self.ended));
        actix_rt::spawn(async move {
            for turn in 0.. {
                if !on.get() {
                    return;
                }
                kind.ask(&locks, caller, turn, wait).await;
                ended.set(ended.get() + 1);
            }
        });
    }

    fn drop_at_once(&self) {
        let locks = self.locks.clone();
        let (on, ended) = (Rc::clone(&self.on), Rc::clone(&self.ended));
        actix_rt::spawn(async move {
            while on.get() {
                let mut leases = Vec::new();
                for first in (0..DROPPED_AT_ONCE).step_by(ASKED_AT_ONCE) {
                    let ask = |number| locks.send(Acquire::new(format!("dropped/{number}")));
                    let answers = join_all((first..first + ASKED_AT_ONCE).map(ask)).await;
                    leases.extend(answers.into_iter().flatten().flatten());
                }
                ended.set(ended.get() + leases.len() as u64);
                drop(leases);
            }
        });
    }

    fn schedules(&self) -> Result<Vec<Scheduler>, Failure> {
        let start = |number| {
            let ended = Rc::clone(&self.ended);
            let tick = async move |_| ended.set(ended.get() + 1);
            let schedule = Schedule::every(Duration::from_secs(1)).named(format!("schedule/{number}"));
            Ok(schedule.start(&self.locks, tick)?)
        };
        (0..SCHEDULES).map(start).collect()
    }

    pub(super) async fn ended_a_second(&self, length: Duration) -> f64 {
        let (before, began) = (self.ended.get(), Instant::now());
        sleep(length).await;
        (self.ended.get() - before) as f64 / began.elapsed().as_secs_f64()
    }

    pub(super) async fn keep(&self, name: &str, ttl: Duration) -> Result<Vec<Lease>, Failure> {
        let mut leases = Vec::new();
        for number in 0..LEASES {
            // One that is not granted in time is missing, and counts as lost.
            if let Ok(lease) = self.locks.send(Acquire::new(format!("{name}/{number}")).ttl(ttl)).await? {
                leases.push(lease);
            }
        }
        Ok(leases)
    }
}
