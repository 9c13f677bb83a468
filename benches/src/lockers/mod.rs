//! The lockers that are compared, behind one set of verbs.

mod leasehold;
mod quorum;
mod raw;
mod redisson;
mod rslock;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// redis-rs used directly
    Raw,
    /// This crate, with a manager in an arbiter of its own
    Leasehold,
    /// This crate, with the manager on the thread of its callers
    #[serde(rename = "start_here")]
    #[value(name = "start_here")]
    StartHere,
    /// The crate rslock
    Rslock,
    /// The commands of Redisson
    Redisson,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Raw, Self::Leasehold, Self::StartHere, Self::Rslock, Self::Redisson];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Leasehold => "leasehold",
            Self::StartHere => "start_here",
            Self::Rslock => "rslock",
            Self::Redisson => "redisson",
        }
    }
}

/// A locker that is connected.
pub(crate) enum Locker {
    Raw(raw::Raw),
    RawQuorum(quorum::RawQuorum),
    Leasehold(leasehold::Leasehold),
    Rslock(rslock::Rslock),
    Redisson(redisson::Redisson),
}

/// A lock that is held. Released by [`Locker::release`].
pub(crate) enum Held {
    Raw(raw::Held),
    Leasehold(leasehold::Held),
    Rslock(rslock::Held),
    Redisson(redisson::Held),
}

impl Held {
    /// Its fencing number, if the locker has such a thing.
    pub(crate) fn fence(&self) -> Option<u64> {
        match self {
            Self::Leasehold(held) => held.fence().map(|fence| fence.get()),
            Self::Raw(_) | Self::Rslock(_) | Self::Redisson(_) => None,
        }
    }
}

/// A lock that is held and renewed for as long as this lives.
pub(crate) enum Kept {
    /// The lease sees to it.
    ByItself { _lease: leasehold::Held },
    /// A task of this process does.
    ByTask,
}

impl Locker {
    /// Connects to a server, or to several as a quorum.
    pub(crate) async fn connect(kind: Kind, urls: &[String]) -> Result<Self, Failure> {
        Ok(match (kind, urls) {
            (Kind::Raw, [url]) => Self::Raw(raw::Raw::connect(url).await?),
            (Kind::Raw, _) => Self::RawQuorum(quorum::RawQuorum::connect(urls).await?),
            (Kind::Leasehold, _) => Self::Leasehold(leasehold::Leasehold::start(urls)?),
            (Kind::StartHere, _) => Self::Leasehold(leasehold::Leasehold::start_here(urls)?),
            (Kind::Rslock, _) => Self::Rslock(rslock::Rslock::new(urls)),
            (Kind::Redisson, [url]) => Self::Redisson(redisson::Redisson::connect(url).await?),
            (Kind::Redisson, _) => return Err("it knows no quorum".into()),
        })
    }

    /// Waits until the start on these servers is complete, so that one of them may fail.
    pub(crate) async fn settled(&self, urls: &[String]) -> Result<(), Failure> {
        match self {
            Self::Leasehold(_) if urls.len() > 1 => leasehold::all_count(urls).await,
            _ => Ok(()),
        }
    }

    /// Waits for the resource until it is granted.
    pub(crate) async fn acquire(&self, resource: &str) -> Result<Held, Failure> {
        Ok(match self {
            Self::Raw(locker) => Held::Raw(locker.acquire(resource).await?),
            Self::RawQuorum(locker) => Held::Raw(locker.acquire(resource).await?),
            Self::Leasehold(locker) => Held::Leasehold(locker.acquire(resource).await?),
            Self::Rslock(locker) => Held::Rslock(locker.acquire(resource).await?),
            Self::Redisson(locker) => Held::Redisson(locker.acquire(resource).await?),
        })
    }

    /// Waits for the resource. If the call is dropped, a lock that it was granted nevertheless is released.
    pub(crate) async fn acquire_or_reclaim(&self, resource: &str) -> Result<Held, Failure> {
        match self {
            Self::Raw(locker) => Ok(Held::Raw(locker.acquire_or_reclaim(resource).await?)),
            Self::Leasehold(_) => self.acquire(resource).await,
            _ => Err("it does not release what a dropped call was granted".into()),
        }
    }

    /// Waits for the resource to read it. A locker that knows no readers takes it alone.
    pub(crate) async fn read(&self, resource: &str) -> Result<Held, Failure> {
        match self {
            Self::Leasehold(locker) => Ok(Held::Leasehold(locker.read(resource).await?)),
            _ => self.acquire(resource).await,
        }
    }

    /// Waits for the resource to write it.
    pub(crate) async fn write(&self, resource: &str) -> Result<Held, Failure> {
        match self {
            Self::Leasehold(locker) => Ok(Held::Leasehold(locker.write(resource).await?)),
            _ => self.acquire(resource).await,
        }
    }

    pub(crate) async fn release(&self, held: Held) -> Result<(), Failure> {
        match (self, held) {
            (Self::Raw(locker), Held::Raw(held)) => locker.release(held).await,
            (Self::RawQuorum(locker), Held::Raw(held)) => locker.release(held).await,
            (Self::Leasehold(_), Held::Leasehold(held)) => held.release().await.map(drop).map_err(Into::into),
            (Self::Rslock(_), Held::Rslock(held)) => {
                held.release().await;
                Ok(())
            }
            (Self::Redisson(locker), Held::Redisson(held)) => locker.release(held).await,
            _ => Err("a lock of another locker".into()),
        }
    }

    /// Takes a resource that is free, and renews it from then on, three times a TTL.
    pub(crate) async fn keep(&self, resource: &str) -> Result<Kept, Failure> {
        match self {
            Self::Raw(locker) => locker.keep(resource).await?,
            Self::RawQuorum(_) => return Err("nobody renews on a quorum here".into()),
            Self::Leasehold(locker) => {
                return Ok(Kept::ByItself { _lease: locker.acquire(resource).await? });
            }
            Self::Rslock(locker) => locker.keep(resource).await?,
            Self::Redisson(locker) => locker.keep(resource).await?,
        }
        Ok(Kept::ByTask)
    }
}
