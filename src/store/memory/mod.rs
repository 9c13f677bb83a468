//! An in-memory store for one process: the contract in its simplest form, and faults on demand.

mod holders;
mod queue;
mod record;
mod registers;
mod resource;
mod state;
#[cfg(test)]
mod tests;
mod turn;

use std::{
    fmt, iter,
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use parking_lot::Mutex;

use self::{
    resource::Resource,
    state::{Fault, MemoryState},
    turn::VerbTurn,
};
use crate::{
    core::{Fence, Moment, ResourceName},
    runtime::env::{Clock, SystemClock},
    store::{
        Acquired, AcquiredAll, AcquiredFrom, Acquisition, HandOff, HandedOff, Hold, HoldersNotified, Inbox,
        Incarnation, Inspection, Listing, Notifications, QuorumNode, Recovered, Register, RegisterWrite,
        Released, Renewal, Renewed, Replies, Reply, Report, Store, StoreError, ToHolders, Walk, join_replies,
    },
};

/// Locks in the memory of one process.
///
/// It serves for trials, for applications of one process, and for tests. It keeps the whole contract of [`Store`], in
/// virtual time too, and has faults when it is told to. It is also the model that other stores
/// are compared with.
///
/// A clone is another handle to the same store. Fences grow as long as the machine runs: a store that is started again
/// after a reboot begins with small ones.
#[derive(Clone)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<MemoryState>>,
}

impl MemoryStore {
    /// Creates a store that takes its time from `clock`, such as a [`RuntimeClock`](crate::env::RuntimeClock).
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let state = MemoryState::started(clock.now());
        Self { clock, state: Arc::new(Mutex::new(state)) }
    }

    /// Makes the next `verbs` verbs, whichever they are, fail with [`StoreError::Unavailable`]. They are not executed.
    ///
    /// Faults are taken in the order in which they were asked for, one by each verb.
    pub fn fail_next(&self, verbs: usize) {
        self.script(Fault::Fail, verbs);
    }

    /// Loses the replies to the next `verbs` verbs: they are executed, but answer [`StoreError::ReplyLost`].
    pub fn lose_next_replies(&self, verbs: usize) {
        self.script(Fault::LoseReply, verbs);
    }

    /// Delays the next `verbs` verbs: they are executed and answered only after `pause` (of the tokio runtime's time).
    /// A verb whose caller stops waiting before that is not executed.
    pub fn stall_next(&self, verbs: usize, pause: Duration) {
        self.script(Fault::Stall(pause), verbs);
    }

    /// Loses all notifications from now on, without telling the subscribers, until it is called with `false`.
    pub fn lose_notifications(&self, lose: bool) {
        self.state.lock().inboxes.losing = lose;
    }

    /// Disconnects all subscribers: they get [`Notification::Disconnected`], and nothing more, until this is called with
    /// `false`. Then they get [`Notification::Subscribed`].
    ///
    /// [`Notification::Disconnected`]: crate::store::Notification::Disconnected
    /// [`Notification::Subscribed`]: crate::store::Notification::Subscribed
    pub fn disconnect_subscribers(&self, disconnected: bool) {
        self.state.lock().inboxes.disconnect(disconnected);
    }

    /// Sets the store's time of day, which only its registers show. It goes on by the clock of the store.
    pub fn set_time(&self, time: SystemTime) {
        self.execute(|state, now| state.registers.set_time(time, now));
    }

    /// Removes all holders, waiters and registers, like a server that lost its data and came back empty. Fences go on
    /// growing.
    pub fn clear(&self) {
        self.state.lock().clear();
    }

    /// Forgets everything, fences too, like a server without persistence that was killed and started again: it is
    /// another [`Incarnation`]. Faults that are still to come stay, and so do subscribers.
    pub fn restart(&self) {
        let now = self.clock.now();
        self.state.lock().restart(now);
    }

    fn script(&self, fault: Fault, verbs: usize) {
        self.state.lock().faults.extend(iter::repeat_n(fault, verbs));
    }

    fn execute<T>(&self, verb: impl FnOnce(&mut MemoryState, Moment) -> T) -> T {
        let mut state = self.state.lock();
        // Read under the lock, so that no verb sees an earlier moment than the one before it; in whole milliseconds, as
        // a server keeps it.
        let now = self.clock.now().on_tick(Duration::from_millis(1));
        verb(&mut state, now)
    }

    fn answer<'a, T: Send + 'a>(
        &'a self,
        verb: impl FnOnce(&mut MemoryState, Moment) -> Result<T, StoreError> + Send + 'a,
    ) -> Reply<'a, T> {
        Box::pin(async move {
            let fault = self.state.lock().faults.pop_front();
            match fault {
                Some(Fault::Fail) => return Err(StoreError::unavailable("a scripted fault")),
                Some(Fault::Stall(pause)) => tokio::time::sleep(pause).await,
                Some(Fault::LoseReply) | None => {}
            }
            let answer = self.execute(verb);
            match fault {
                Some(Fault::LoseReply) => Err(StoreError::reply_lost("a scripted fault")),
                _ => answer,
            }
        })
    }

    fn answer_about<'a, T: Send + 'a>(
        &'a self,
        name: &'a ResourceName,
        verb: impl FnOnce(&mut Resource, &mut VerbTurn<'_>) -> T + Send + 'a,
    ) -> Reply<'a, T> {
        self.answer(move |state, now| Ok(state.with(name, now, verb)))
    }
}

impl Store for MemoryStore {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        join_replies(asked.iter().map(|asked| self.answer(move |state, now| state.acquire(asked, None, now))))
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        join_replies(renewals.iter().map(|it| {
            self.answer_about(&it.hold.resource, move |resource, turn| resource.renew(it, turn.now))
        }))
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        join_replies(releases.iter().map(|&(hold, cooldown)| {
            self.answer_about(&hold.resource, move |resource, turn| resource.release(hold, cooldown, turn))
        }))
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        self.answer_about(&hold.resource, move |resource, _| resource.is_held(hold))
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        self.answer_about(resource, move |resource, turn| resource.inspect(limit, turn.now))
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        self.answer(move |state, now| Ok(state.list(walk, now)))
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        self.answer_about(resource, Resource::force_release)
    }

    fn set_capacity<'a>(&'a self, resource: &'a ResourceName, permits: Option<NonZeroU32>) -> Reply<'a, ()> {
        self.answer_about(resource, move |resource, turn| resource.set_capacity(permits, turn))
    }

    fn notify_holders<'a>(&'a self, to: &'a ToHolders) -> Reply<'a, HoldersNotified> {
        self.answer_about(&to.resource, move |resource, turn| resource.notify_holders(to, turn))
    }

    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, HandedOff> {
        self.answer(move |state, now| Ok(state.hand_off((from, to), overtake, None, now)))
    }

    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        self.answer(move |state, now| state.acquire_all(asked, now))
    }

    fn register<'a>(&'a self, of: &'a ResourceName, write: Option<&'a RegisterWrite>) -> Reply<'a, Register> {
        self.answer(move |state, now| Ok(state.registers.register(of, write, now)))
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        self.state.lock().inboxes.listen(*inbox)
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn is_local(&self) -> bool {
        true
    }
}

impl QuorumNode for MemoryStore {
    fn acquire_each_from<'a>(
        &'a self,
        asked: &'a [Arc<Acquisition>],
        first: Fence,
    ) -> BoxFuture<'a, AcquiredFrom> {
        let acquire = |(number, asked): (u64, &'a Arc<Acquisition>)| {
            let least = Fence::new(first.get().saturating_add(number));
            self.answer(move |state, now| {
                let answer = state.acquire(asked, Some(least), now);
                Ok((answer, Fence::new(now.micros()), state.recovered.clone()))
            })
        };
        let acquired_from = |answers: Vec<Result<(_, Fence, Option<Recovered>), _>>| {
            let clock = answers.iter().flatten().map(|(_, clock, _)| *clock).max();
            let recovered = answers.iter().flatten().next().and_then(|(.., recovered)| recovered.clone());
            let answers = answers.into_iter().map(|answer| answer.and_then(|(acquired, ..)| acquired));
            AcquiredFrom { answers: answers.collect(), clock, recovered }
        };
        join_all((0..).zip(asked).map(acquire)).map(acquired_from).boxed()
    }

    fn hand_off_from<'a>(&'a self, from: &'a Hold, to: &'a Arc<Acquisition>, first: Fence) -> HandOff<'a> {
        let answer = self.answer(move |state, now| {
            let HandedOff { released, acquired, .. } = state.hand_off((from, to), false, Some(first), now);
            let (clock, recovered) = (Some(Fence::new(now.micros())), state.recovered.clone());
            Ok((released, AcquiredFrom { answers: vec![acquired], clock, recovered }))
        });
        answer.map(AcquiredFrom::after_release).boxed()
    }

    fn give_way<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, bool> {
        self.answer_about(&asked.hold.resource, move |resource, turn| {
            resource.give_way(asked, turn);
            false
        })
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        join_replies(raises.iter().map(|&(hold, fence)| {
            self.answer_about(&hold.resource, move |resource, turn| resource.raise_fence(hold, fence, turn))
        }))
    }

    fn incarnation(&self) -> Reply<'_, Incarnation> {
        self.answer(|state, now| Ok(state.incarnation(now)))
    }

    fn report(&self) -> Reply<'_, Report> {
        self.answer(|state, now| Ok(state.report(now)))
    }

    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()> {
        self.answer(move |state, _| {
            state.teach(lesson);
            Ok(())
        })
    }
}

impl Default for MemoryStore {
    /// Creates a store that takes its time from the machine.
    fn default() -> Self {
        let store = Self::new(Arc::new(SystemClock));
        store.set_time(SystemTime::now());
        store
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("clock", &self.clock).finish_non_exhaustive()
    }
}
