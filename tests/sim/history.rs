//! What happened in a simulated world: one line an event, in the order in which it happened.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use leasehold::{
    Fence, LossReason, Mode, Owner, StoreError, Token,
    store::{Acquired, HandedOff, Released, Renewed},
};
use tokio::time::Instant;

use super::queue::Seen;

/// Something that happened.
pub struct Event {
    /// Since the world began.
    pub(crate) at: Duration,
    /// The number of the resource.
    pub resource: usize,
    pub(crate) what: What,
}

/// What happened: first to clients, then in the store.
#[derive(Debug)]
pub(crate) enum What {
    /// A client asks.
    Asked { request: u64, wait: Duration },
    /// It got nothing.
    Failed { request: u64, kind: &'static str },
    /// It gave up before the answer came.
    Cancelled { request: u64 },
    /// It got a lease, and believes in it until it is told, or until the given time.
    Granted { grant: Held, until: Option<Duration>, min_hold: bool },
    /// It lets go: by a release, or by dropping the lease.
    LetGo { token: Token },
    /// Its release was answered.
    #[expect(dead_code, reason = "the answer is only shown in reports")]
    Answered { token: Token, answer: String },
    /// It was told that the lease is lost.
    LossTold { token: Token, reason: LossReason },
    /// It looked at its lease.
    Looked { token: Token, valid: bool },
    /// It worked on what the resource protects, which looks at the fence.
    Worked { token: Token, fence: Fence, accepted: bool },
    /// The store was asked to renew.
    RenewalSent { token: Token },
    /// The store executed an acquisition, and this is what the resource was then.
    Acquired { asked: Wanted, answer: Result<Acquired, StoreError>, seen: Seen },
    /// The store executed a renewal.
    Renewed { token: Token, ttl: Duration, answer: Renewed },
    /// The store was asked to release.
    ReleaseSent { token: Token },
    /// The store executed a release, and this is what the resource was then.
    Released { token: Token, owner: Option<Owner>, cooldown: Duration, answer: Released, seen: Seen },
    /// The store released one hold and gave what it held to another, and this is what the resource was then.
    HandedOff { from: Token, to: Wanted, overtake: bool, limit: u32, answer: HandedOff, seen: Seen },
    /// The world has this many nodes, of which a majority decides.
    Nodes { count: usize },
    /// A node granted or renewed: the token holds there until then. An acquisition tells whose it is.
    OnNode { node: usize, token: Token, request: Option<u64>, end: Duration },
    /// A node executed a release, whether the token held there or not.
    OffNode { node: usize, token: Token },
    /// A node was started again, empty.
    Forgot { node: usize },
    /// The majority granted what it was asked for at `sent`.
    Promised { asked: Wanted, fence: Fence, sent: Duration },
    /// It waits in the queues of a majority.
    Waits { asked: Wanted },
    /// The majority renewed; nobody may believe in it for longer than that.
    Extended { token: Token, until: Duration },
    /// A sum that does not hold, or something that is left over at the end.
    Wrong { property: &'static str, details: String },
}

/// A lease as its holder sees it.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) request: u64,
    pub(crate) token: Token,
    pub(crate) owner: Option<Owner>,
    pub(crate) mode: Mode,
    pub(crate) fence: Fence,
}

/// An acquisition as the store sees it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) request: u64,
    pub(crate) token: Token,
    pub(crate) owner: Option<Owner>,
    pub(crate) mode: Mode,
    pub(crate) reentrant: bool,
    pub(crate) ttl: Duration,
    pub(crate) lock_delay: Duration,
    /// How long its place in the queue is kept, if it wants one.
    pub(crate) ticket_ttl: Option<Duration>,
    /// How long it may keep what it is handed over without asking for it.
    pub(crate) window: Duration,
}

/// Collects events.
#[derive(Debug)]
pub(crate) struct History {
    began: Instant,
    events: Mutex<Vec<Event>>,
}

impl History {
    pub(crate) fn start() -> Self {
        Self { began: Instant::now(), events: Mutex::default() }
    }

    /// How old the world is.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn add(&self, resource: usize, what: What) {
        let event = Event { at: self.now(), resource, what };
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// All events so far, which are then forgotten.
    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns one number for a whole history: two that differ have different ones.
pub fn hash(events: &[Event]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for event in events {
        format!("{event:?}").hash(&mut hasher);
    }
    hasher.finish()
}

impl Event {
    /// Returns true if it is about this token or this request.
    pub fn is_about(&self, token: Token, of: u64) -> bool {
        match &self.what {
            What::Asked { request, .. } | What::Failed { request, .. } | What::Cancelled { request } => {
                *request == of
            }
            What::Granted { grant, .. } => grant.token == token,
            What::Acquired { asked, .. } | What::Promised { asked, .. } | What::Waits { asked } => {
                asked.token == token
            }
            What::HandedOff { from, to, .. } => *from == token || to.token == token,
            What::LetGo { token: its }
            | What::Answered { token: its, .. }
            | What::LossTold { token: its, .. }
            | What::Looked { token: its, .. }
            | What::Worked { token: its, .. }
            | What::RenewalSent { token: its }
            | What::ReleaseSent { token: its }
            | What::Renewed { token: its, .. }
            | What::Released { token: its, .. }
            | What::OnNode { token: its, .. }
            | What::OffNode { token: its, .. }
            | What::Extended { token: its, .. } => *its == token,
            What::Nodes { .. } | What::Forgot { .. } => true,
            What::Wrong { .. } => false,
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>7.3} r{} {:?}", self.at.as_secs_f64(), self.resource, self.what)
    }
}
