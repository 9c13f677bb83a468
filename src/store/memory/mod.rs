//! A store in the memory of one process: the contract at its plainest, and faults on demand.

mod faults;
mod record;
mod resource;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use self::{
    faults::{Fault, Faults},
    resource::Resource,
};
use crate::{
    protocol::{Fence, Moment, ResourceName},
    store::{Acquired, Acquisition, Hold, Inspection, Listing, Released, Renewed, Reply, Store, StoreError},
    world::{Clock, SystemClock},
};

/// Locks in the memory of one process.
///
/// For trying out, for applications of one process, and for tests: it keeps the whole contract of [`Store`], in
/// virtual time too (see [`RuntimeClock`](crate::world::RuntimeClock)), and has faults when it is told to. It is also
/// the model that other stores are compared with.
///
/// A clone is another handle to the same store. Its fences grow as long as the machine runs: a store that is started
/// again after a reboot begins with small ones.
#[derive(Clone)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Those that are not free, and some that nobody has asked for since they became free.
    resources: BTreeMap<ResourceName, Resource>,
    last_fence: u64,
    swept: Option<ResourceName>,
    faults: Faults,
}

impl MemoryStore {
    /// A store whose time is that of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Arc::default() }
    }

    /// The next `verbs` verbs, whichever they are, are not executed, and answer [`StoreError::Unavailable`].
    ///
    /// Faults wait in line: each verb takes the one that was asked for first.
    pub fn fail_next(&self, verbs: usize) {
        self.state().faults.script(Fault::Fail, verbs);
    }

    /// The next `verbs` verbs are executed, but answer [`StoreError::Lost`].
    pub fn lose_next_replies(&self, verbs: usize) {
        self.state().faults.script(Fault::LoseReply, verbs);
    }

    /// The next `verbs` verbs are executed and answered only after `pause` (of the tokio runtime's time). One whose
    /// answer is not waited for that long is not executed.
    pub fn stall_next(&self, verbs: usize, pause: Duration) {
        self.state().faults.script(Fault::Stall(pause), verbs);
    }

    /// Forgets all holders, as a server that lost its data and came back empty. Fences go on growing.
    pub fn clear(&self) {
        self.state().resources.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Only a clock of the application can panic while this is locked, and then nothing has been changed yet.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn execute<T>(&self, verb: impl FnOnce(&mut State, Moment) -> T) -> T {
        let mut state = self.state();
        // Read under the lock, so that no verb sees an earlier moment than the one before it.
        let now = in_whole_millis(self.clock.now());
        verb(&mut state, now)
    }

    fn answer<'a, T: Send + 'a>(
        &'a self,
        verb: impl FnOnce(&mut State, Moment) -> Result<T, StoreError> + Send + 'a,
    ) -> Reply<'a, T> {
        Box::pin(async move {
            let fault = self.state().faults.next();
            match fault {
                Some(Fault::Fail) => return Err(faults::unavailable()),
                Some(Fault::Stall(pause)) => tokio::time::sleep(pause).await,
                Some(Fault::LoseReply) | None => {}
            }
            let answer = self.execute(verb);
            if fault == Some(Fault::LoseReply) { Err(faults::lost()) } else { answer }
        })
    }

    fn answer_about<'a, T: Send + 'a>(
        &'a self,
        name: &'a ResourceName,
        verb: impl FnOnce(&mut Resource, Moment) -> T + Send + 'a,
    ) -> Reply<'a, T> {
        self.answer(move |state, now| Ok(state.with(name, |resource| verb(resource, now))))
    }
}

impl Store for MemoryStore {
    fn acquire<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired> {
        self.answer(move |state, now| {
            state.sweep(now);
            state.acquire(asked, now)
        })
    }

    fn renew<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        self.answer_about(&hold.resource, move |resource, now| resource.renew(hold, ttl, now))
    }

    fn release<'a>(&'a self, hold: &'a Hold, closed_for: Duration) -> Reply<'a, Released> {
        self.answer_about(&hold.resource, move |resource, now| resource.release(hold, closed_for, now))
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        self.answer_about(&hold.resource, move |resource, now| resource.is_held(hold, now))
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        self.answer_about(resource, move |resource, now| resource.inspect(limit, now))
    }

    fn list<'a>(&'a self, prefix: &'a [u8], limit: usize) -> Reply<'a, Listing> {
        self.answer(move |state, now| Ok(state.list(prefix, limit, now)))
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        self.answer_about(resource, move |resource, now| {
            resource.settle(now);
            std::mem::take(resource).total()
        })
    }
}

impl State {
    fn acquire(&mut self, asked: &Acquisition, now: Moment) -> Result<Acquired, StoreError> {
        let name = &asked.hold.resource;
        let resource = self.resources.entry(name.clone()).or_default();
        let last = &mut self.last_fence;
        let answer = resource.acquire(asked, now, || {
            let micros = u64::try_from(since_origin(now).as_micros()).unwrap_or(u64::MAX);
            *last = (*last + 1).max(micros);
            Fence::new(*last)
        });
        if resource.is_free() {
            self.resources.remove(name);
        }
        answer
    }

    /// Runs a verb on a resource that may be free; one that is free afterwards is not kept.
    fn with<T>(&mut self, name: &ResourceName, verb: impl FnOnce(&mut Resource) -> T) -> T {
        let Some(resource) = self.resources.get_mut(name) else {
            return verb(&mut Resource::default());
        };
        let answer = verb(resource);
        if resource.is_free() {
            self.resources.remove(name);
        }
        answer
    }

    fn list(&mut self, prefix: &[u8], limit: usize, now: Moment) -> Listing {
        self.resources.retain(|_, resource| {
            resource.settle(now);
            !resource.is_free()
        });
        let mut matching = self.resources.keys().filter(|name| name.as_bytes().starts_with(prefix));
        let resources = matching.by_ref().take(limit).cloned().collect();
        Listing { resources, complete: matching.next().is_none() }
    }

    /// Looks at the next two resources in line, so that those that nobody asks for any more do not pile up: each new
    /// one pays for more than itself.
    fn sweep(&mut self, now: Moment) {
        const AT_ONCE: usize = 2;
        for _ in 0..AT_ONCE {
            let after = self.swept.take().map_or(Bound::Unbounded, Bound::Excluded);
            let Some((name, resource)) = self.resources.range_mut((after, Bound::Unbounded)).next() else {
                return;
            };
            resource.settle(now);
            let (name, free) = (name.clone(), resource.is_free());
            if free {
                self.resources.remove(&name);
            }
            self.swept = Some(name);
        }
    }
}

/// The time as a server keeps it.
fn in_whole_millis(now: Moment) -> Moment {
    let since = since_origin(now);
    now - Duration::from_nanos(u64::from(since.subsec_nanos() % 1_000_000))
}

fn since_origin(moment: Moment) -> Duration {
    Moment::since_origin(Duration::ZERO).elapsed(moment)
}

impl Default for MemoryStore {
    /// A store whose time is that of the machine.
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("clock", &self.clock).finish_non_exhaustive()
    }
}
