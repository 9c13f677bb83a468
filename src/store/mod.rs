//! Where locks live: the contract that every store keeps.
//!
//! **Invariant:** nothing in this folder knows an actor. A store decides who holds what; it does not wait, does not
//! renew by itself, and does not remember callers.

mod all;
mod error;
mod inspection;
pub mod memory;
mod paced;
pub mod quorum;
pub mod redis;
mod safety;
mod verbs;

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
    stream::BoxStream,
};

pub use self::{
    all::{ALL_AT_MOST, AcquiredAll},
    error::{Certainty, Source, StoreError},
    inspection::{Holder, HolderState, Inspection, Listing},
    memory::MemoryStore,
    paced::Paced,
    quorum::{NodeFailure, QuorumOptions, QuorumStore},
    redis::{RedisOptions, RedisStore},
    safety::Safety,
    verbs::{Acquired, Acquisition, Grant, Hold, Metadata, Passed, Place, Refusal, Released, Renewed},
};
#[cfg(doc)]
use crate::protocol::Mode;
pub use crate::protocol::{AHEAD_AT_MOST, Instance, Recovered, Report};
use crate::protocol::{Fence, ResourceName, Token};

/// The answer of a store, on its way.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The answers of a store to several verbs, in their order, on their way.
pub type Replies<'a, T> = BoxFuture<'a, Vec<Result<T, StoreError>>>;

/// Where locks live.
///
/// # The contract
///
/// **Atomic.** Every verb happens as a whole at one moment, or not at all.
///
/// **Three answers.** `Ok` is certain, whether it grants or refuses. An `Err` says by its [`Certainty`] whether the
/// verb was certainly not executed, or whether that is unknown; in the second case it may also be executed later. A
/// store never turns a failure into a refusal. Every answer comes within a time that the store bounds by itself.
///
/// **Idempotent per token.** A verb that is repeated with the same token changes nothing that the first did not:
/// an acquisition that holds already is granted again with the same fence, its end counted anew; a release of
/// what is gone answers [`Released::NotHeld`]. A hold that is over but still keeps its resource closed refuses a late
/// repeat of its own acquisition. So after "unknown" a repeat is safe, and so is giving the token back.
///
/// **Ends of its own.** Each holder has its own end, kept by the store's own clock and never by a caller's. A holder
/// past its end holds nothing, even if the store has not cleaned it away. No record stays without an end.
///
/// **Nobody else's.** A token that does not hold can neither renew nor release.
///
/// **Conflicts.** [`Mode::Exclusive`] conflicts with every other holder; [`Mode::Shared`] with exclusive ones;
/// [`Mode::Permits`] when the sum would exceed the capacity. Three cases are errors and not refusals, because waiting
/// could not cure them:
/// * permits of one capacity on a resource whose holders named another, or shared beside permits:
///   [`StoreError::CapacityMismatch`];
/// * an owner asks exclusively for what it holds shared or in permits (an upgrade), or shared or without
///   [`reentrant`](Acquisition::reentrant) for what it holds exclusively: it would wait for itself, so
///   [`StoreError::Deadlock`]. (Shared beside its own shared is fine.)
/// * something in the store that is not ours: [`StoreError::Corrupt`].
///
/// What a store does not have at all, a mode or the owner of a hold, it refuses with [`StoreError::Unsupported`]. A store
/// without a queue does not look at a [`Place`], and refuses whoever it cannot grant at once.
///
/// An exclusive acquisition that is `reentrant` is granted while the same owner alone holds the resource exclusively;
/// it is a hold of its own, with its own token and end and with the *same* fence.
///
/// **Fences.** Every grant that is not a re-entry or a repeat has a larger fence than every earlier one of the
/// resource: `max(last + 1, the store's time in µs)`. `last` is kept for a retention time after the last grant; then
/// the time is larger anyway.
///
/// **Closed after the end.** With [`lock_delay`](Acquisition::lock_delay) a lease that *expires* keeps its resource
/// closed that much longer, though its holder can no longer renew it; a release opens at once. A release with
/// `closed_for` opens that much later. What keeps a resource closed shows up in [`Inspection`] as
/// [`HolderState::Closed`].
///
/// **The queue.** An acquisition with a [`Place`] that finds somebody in its way is put at the end of its resource's
/// queue. There it stays until it is granted, until its token is released, or until its place has not been refreshed,
/// by repeating the acquisition, for [`Place::patience`]. A repeat keeps the place.
/// * Whenever a release, an end or a waiter that is gone makes room, the heads of the queue that fit are *handed over*
///   what they asked for, in the order of their arrival, each with a new fence, an end after its
///   [`Place::grant_window`], and no lock delay yet. This happens in the verb that made the room, or that found it
///   (every acquire, release and force-release looks; an end alone does nothing). Each hand-over is announced once to
///   the inbox that the place names ([`listen`](Self::listen)); an announcement may be lost.
/// * A waiter is *taken for dead* when its turn comes and the store can tell that nobody listens to its inbox, or when it
///   was called (below) and did not repeat its acquisition. Who was handed over something and does not take it up counts as
///   dead too. The dead do not wait: nobody waits behind them, they do not fill the queue, and no try is refused because
///   of them. But their places are remembered for their patience: one that repeats its acquisition stands where it stood,
///   and from then on it is handed over to even if nobody hears its inbox.
/// * A verb that handed over to somebody else, and leaves somebody waiting, announces [`Announcement::Next`] to the first
///   of those that wait: it looks again after a grant window, in case whoever was handed the resource is dead. If the
///   store can tell that nobody listens to that inbox, it tells the one behind it, and so on for at most
///   [`NEXT_AT_MOST`]. The last of those that wait is told too, unless its inbox is the one that was told.
/// * A verb that finds that something handed over was not taken up *calls the roll*: the first [`CALLED_AT_MOST`] of those
///   that wait are told [`Announcement::GoOn`], and repeat their acquisitions. If the next hand-over is not taken up
///   either, who was called and has not repeated its acquisition since is taken for dead. So all the dead together cost two
///   grant windows at most, from when somebody looks; where more of them than that stand in one queue and their connections
///   look alive, each further [`CALLED_AT_MOST`] cost one more.
/// * A verb serves [`STEPS_AT_MOST`] of the queue. If more could be handed over, the same who would be told that they are
///   next are told [`Announcement::GoOn`], and their verbs hand over the rest. If all that it looked at are dead and the
///   resource is still free, whoever asks is granted it.
/// * A waiter takes up what it was handed over by repeating its acquisition, which then counts its end anew with its own
///   TTL and lock delay.
/// * Nobody overtakes: while somebody waits, whoever is not a re-entry, and not a reader whose owner reads already, is
///   in nobody's way only if it is the head; a try (without a place) is refused, also if it would fit.
/// * A resource has at most [`Place::max_waiters`] waiters; one more is [`Acquired::Full`].
///
/// **Several at once.** The verbs that end in `_each` do the same verb several times, and cost less than so many
/// calls. Each of them is a verb of its own: atomic by itself, with an answer of its own, and whether one is refused,
/// fails, or has an unknown outcome is no harm to its neighbours (unless what they have in common fails, the connection
/// for instance, or a right that one of the resources needs). Those of one resource are executed in their order, and
/// their fences grow in it; between resources there is no order, and the fences of two have none either. A store splits
/// what is too much for one go; if an answer is lost on the way, what is sent again may come after what was behind it.
///
/// **All or none.** [`acquire_all`](Self::acquire_all) takes several resources at once, each for a token of its own.
///
/// **Never a scan.** The work of acquire, renew and release is at most logarithmic in the number of holders, and bounded in
/// the number of those that have ended and are cleared away: what is left over is cleared away by later verbs, and holds
/// nothing meanwhile; permits may come free that much later. Only [`list`](Self::list) walks over names.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Takes what is asked, if it is free.
    fn acquire<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired>;

    /// Counts the end of a hold anew: `ttl` from now. Only a live holder is renewed.
    fn renew<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed>;

    /// Gives a hold back. The resource opens after `closed_for`, which is usually zero.
    fn release<'a>(&'a self, hold: &'a Hold, closed_for: Duration) -> Reply<'a, Released>;

    /// Whether this token holds, at this moment.
    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool>;

    /// Who holds the resource: at most `limit` holders, those that end first.
    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection>;

    /// The resources that are not free and whose name starts with `prefix`: at most `limit`, in order of name.
    fn list<'a>(&'a self, prefix: &'a [u8], limit: usize) -> Reply<'a, Listing>;

    /// Takes a resource away from all its holders, and opens it to those who wait. Answers how many holders there were.
    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64>;

    /// [`acquire`](Self::acquire) for each of these.
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        join_all(asked.iter().map(|asked| self.acquire(asked))).boxed()
    }

    /// [`acquire_each`](Self::acquire_each), but the fence of a new grant to the i-th of them, counted from 0, is at least
    /// `first + i`. A `first` that lies more than [`AHEAD_AT_MOST`] past the store's own time, or more than half of the time
    /// for which it keeps its last fence if that ends, counts as that. The answer also tells the store's time, and what the
    /// store had written down of its recovery ([`teach`](Self::teach)), both at the moment of the acquisitions.
    ///
    /// By it the nodes of a quorum give out the same fences, so that none has to be raised. A store that cannot do it takes
    /// no notice of `first`, and tells neither.
    fn acquire_each_from<'a>(&'a self, asked: &'a [Arc<Acquisition>], first: Fence) -> BoxFuture<'a, Paced> {
        let _ = first;
        self.acquire_each(asked).map(Paced::without_clock).boxed()
    }

    /// [`renew`](Self::renew) for each of these, with its TTL.
    fn renew_each<'a>(&'a self, renewals: &'a [(&'a Hold, Duration)]) -> Replies<'a, Renewed> {
        join_all(renewals.iter().map(|(hold, ttl)| self.renew(hold, *ttl))).boxed()
    }

    /// [`release`](Self::release) for each of these, with how long its resource stays closed.
    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        join_all(releases.iter().map(|(hold, closed_for)| self.release(hold, *closed_for))).boxed()
    }

    /// Releases `from`, and acquires `to`, which asks for the same resource exclusively: as the two verbs would, but at
    /// one moment, so that nobody comes in between. If `overtake`, `to` comes before all who wait; a place that it had
    /// in the queue is given up.
    ///
    /// A store that cannot do both at one moment does one after the other, and does not let `to` overtake.
    fn pass<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, Passed> {
        let _ = overtake;
        all::release_then_acquire(self, from, to).boxed()
    }

    /// Takes all of these, at one moment, or none of them: each as a try, whose [`place`](Acquisition::place) is not
    /// looked at. At most [`ALL_AT_MOST`], for the store serves nobody else meanwhile. If one cannot be granted, those
    /// that this call has granted are taken back; what a token held before is left to it.
    ///
    /// An error, unless it is certain that nothing was executed, leaves each token either holding or not: give all of
    /// them back.
    ///
    /// A store that cannot do it at one moment acquires one after the other, and if one cannot be granted gives all
    /// back, also what a token held before.
    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        all::one_after_the_other(self, asked).boxed()
    }

    /// Gives each of these live holds this fence, unless its own is larger, and makes every later fence of its resource larger
    /// than that. Nothing lowers a fence. Answers for each whether its token holds; if not, nothing is changed.
    ///
    /// It is what a quorum needs of its nodes: they issue fences of their own, and the largest is written back.
    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        let refused = || StoreError::Unsupported {
            asked: "raising of fences".to_owned(),
            reason: "it issues them in its own order".to_owned(),
        };
        async move { raises.iter().map(|_| Err(refused())).collect() }.boxed()
    }

    /// The incarnation of the store that answers now. A verb that was answered before this is asked was answered by it, or
    /// by an earlier one.
    fn instance(&self) -> Reply<'_, Instance> {
        async move { Err(no_recovery()) }.boxed()
    }

    /// What a quorum has to know of a node that may have forgotten: all of it as of one moment.
    fn report(&self) -> Reply<'_, Report> {
        async move { Err(no_recovery()) }.boxed()
    }

    /// Makes every later fence larger than the one that is taught, and writes down what was taught. It is forgotten with
    /// everything else. A lesson of the incarnation that is written down already never lowers its fence.
    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()> {
        let _ = lesson;
        async move { Err(no_recovery()) }.boxed()
    }

    /// The announcements to this inbox, without an end. It connects by itself, again and again. A store without a queue
    /// has nothing to announce, and its announcements end at once.
    fn listen(&self, inbox: &Inbox) -> Announcements;

    /// Where the locks are, in one line for a log: an address, without user and password.
    fn describe(&self) -> String {
        std::any::type_name::<Self>().to_owned()
    }

    /// How much has to be lost before this store forgets a hold that it granted or renewed. It holds for all of them.
    fn safety(&self) -> Safety {
        Safety::OneCopy
    }
}

/// See [`Store::listen`].
pub type Announcements = BoxStream<'static, Announcement>;

/// Where hand-overs are announced: one for each lock manager, named by 128 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inbox(pub Token);

/// What an inbox is told.
#[derive(Clone, Debug)]
pub enum Announcement {
    /// This token was handed over what it waits for.
    HandedOver(Token),
    /// What this token waits for was handed over to somebody else, and it is the next: it should look again when the
    /// grant window is over.
    Next(Token),
    /// This token should look at once, and again when the grant window is over: there was more to hand over than one verb
    /// hands over, or something that was handed over has not been taken up, and those who live are to show it.
    GoOn(Token),
    /// From here on announcements arrive; earlier ones may have been lost. All who wait should attempt now.
    Listening,
    /// No announcement will arrive until [`Listening`](Self::Listening) is told, for this reason; attempts alone go on.
    Deaf(StoreError),
}

fn no_recovery() -> StoreError {
    StoreError::Unsupported {
        asked: "incarnations to tell apart".to_owned(),
        reason: "it does not say when it was started, nor what it may have forgotten".to_owned(),
    }
}

/// How many waiters a store tells at most that they are next, until it finds one that listens. The one that asks is not
/// one of them.
pub const NEXT_AT_MOST: usize = 8;

/// How many waiters a store tells at most at one moment to show that they are alive.
pub const CALLED_AT_MOST: usize = 320;

/// How much of the queue one verb of a store serves at most: a hand-over counts as 5 steps, and a waiter that is passed
/// over because it is taken for dead as one. In a batch on one server the verbs that a call serves have so many together, and
/// each of them at least 5.
pub const STEPS_AT_MOST: u32 = 320;
