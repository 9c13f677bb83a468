//! The requests of a caller: `Acquire`, `ReadLock`, `WriteLock`, `AcquireAll`.

use std::{borrow::Cow, fmt, marker::PhantomData, time::Duration};

use actix::{Message, Recipient};

use crate::{
    core::Pauses,
    lease::{Lease, LeaseEvent, LeaseSet, LifeSign},
    listeners::spans::FamilySpan,
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
/// With an [`owner`](Request::owner), asking for the write lock while reading is an error at once instead of a wait for oneself.
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
    pub(crate) give_up_early: Option<bool>,
    pub(crate) pauses: Option<Pauses>,
    pub(crate) attempts: Option<u32>,
    pub(crate) no_renew: bool,
    pub(crate) renew_every: Option<Duration>,
    pub(crate) max_renewals: Option<u32>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) min_hold: Duration,
    pub(crate) lock_delay: Duration,
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) in_step: bool,
    pub(crate) bound_to: Option<LifeSign>,
    pub(crate) events: Option<Recipient<LeaseEvent>>,
    /// True if the listener of the events hears of a shutdown alone.
    pub(crate) shutdown_alone: bool,
    pub(crate) metadata: Metadata,
    pub(crate) class: Option<Cow<'static, str>>,
    /// The span in which the request was made.
    pub(crate) caller: FamilySpan,
    /// True if the library itself sends the request, for a part of a set.
    pub(crate) for_a_set: bool,
}

impl Options {
    /// Returns the options of a request of which nothing is set yet, made in the current span.
    pub(crate) fn new() -> Self {
        Self { caller: FamilySpan::current(), ..Self::default() }
    }
}

impl Acquire {
    /// Creates a request for the resource of this name, 1 to 512 bytes, exclusively.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self::with(resource, Options::new())
    }

    pub(crate) fn with(resource: impl AsRef<[u8]>, options: Options) -> Self {
        Self::of(resource.as_ref().to_vec(), Takes::Everything { reentrant: true }, options)
    }

    /// Asks for `count` of the `of` permits that the resource has.
    ///
    /// All users of the resource should name the same `of`. If it changes, processes may change it one after the other: as long
    /// as two capacities are in use, the smaller one counts, and whoever names a third one waits. What
    /// [`SetCapacity`](crate::SetCapacity) has set replaces all. Each lease has a [number](crate::Lease::slot).
    pub fn permits(mut self, count: u32, of: u32) -> Self {
        self.takes = Takes::Permits { count, of };
        self
    }
}

impl ReadLock {
    /// Creates a request to read the resource of this name, 1 to 512 bytes.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self::of(resource.as_ref().to_vec(), Takes::OneOfUnlimited, Options::new())
    }
}

impl WriteLock {
    /// Creates a request to write the resource of this name, 1 to 512 bytes.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self::of(resource.as_ref().to_vec(), Takes::Everything { reentrant: false }, Options::new())
    }
}

impl AcquireAll {
    /// Creates a request for these resources exclusively: 1 to 64 names of 1 to 512 bytes. Their order does not
    /// matter. A repeated name counts once.
    pub fn new(resources: impl IntoIterator<Item: AsRef<[u8]>>) -> Self {
        let resource = resources.into_iter().map(|name| name.as_ref().to_vec()).collect();
        Self::of(resource, Takes::Everything { reentrant: true }, Options::new())
    }
}

impl<Kind, Names> Request<Kind, Names> {
    const fn of(resource: Names, takes: Takes, options: Options) -> Self {
        Self { resource, takes, options, kind: PhantomData }
    }

    fn show(&self, names: &dyn fmt::Debug, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("resource", names)
            .field("takes", &self.takes)
            .field("ttl", &self.options.ttl)
            .field("wait", &self.options.wait)
            .finish_non_exhaustive()
    }
}

/// The same request as an [`Acquire`], for interfaces that take any of the three kinds. It takes no more than before.
impl From<ReadLock> for Acquire {
    fn from(ReadLock { resource, takes, options, .. }: ReadLock) -> Self {
        Self::of(resource, takes, options)
    }
}

/// The same request as an [`Acquire`], for interfaces that take any of the three kinds. It is still not re-entrant.
impl From<WriteLock> for Acquire {
    fn from(WriteLock { resource, takes, options, .. }: WriteLock) -> Self {
        Self::of(resource, takes, options)
    }
}

/// The same request once more, for somebody who asks again and again. Each that is sent is an acquisition of its own.
impl<Kind, Names: Clone> Clone for Request<Kind, Names> {
    fn clone(&self) -> Self {
        Self::of(self.resource.clone(), self.takes, self.options.clone())
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
