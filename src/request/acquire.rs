//! The requests of a caller: `Acquire`, `ReadLock`, `WriteLock`, `AcquireAll`.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use actix::{Actor, Addr, Message, Recipient};

use crate::{
    core::{Backoff, ResourceName},
    lease::{Lease, LeaseEvent, LeaseSet, LifeSign},
    request::AcquireError,
    store::Metadata,
};

/// A request for a lease. A [`LockManager`](crate::LockManager) answers it with a [`Lease`] or an [`AcquireError`].
///
/// The kinds [`Acquire`], [`ReadLock`] and [`WriteLock`] differ in how much they take. They have the same options,
/// which [`AcquireAll`] has too. Options that are not set come from the manager's [`Settings`](crate::Settings).
/// Values are checked when the message arrives, before anything is sent.
///
/// # Cancel safety
/// A caller that drops the future of `send` gives up: the request leaves the queue, and a grant in flight is released.
#[must_use = "a request does nothing until it is sent to a LockManager"]
pub struct Request<Kind, Names = Vec<u8>> {
    pub(crate) resource: Names,
    pub(crate) takes: Takes,
    pub(crate) options: Options,
    kind: PhantomData<fn() -> Kind>,
}

/// A request for the whole resource, or with [`permits`](Request::permits) for a part of it. It is re-entrant with
/// an [`owner`](Request::owner).
pub type Acquire = Request<kind::Exclusive>;

/// A request for the resource together with other readers, excluding writers.
///
/// With an [`owner`](Request::owner), asking for the write lock while reading is an error at once instead of a wait
/// for oneself.
pub type ReadLock = Request<kind::Read>;

/// A request for the whole resource, excluding readers and writers. It is not re-entrant.
pub type WriteLock = Request<kind::Write>;

/// A request for several resources as a whole, all of them or none. The answer is a [`LeaseSet`], or an
/// [`AcquireError`] that names the resource to blame ([`OneOfSet`](AcquireError::OneOfSet)).
///
/// If all are free, they are taken at one moment. Otherwise, if there is time to [`wait`](Request::wait), they are
/// taken one after the other in the order of their names, whatever the order in which they were given. Resources that
/// are taken are held and renewed while the others are waited for, and released if one cannot be had in time. Callers
/// that want the same resources therefore never wait for each other in a circle, as long as each asks for all that it
/// needs at once. Each resource counts as one request in [`Statistics`](crate::Statistics).
///
/// ```
/// # use std::time::Duration;
/// # use leasehold::{AcquireAll, LockManager, MemoryStore};
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// let ask = AcquireAll::new(["accounts/7", "accounts/3"]).wait(Duration::from_secs(2));
/// let both = locks.send(ask).await??;
/// println!("from {:?} to {:?}", both.fence("accounts/7"), both.fence("accounts/3"));
/// both.run(async { "the transfer" }).await?; // stopped if one of them is lost
/// both.release().await?;
/// # Ok(())
/// # }
/// ```
pub type AcquireAll = Request<kind::Exclusive, Vec<Vec<u8>>>;

/// The kinds of [`Request`], as types without a value. Nobody has to name them.
mod kind {
    /// See [`Acquire`](crate::Acquire).
    #[derive(Debug)]
    pub enum Exclusive {}
    /// See [`ReadLock`](crate::ReadLock).
    #[derive(Debug)]
    pub enum Read {}
    /// See [`WriteLock`](crate::WriteLock).
    #[derive(Debug)]
    pub enum Write {}
}

/// The amount that is taken, as requested and not yet checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Everything { reentrant: bool },
    OneOfUnlimited,
    Permits { count: u32, of: u32 },
}

/// The time that a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    AtMost(Duration),
    Forever,
}

/// The options of a request, as given and not yet checked.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) owner: Option<String>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) wait: Option<Wait>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) attempts: Option<u32>,
    pub(crate) no_renew: bool,
    pub(crate) renew_every: Option<Duration>,
    pub(crate) max_renewals: Option<u32>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) min_hold: Duration,
    pub(crate) lock_delay: Duration,
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) bound_to: Option<LifeSign>,
    pub(crate) events: Option<Recipient<LeaseEvent>>,
    pub(crate) metadata: Metadata,
    /// True if the library itself sends the request, for a part of a set.
    pub(crate) for_a_set: bool,
}

impl Acquire {
    /// Creates a request for the resource of this name, 1 to 512 bytes, exclusively.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self::taking(resource, Takes::Everything { reentrant: true })
    }

    pub(crate) fn with(resource: &ResourceName, options: Options) -> Self {
        Self { options, ..Self::new(resource.as_bytes()) }
    }

    /// Asks for `count` of the `of` permits that the resource has. All users of the resource must name the same `of`.
    pub fn permits(mut self, count: u32, of: u32) -> Self {
        self.takes = Takes::Permits { count, of };
        self
    }
}

impl ReadLock {
    /// Creates a request to read the resource of this name, 1 to 512 bytes.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self::taking(resource, Takes::OneOfUnlimited)
    }
}

impl WriteLock {
    /// Creates a request to write the resource of this name, 1 to 512 bytes.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self::taking(resource, Takes::Everything { reentrant: false })
    }
}

impl AcquireAll {
    /// Creates a request for these resources exclusively: 1 to 64 names of 1 to 512 bytes. Their order does not
    /// matter. A repeated name counts once.
    pub fn new(resources: impl IntoIterator<Item: AsRef<[u8]>>) -> Self {
        let resource = resources.into_iter().map(|name| name.as_ref().to_vec()).collect();
        let takes = Takes::Everything { reentrant: true };
        Self { resource, takes, options: Options::default(), kind: PhantomData }
    }
}

impl<Kind> Request<Kind> {
    fn taking(resource: impl AsRef<[u8]>, takes: Takes) -> Self {
        let resource = resource.as_ref().to_vec();
        Self { resource, takes, options: Options::default(), kind: PhantomData }
    }
}

impl<Kind, Names> Request<Kind, Names> {
    /// Sets the owner, 1 to 512 bytes of text. The same owner may take an exclusive lock again and again, and
    /// releases each hold by itself. Default: none.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.options.owner = Some(owner.into());
        self
    }

    /// Sets the TTL: the time for which the store keeps the lease unless it is renewed. At least 50 ms. Default:
    /// `lease.ttl`, 30 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = Some(ttl);
        self
    }

    /// Sets the time to wait while others hold the resource. Zero is a try: one attempt. Default: `wait.timeout`,
    /// zero; with [`attempts`](Self::attempts) as long as these take.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = Some(Wait::AtMost(wait));
        self
    }

    /// Waits without end, until the lease is granted or the caller gives up by dropping the future of `send`.
    /// `limits.max_wait` does not bound it, but a limited number of [`attempts`](Self::attempts) does. The store may be
    /// unreachable all the while.
    pub fn wait_forever(mut self) -> Self {
        self.options.wait = Some(Wait::Forever);
        self
    }

    /// Sets the pauses between attempts. Default: `backoff`, 100 ms doubled up to 1 s.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.backoff = Some(backoff);
        self
    }

    /// Sets the maximum number of attempts, the first included. Default: as many as the wait allows.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.options.attempts = Some(attempts);
        self
    }

    /// Turns off automatic renewal: the lease ends with its TTL, or with the TTL after the last call of [`Lease::renew`].
    pub fn no_renew(mut self) -> Self {
        self.options.no_renew = true;
        self
    }

    /// Sets the interval between renewals; less than half of the TTL. Default: a third of the TTL (in the proportion
    /// of `lease.renewal_interval` to `lease.ttl`).
    pub fn renew_every(mut self, interval: Duration) -> Self {
        self.options.renew_every = Some(interval);
        self
    }

    /// Sets the maximum number of renewals, after which the lease runs out. Default: without end.
    pub fn max_renewals(mut self, renewals: u32) -> Self {
        self.options.max_renewals = Some(renewals);
        self
    }

    /// Sets the maximum time for which the lease is held, renewals included. Then it is lost to its holder, and the
    /// resource opens within one TTL. Default: without end.
    pub fn max_hold(mut self, hold: Duration) -> Self {
        self.options.max_hold = Some(hold);
        self
    }

    /// Sets a minimum hold: a release before this time only shortens what is left, so that the resource opens this
    /// long after the grant at the earliest. If the lease is lost, the resource opens with its TTL, or when its
    /// holder drops it. If the lease was never handed to the caller, because the caller had gone or another part of
    /// its set was not granted, the resource opens at once. Default: zero.
    pub fn min_hold(mut self, hold: Duration) -> Self {
        self.options.min_hold = hold;
        self
    }

    /// Sets the extra time that the resource stays closed if the lease *expires* instead of being released: time to
    /// stop for a holder that died, or was cut off. A lease that was lost does not open earlier by being dropped or
    /// released afterwards. Default: zero.
    pub fn lock_delay(mut self, delay: Duration) -> Self {
        self.options.lock_delay = delay;
        self
    }

    /// Requires a heartbeat: the lease is renewed only while the worker calls [`Lease::heartbeat`] at least this
    /// often, which proves that it makes progress. A silent worker loses the lease at most one TTL after the last
    /// renewal that was still allowed. Default: no heartbeat is required.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.options.heartbeat = Some(every);
        self
    }

    /// Binds the lease to this actor: it is released when the actor dies, however it dies. This is checked ten times
    /// a second.
    pub fn bound_to<A: Actor>(mut self, actor: &Addr<A>) -> Self {
        let actor = actor.downgrade();
        self.options.bound_to =
            Some(Arc::new(move || actor.upgrade().is_some_and(|actor| actor.connected())));
        self
    }

    /// Sets the listener for the events of the lease.
    pub fn events(mut self, listener: Recipient<LeaseEvent>) -> Self {
        self.options.events = Some(listener);
        self
    }

    /// Sets the purpose of the lease, in a few words. It is shown by `Inspect` and to callers that are refused.
    pub fn purpose(self, purpose: impl Into<String>) -> Self {
        self.metadata("purpose", purpose)
    }

    /// Adds metadata about the holder, a trace id for instance. Host and process id are reported anyway. All keys and
    /// values together have at most 1,024 bytes.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.metadata.insert(key.into(), value.into());
        self
    }
}

/// The same request as an [`Acquire`], for interfaces that take any of the three kinds. It takes no more than before.
impl From<ReadLock> for Acquire {
    fn from(ReadLock { resource, takes, options, .. }: ReadLock) -> Self {
        Self { resource, takes, options, kind: PhantomData }
    }
}

/// The same request as an [`Acquire`], for interfaces that take any of the three kinds. It is still not re-entrant.
impl From<WriteLock> for Acquire {
    fn from(WriteLock { resource, takes, options, .. }: WriteLock) -> Self {
        Self { resource, takes, options, kind: PhantomData }
    }
}

/// The same request once more, for somebody who asks again and again. Each that is sent is an acquisition of its own.
impl<Kind, Names: Clone> Clone for Request<Kind, Names> {
    fn clone(&self) -> Self {
        let Self { resource, takes, options, kind } = self;
        Self { resource: resource.clone(), takes: *takes, options: options.clone(), kind: *kind }
    }
}

impl<Kind: 'static> Message for Request<Kind> {
    type Result = Result<Lease, AcquireError>;
}

impl Message for AcquireAll {
    type Result = Result<LeaseSet, AcquireError>;
}

impl<Kind> fmt::Debug for Request<Kind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(&String::from_utf8_lossy(&self.resource), f)
    }
}

impl fmt::Debug for AcquireAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.resource.iter().map(|name| String::from_utf8_lossy(name)).collect();
        self.show(&names, f)
    }
}

impl<Kind, Names> Request<Kind, Names> {
    fn show(&self, names: &dyn fmt::Debug, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("resource", names)
            .field("takes", &self.takes)
            .field("ttl", &self.options.ttl)
            .field("wait", &self.options.wait)
            .finish_non_exhaustive()
    }
}
