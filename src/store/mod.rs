//! The store of locks, and the contract that every implementation keeps.
//!
//! An application names [`Store`] at most. All else here is for a store of your own.
//!
//! **Invariant:** nothing in this folder knows an actor. A store decides who holds what. It does not wait, does not renew
//! by itself, and does not remember callers.

pub(crate) mod error;
pub(crate) mod inspection;
pub(crate) mod memory;
pub(crate) mod node;
mod notification;
pub(crate) mod quorum;
pub(crate) mod redis;
pub(crate) mod types;

use std::{fmt, num::NonZeroU32, sync::Arc, time::Duration};

use futures_util::FutureExt;

pub(crate) use self::{
    error::{Certainty, NodeFailure, StoreError},
    inspection::{Durability, Holder, HolderState, Inspection, Listing, Metadata, Waiter, ensure_short},
    memory::MemoryStore,
    node::{AcquiredFrom, HandOff},
    notification::{LONGEST_REASON, is_reason},
    quorum::{QuorumOptions, QuorumStore},
    redis::RedisStore,
    types::Answers,
};
pub use self::{
    inspection::{Names, ServerLoad, TOLD_AT_MOST, Walk},
    node::QuorumNode,
    notification::{
        CALLED_AT_MOST, HolderNotice, HoldersNotified, Inbox, NEXT_AT_MOST, NOTIFIED_AT_MOST, Notification,
        Notifications, STEPS_AT_MOST, ToHolders,
    },
    types::{
        ALL_AT_MOST, Acquired, AcquiredAll, Acquisition, Grant, HandedOff, Hold, QueueTicket,
        REGISTER_KEPT_FOR, Refusal, Register, RegisterVerdict, RegisterWrite, Released, Renewal, Renewed,
        Replies, Reply, join_replies,
    },
};
#[cfg(doc)]
use crate::core::Mode;
use crate::core::ResourceName;
pub(crate) use crate::core::{Incarnation, Recovered, Report};

/// A store of locks.
///
/// # The contract
///
/// **Atomic.** Every verb happens as a whole at one moment, or not at all.
///
/// **Three answers.** `Ok` is certain, whether it grants or refuses. An `Err` carries a [`Certainty`]: the verb was
/// certainly not executed, or its outcome is unknown. In the second case the verb may also be executed later. A store
/// never turns a failure into a refusal. Every answer comes within a time that the store itself bounds.
///
/// **Idempotent per token.** A repeat of a verb with the same token changes nothing that the first call did not change.
/// An acquisition that already holds is granted again, with the same fence or a larger one, and its end is counted anew. A
/// release of a hold that is gone returns [`Released::NotHeld`]. A hold that is over but still keeps its resource closed refuses a
/// late repeat of its own acquisition. After an unknown outcome it is therefore safe to repeat the verb, and safe to
/// release the token.
///
/// **An end for each holder.** Each holder has its own end, kept by the store's own clock and never by a caller's. A
/// holder past its end holds nothing, even if the store has not yet removed its record. Every record has an end.
///
/// **Only the holder.** A token that does not hold can neither renew nor release.
///
/// **Conflicts.** [`Mode::Exclusive`] conflicts with every other holder. [`Mode::Shared`] conflicts with exclusive
/// holders. [`Mode::Permits`] conflicts when the sum would exceed the capacity. Of two capacities in use the smaller one
/// counts, until all of its holders have ended: applications change a capacity one process after the other. A third one
/// conflicts. A capacity that is [set](Self::set_capacity) replaces all. Three cases are errors, because waiting is no remedy:
/// * A request mixes permits with shared holders, or asks for more than are set: [`StoreError::ModeMismatch`].
/// * An owner would wait for itself: [`StoreError::Deadlock`]. It asks exclusively for a resource that it holds shared or
///   in permits (an upgrade), or it asks shared or without [`reentrant`](Acquisition::reentrant) for a resource that it
///   holds exclusively. A shared request beside the owner's own shared hold is granted.
/// * The store contains a value that this library did not write: [`StoreError::Corrupt`].
///
/// A store answers [`StoreError::Unsupported`] to a request for a feature that it does not have, such as a mode or the
/// owner of a hold. A store without a queue ignores a [`QueueTicket`], and refuses every acquisition that it cannot grant
/// at once.
///
/// An exclusive acquisition that is `reentrant` is granted while the same owner alone holds the resource exclusively. It
/// is a separate hold with its own token and end, and with the *same* fence.
///
/// **Fences.** Every grant that is not a re-entry or a repeat has a larger fence than every earlier grant of the
/// resource: at least `last + 1`, and the store's time in µs if `last` may be lost. The store keeps `last` for a retention
/// time after the last grant. After that time the clock alone yields a larger fence.
///
/// **Numbers.** A grant or hand-over of permits gets the lowest number, from 0 on, that no other record of permits has, and keeps
/// it until the resource is free of its record. A store may have none.
///
/// **Closed after the end.** With a [`lock_delay`](Acquisition::lock_delay), a lease that *expires* keeps its resource
/// closed for that additional time, although its holder can no longer renew it. A release opens the resource at once. A
/// release with `cooldown` opens it after that time. [`Inspection`] shows a holder that keeps the resource closed as
/// [`HolderState::Closed`].
///
/// **The queue.** An acquisition that has a [`QueueTicket`] and conflicts with a holder or a waiter is appended to the
/// queue of its resource. It stays there until it is granted, until its token is released, or until its ticket has not been
/// refreshed for [`QueueTicket::ttl`]. A repeat of the acquisition refreshes the ticket and keeps its position.
/// * When a release, an end or a waiter that is gone makes room, the heads of the queue that fit are *handed over* what
///   they requested, in the order of their arrival. Each gets a new fence, an end after its
///   [`QueueTicket::grant_window`], and no lock delay yet. The hand-over happens in the verb that made the room or found
///   it: every acquire, release and force-release looks for room, and an end alone does nothing. Each hand-over sends
///   one notification to the inbox that the ticket names ([`listen`](Self::listen)). A notification may be lost.
/// * A waiter is *taken for dead* when its turn comes and the store can tell that its inbox has no subscriber, or when it
///   was called (below) and did not repeat its acquisition. A waiter that does not take up a hand-over also counts as
///   dead. Dead waiters do not wait: they do not fill the queue, cause no try to be refused, and block no other waiter,
///   unless they ask for more permits than are set. The store still keeps their tickets until these expire. A dead waiter
///   that repeats its acquisition gets its old position back, and is handed over to even if its inbox has no subscriber.
/// * A verb that handed over to another waiter, and leaves somebody waiting, sends [`Notification::Next`] to the first
///   remaining waiter. That waiter attempts again after a grant window, in case the receiver of the hand-over is dead.
///   If the store can tell that this inbox has no subscriber, it tells the next waiter, and so on for at most
///   [`NEXT_AT_MOST`] waiters. The last waiter in the queue is told too, unless it shares the inbox that was told.
/// * A verb that finds a hand-over that was not taken up *calls the roll*: the first [`CALLED_AT_MOST`] waiters are told
///   [`Notification::GoOn`], and repeat their acquisitions. If the next hand-over is not taken up either, every waiter
///   that was called and has not repeated its acquisition since is taken for dead. All dead waiters together therefore
///   cost at most two grant windows, counted from the first verb that finds one. If more than [`CALLED_AT_MOST`] dead waiters
///   are in one queue and their connections look alive, each further [`CALLED_AT_MOST`] cost one more window.
/// * A verb serves the queue for at most [`STEPS_AT_MOST`] steps. If more could be handed over, it sends
///   [`Notification::GoOn`] to the waiters that [`Notification::Next`] would go to, and their verbs hand over the rest.
///   If all waiters that it checked are dead and the resource is still free, the acquisition that asks is granted.
/// * A waiter takes up a hand-over by repeating its acquisition. The repeat counts the end anew, with the acquisition's
///   own TTL and lock delay.
/// * Nobody overtakes. While somebody waits, a free resource is granted only to the head of the queue, to a re-entry, or
///   to a reader whose owner already reads. A try (an acquisition without a ticket) is refused even if it would fit.
/// * A resource has at most [`QueueTicket::max_waiters`] waiters. A further one gets [`Acquired::Full`].
///
/// **Batches.** A verb that ends in `_each` does the same verb several times, and costs less than that many calls. Each
/// element is a verb of its own: it is atomic by itself and has its own answer. An element that is refused, fails or has
/// an unknown outcome does not affect the others, unless something that they share fails, such as the connection or a
/// right that one of the resources needs. Elements of one resource are executed in their order, and their fences grow in
/// that order. There is no order between resources, nor between the fences of two resources. A store splits a batch that
/// is too large for one call. If an answer is lost on the way, an element that is sent again may be executed
/// after its successors.
///
/// **Notices.** [`notify_holders`](Self::notify_holders) tells holders that they are to finish, or that they have lost
/// their hold. A notice is no verb on their holds: it takes nothing away, and a holder that misses it holds as before.
///
/// **All or none.** [`acquire_all`](Self::acquire_all) takes several resources at once, each with its own token.
///
/// **Never a scan.** The work of acquire, renew and release is at most logarithmic in the number of holders, and it
/// removes only a bounded number of ended ones. Later verbs remove the rest, which holds nothing meanwhile; permits may
/// become free that much later. Only [`list`](Self::list) walks over names.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Acquires each of these resources if it is free.
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired>;

    /// Extends each of these holds: its end is its TTL from now. Only a live holder is renewed, and described.
    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed>;

    /// Releases each of these holds. Its resource opens after the cooldown beside it, which is usually zero.
    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released>;

    /// Acquires a resource if it is free: [`acquire_each`](Self::acquire_each) for one.
    fn acquire<'a>(&'a self, asked: &Acquisition) -> Reply<'a, Acquired> {
        let asked = [Arc::new(asked.clone())];
        async move { only("acquire", self.acquire_each(&asked).await) }.boxed()
    }

    /// Extends a hold: [`renew_each`](Self::renew_each) for one.
    fn renew<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        async move { only("renew", self.renew_each(&[Renewal::new(hold, ttl)]).await) }.boxed()
    }

    /// Releases a hold: [`release_each`](Self::release_each) for one.
    fn release<'a>(&'a self, hold: &'a Hold, cooldown: Duration) -> Reply<'a, Released> {
        async move { only("release", self.release_each(&[(hold, cooldown)]).await) }.boxed()
    }

    /// Returns true if this token holds at this moment.
    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool>;

    /// Returns the holders of the resource, those that end first, and its waiters, the first of the queue: of each at most `limit`,
    /// and at most [`TOLD_AT_MOST`]. A waiter whose ticket has expired, or that is taken for dead, is not among them.
    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection>;

    /// Lists the names that a walk is after, in the order of their bytes.
    ///
    /// A store that has no registers answers [`StoreError::Unsupported`] to a walk to [`Names::Registers`].
    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing>;

    /// Releases a resource for all its holders, and opens it to the waiters. Returns the number of holders that there
    /// were. A store that can [notify holders](Self::notify_holders) sends them [`HolderNotice::Taken`].
    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64>;

    /// Sets the number of permits of a resource, in place of the capacities that requests name and have named, until it is set
    /// anew; `None` removes it. It has no end. Nobody loses permits, and new ones are granted when the sum fits. The first
    /// [`CALLED_AT_MOST`] waiters are told [`Notification::GoOn`]. A store without this verb answers [`StoreError::Unsupported`].
    fn set_capacity<'a>(&'a self, resource: &'a ResourceName, permits: Option<NonZeroU32>) -> Reply<'a, ()> {
        let _ = (resource, permits);
        async { Err(StoreError::unsupported("capacity to set", "requests alone name the permits")) }.boxed()
    }

    /// Notifies holders of a resource, and returns the tokens of those that hold at this moment: at most
    /// [`NOTIFIED_AT_MOST`]. Nothing else changes. The notice goes to every inbox with a subscriber, as one
    /// [`Notification::ToHolders`]; like every notification it may be lost. Without a notice nobody is told.
    ///
    /// A store without notifications, or without this verb, answers [`StoreError::Unsupported`].
    fn notify_holders<'a>(&'a self, to: &'a ToHolders) -> Reply<'a, HoldersNotified> {
        let _ = to;
        let reason = "it cannot notify holders";
        std::future::ready(Err(StoreError::unsupported("revocation", reason))).boxed()
    }

    /// Releases `from` and acquires `to`, which asks for the same resource exclusively. The effect is that of the two
    /// verbs, but at one moment, so that nobody comes in between. With `overtake`, `to` goes ahead of all waiters. A
    /// queue ticket that `to` had is removed.
    ///
    /// A store that cannot do both at one moment does one after the other, and does not let `to` overtake.
    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, HandedOff> {
        let _ = overtake;
        release_then_acquire(self, from, to).boxed()
    }

    /// Takes all of these at one moment, or none of them. Each is a try: its [`ticket`](Acquisition::ticket) is ignored. At
    /// most [`ALL_AT_MOST`] are accepted, because the store serves nobody else meanwhile. If one cannot be granted, the
    /// grants of this call are undone. A hold that a token had before stays.
    ///
    /// After an error whose certainty is not [`Certainty::NotExecuted`], each token may hold or not: release all of them.
    ///
    /// A store that cannot do it at one moment acquires one after the other. If one cannot be granted, it releases all,
    /// including holds that a token had before.
    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        one_after_the_other(self, asked).boxed()
    }

    /// Reads the register of this name, which has nothing to do with the locks of the same name. If `write` is given, the
    /// register is written before that at the same moment, unless its revision is not the expected one, or the time for the
    /// write has not come.
    ///
    /// A repeat of a write is answered as the first one, until somebody else writes. So after an unknown outcome it is safe
    /// to repeat it, and one of its revision that is executed late changes nothing. A store that is confirmed by replicas
    /// confirms the repeat as well, and all that was written before it. A register is kept for [`REGISTER_KEPT_FOR`] after
    /// the last call about it.
    ///
    /// A store that has no registers answers [`StoreError::Unsupported`], and cannot be used for schedules.
    fn register<'a>(&'a self, of: &'a ResourceName, write: Option<&'a RegisterWrite>) -> Reply<'a, Register> {
        let _ = (of, write);
        async { Err(StoreError::unsupported("registers", "schedules need a store that has them")) }.boxed()
    }

    /// Returns the notifications to this inbox, as a stream without an end. The stream connects and reconnects by itself.
    /// A store without a queue sends no notifications, and its stream ends at once.
    fn listen(&self, inbox: &Inbox) -> Notifications;

    /// Returns the load of each server that grants: on a cluster of all masters, on a quorum of the first majority that answers.
    /// It changes nothing.
    ///
    /// A store that does not know it answers [`StoreError::Unsupported`].
    fn server_load(&self) -> Reply<'_, Vec<ServerLoad>> {
        async { Err(StoreError::unsupported("the load of the server", "it has none that it could ask")) }
            .boxed()
    }

    /// Returns the location of the locks in one line for a log: an address, without user and password.
    fn describe(&self) -> String {
        std::any::type_name::<Self>().to_owned()
    }

    /// Returns true if the locks are in the memory of this process, and exclude nobody outside of it.
    fn is_local(&self) -> bool {
        false
    }

    /// Returns the durability of this store: the extent of loss that makes it forget a hold. It applies to every hold
    /// that the store granted or renewed.
    fn durability(&self) -> Durability {
        Durability::OneCopy
    }
}

/// Returns the answer of a batch of one.
fn only<T>(verb: &str, mut answers: Answers<T>) -> Result<T, StoreError> {
    let lost = || StoreError::reply_lost(format!("{verb}: the store gave no answer to one question"));
    answers.pop().ok_or_else(lost)?
}

/// Acquires those that a store does not refuse without sending them. The answers are in the order of the requests.
async fn acquire_unless<F: Future<Output = Answers<Acquired>>>(
    asked: &[Arc<Acquisition>],
    refused: impl Fn(&Acquisition) -> Option<StoreError>,
    acquire: impl FnOnce(Vec<Arc<Acquisition>>) -> F,
) -> Answers<Acquired> {
    let refused: Vec<_> = asked.iter().map(|asked| refused(asked)).collect();
    let fit = asked.iter().zip(&refused).filter(|(_, refused)| refused.is_none());
    let fit: Vec<_> = fit.map(|(asked, _)| Arc::clone(asked)).collect();
    let answers = if fit.is_empty() { Vec::new() } else { acquire(fit).await };
    let mut answers = answers.into_iter();
    refused.into_iter().filter_map(|refused| refused.map(Err).or_else(|| answers.next())).collect()
}

/// Implements [`Store::hand_off`] for stores that cannot do both at one moment.
async fn release_then_acquire<S: Store + ?Sized>(
    store: &S,
    from: &Hold,
    to: &Acquisition,
) -> Result<HandedOff, StoreError> {
    let released = store.release(from, Duration::ZERO).await?;
    let acquired = store.acquire(to).await;
    let others_wait = !matches!(acquired, Ok(Acquired::Granted(_)));
    Ok(HandedOff { released, acquired, others_wait })
}

/// Implements [`Store::acquire_all`] for stores that cannot do it at one moment.
async fn one_after_the_other<S: Store + ?Sized>(
    store: &S,
    asked: &[Arc<Acquisition>],
) -> Result<AcquiredAll, StoreError> {
    let mut grants = Vec::with_capacity(asked.len());
    for (which, one) in asked.iter().enumerate() {
        let kept_out = match store.acquire(&one.as_try()).await {
            Ok(Acquired::Granted(grant)) => {
                grants.push(grant);
                continue;
            }
            Ok(Acquired::Refused(refusal)) => Ok(AcquiredAll::Refused { which, refusal }),
            Ok(other) => Err(StoreError::reply_lost(format!("acquire: a try was answered {other:?}"))),
            Err(error) if error.certainty() == Certainty::NotExecuted => {
                Ok(AcquiredAll::Failed { which, error })
            }
            Err(error) => Err(error),
        };
        let releases: Vec<_> = asked[..which].iter().map(|granted| (&granted.hold, Duration::ZERO)).collect();
        let failed = |error| StoreError::ReplyLost {
            doing: "acquire_all: one was not granted, and another could not be released".to_owned(),
            source: Some(Arc::new(error)),
        };
        let mut released = store.release_each(&releases).await.into_iter();
        released.try_for_each(|released| released.map(drop).map_err(failed))?;
        return kept_out;
    }
    Ok(AcquiredAll::Granted(grants))
}
