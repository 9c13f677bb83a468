//! A store in front of another one, whose hooks see each verb before and after it is executed.
//!
//! ```
//! # #[actix::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
//!
//! use futures_util::future::BoxFuture;
//! use leasehold::{Acquire, LockManager, MemoryStore, StoreError};
//! use leasehold_testing::decorated::{Decorated, Hooks, Verb};
//!
//! /// Refuses the first acquisition.
//! #[derive(Debug, Default)]
//! struct FirstFails(AtomicUsize);
//!
//! impl Hooks for FirstFails {
//!     fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
//!         let is_first = matches!(verb, Verb::Acquire(_)) && self.0.fetch_add(1, Ordering::Relaxed) == 0;
//!         let refused = StoreError::Unavailable { reason: "down".to_owned(), source: None };
//!         Box::pin(async move { if is_first { Err(refused) } else { Ok(()) } })
//!     }
//! }
//!
//! let store = Decorated::new(MemoryStore::default(), FirstFails::default());
//! let locks = LockManager::builder(Arc::new(store)).start()?;
//! assert!(locks.send(Acquire::new("r")).await?.is_err());
//! assert!(locks.send(Acquire::new("r")).await?.is_ok());
//! # Ok(()) }
//! ```

mod node;

use std::{any::Any, fmt, num::NonZeroU32, ops::Deref, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use leasehold::{
    Durability, Fence, Inspection, Listing, ResourceName, StoreError,
    rules::Recovered,
    store::{
        Acquired, Acquisition, Hold, HoldersNotified, Inbox, Notifications, Register, RegisterWrite,
        Released, Renewal, Renewed, Replies, Reply, ServerLoad, Store, ToHolders, Walk,
    },
};

/// The hooks of a [`Decorated`] store. Without a method of its own a hook changes nothing.
pub trait Hooks: fmt::Debug + Send + Sync + 'static {
    /// Sees a verb as it is sent. The verb is executed when the future ends; after an error it is not, and the error is its
    /// answer.
    fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let _ = verb;
        async { Ok(()) }.boxed()
    }

    /// Sees the answer to an executed verb, and may change it. The answer is returned when the future ends. It is what the
    /// method of the store returns, such as `Vec<Result<Acquired, StoreError>>` for [`Verb::Acquire`].
    fn after<'a>(&'a self, verb: Verb<'a>, answer: &mut dyn Any) -> BoxFuture<'a, ()> {
        let _ = (verb, answer);
        async {}.boxed()
    }
}

/// Hooks that a test keeps as well.
impl<H: Hooks> Hooks for Arc<H> {
    fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        self.as_ref().before(verb)
    }

    fn after<'a>(&'a self, verb: Verb<'a>, answer: &mut dyn Any) -> BoxFuture<'a, ()> {
        self.as_ref().after(verb, answer)
    }
}

/// A verb of a store, with all that it was asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Verb<'a> {
    /// [`Store::acquire_each`]; of a node of a quorum also [`QuorumNode::acquire_each_from`], without the fence.
    ///
    /// [`QuorumNode::acquire_each_from`]: leasehold::store::QuorumNode::acquire_each_from
    Acquire(&'a [Arc<Acquisition>]),
    /// [`Store::renew_each`].
    Renew(&'a [Renewal<'a>]),
    /// [`Store::release_each`].
    Release(&'a [(&'a Hold, Duration)]),
    /// [`Store::is_held`].
    IsHeld(&'a Hold),
    /// [`Store::inspect`].
    Inspect(&'a ResourceName),
    /// [`Store::list`].
    List(&'a Walk),
    /// [`Store::force_release`].
    ForceRelease(&'a ResourceName),
    /// [`Store::set_capacity`].
    SetCapacity(&'a ResourceName, Option<NonZeroU32>),
    /// [`Store::notify_holders`].
    NotifyHolders(&'a ToHolders),
    /// [`Store::register`].
    Register(&'a ResourceName, Option<&'a RegisterWrite>),
    /// [`Store::server_load`].
    ServerLoad,
    /// `QuorumNode::give_way`.
    GiveWay(&'a Acquisition),
    /// `QuorumNode::raise_fences`.
    RaiseFences(&'a [(&'a Hold, Fence)]),
    /// `QuorumNode::incarnation`.
    Incarnation,
    /// `QuorumNode::report`.
    Report,
    /// `QuorumNode::teach`.
    Teach(&'a Recovered),
}

/// A store with [`Hooks`]. It leads to them as a smart pointer does.
///
/// A hand-off and an acquisition of several resources are done by single verbs, so that the hooks see those.
#[derive(Clone, Debug)]
pub struct Decorated<S, H> {
    inner: S,
    hooks: H,
    has_queue: bool,
    is_repeated: bool,
}

impl<S, H> Decorated<S, H> {
    /// Puts hooks around a store.
    pub const fn new(inner: S, hooks: H) -> Self {
        Self { inner, hooks, has_queue: true, is_repeated: false }
    }

    /// Executes each verb twice and returns the second answer, as if the first had been lost and the verb sent again.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self { is_repeated: true, ..self }
    }

    /// Leaves out the queue: tickets are ignored, and nobody is notified, as with the plain layout.
    #[must_use]
    pub fn without_queue(self) -> Self {
        Self { has_queue: false, ..self }
    }
}

impl<S, H> Deref for Decorated<S, H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.hooks
    }
}

impl<S: Store, H: Hooks> Decorated<S, H> {
    /// Executes a verb between its hooks.
    fn through<'a, T: Send + 'static>(
        &'a self,
        verb: Verb<'a>,
        execute: impl Fn() -> BoxFuture<'a, T> + Send + 'a,
        refused: impl FnOnce(StoreError) -> T + Send + 'a,
    ) -> BoxFuture<'a, T> {
        let before = self.hooks.before(verb);
        async move {
            if let Err(error) = before.await {
                return refused(error);
            }
            if self.is_repeated {
                drop(execute().await);
            }
            let mut answer = execute().await;
            let after = self.hooks.after(verb, &mut answer);
            after.await;
            answer
        }
        .boxed()
    }

    fn one<'a, T: Send + 'static>(
        &'a self,
        verb: Verb<'a>,
        execute: impl Fn() -> Reply<'a, T> + Send + 'a,
    ) -> Reply<'a, T> {
        self.through(verb, execute, Err)
    }

    fn each<'a, T: Send + 'static>(
        &'a self,
        verb: Verb<'a>,
        count: usize,
        execute: impl Fn() -> Replies<'a, T> + Send + 'a,
    ) -> Replies<'a, T> {
        self.through(verb, execute, move |error| refused(count, &error))
    }

    /// Returns what is asked of the inner store.
    fn asked(&self, asked: &[Arc<Acquisition>]) -> Vec<Arc<Acquisition>> {
        let mut asked = asked.to_vec();
        if !self.has_queue {
            asked.iter_mut().for_each(|asked| Arc::make_mut(asked).ticket = None);
        }
        asked
    }
}

fn refused<T>(count: usize, error: &StoreError) -> Vec<Result<T, StoreError>> {
    (0..count).map(|_| Err(error.clone())).collect()
}

impl<S: Store, H: Hooks> Store for Decorated<S, H> {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        let execute = || async { self.inner.acquire_each(&self.asked(asked)).await }.boxed();
        self.each(Verb::Acquire(asked), asked.len(), execute)
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        self.each(Verb::Renew(renewals), renewals.len(), || self.inner.renew_each(renewals))
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        self.each(Verb::Release(releases), releases.len(), || self.inner.release_each(releases))
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        self.one(Verb::IsHeld(hold), || self.inner.is_held(hold))
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        self.one(Verb::Inspect(resource), move || self.inner.inspect(resource, limit))
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        self.one(Verb::List(walk), || self.inner.list(walk))
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        self.one(Verb::ForceRelease(resource), || self.inner.force_release(resource))
    }

    fn set_capacity<'a>(&'a self, resource: &'a ResourceName, permits: Option<NonZeroU32>) -> Reply<'a, ()> {
        let execute = move || self.inner.set_capacity(resource, permits);
        self.one(Verb::SetCapacity(resource, permits), execute)
    }

    fn notify_holders<'a>(&'a self, to: &'a ToHolders) -> Reply<'a, HoldersNotified> {
        self.one(Verb::NotifyHolders(to), || self.inner.notify_holders(to))
    }

    fn register<'a>(
        &'a self,
        name: &'a ResourceName,
        write: Option<&'a RegisterWrite>,
    ) -> Reply<'a, Register> {
        self.one(Verb::Register(name, write), move || self.inner.register(name, write))
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        if self.has_queue { self.inner.listen(inbox) } else { stream::empty().boxed() }
    }

    fn server_load(&self) -> Reply<'_, Vec<ServerLoad>> {
        self.one(Verb::ServerLoad, || self.inner.server_load())
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn durability(&self) -> Durability {
        self.inner.durability()
    }
}
