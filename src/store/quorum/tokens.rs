//! The tokens of a quorum: the latest attempt of each, its place in the queues, and its grant.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use crate::{
    core::{Mode, Moment, Owner, QuorumTurn, ResourceName, Token, TurnEvent, TurnStep},
    store::{Acquisition, Hold, Inbox, Metadata, QueueTicket, quorum::fences::GivenFence},
};

/// The time after the end of a token during which a message that was sent for it may still arrive.
pub(super) const AFTER: Duration = Duration::from_secs(60);

/// The number of tokens from which on those that have ended are looked for.
const SWEPT_FROM: usize = 1_024;

/// The tokens that somebody wants: they are granted, wait, or an attempt on them is in progress.
#[derive(Debug)]
pub(super) struct Tokens {
    /// The number of nodes that make a majority.
    needed: usize,
    /// The number of the latest attempt on any of them.
    pub(super) attempts: u64,
    wanted: HashMap<Token, WantedToken>,
    /// The owners that were granted a resource exclusively, with the tokens of their holds.
    owners: HashMap<(ResourceName, Owner), Vec<Token>>,
    sweep_at: usize,
}

#[derive(Debug)]
struct WantedToken {
    attempt: u64,
    end: Moment,
    /// Its place in the queues of the nodes. `None` for a try.
    place: Option<QueuePlace>,
    granted: Option<Granted>,
}

/// The place of a waiter in the queues of the nodes.
#[derive(Debug)]
struct QueuePlace {
    inbox: Inbox,
    /// The number that its first attempt proposed that knew the clock of a node.
    number: Option<u64>,
    turn: QuorumTurn,
}

/// The data needed to grant a hold again on a node that lost it.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    /// The attempt that was granted.
    pub(super) attempt: u64,
    pub(super) asked: Arc<Acquisition>,
    pub(super) fence: Option<Arc<GivenFence>>,
}

/// The knowledge of a token before an attempt on it.
#[derive(Debug)]
pub(super) struct Before {
    /// The fence that it should be granted with: that of the live hold that it repeats or re-enters.
    pub(super) expected: Option<Arc<GivenFence>>,
    pub(super) waited: bool,
}

impl WantedToken {
    fn waits(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.turn.waits())
    }
}

impl Tokens {
    pub(super) fn new(needed: usize) -> Self {
        Self { needed, attempts: 0, wanted: HashMap::new(), owners: HashMap::new(), sweep_at: SWEPT_FROM }
    }

    /// Begins an attempt on these requests. From now on earlier attempts of the same tokens release nothing. Each request that
    /// waits in queues gets its place there: `number`, unless it has one from an earlier attempt.
    pub(super) fn begin(
        &mut self,
        asked: &mut [Arc<Acquisition>],
        number: Option<u64>,
        now: Moment,
    ) -> (u64, Vec<Before>) {
        self.sweep(now);
        self.attempts += 1;
        let attempt = self.attempts;
        let begin = |asked: &mut Arc<Acquisition>| {
            let expected = self.given(asked, now);
            let (token, end) = (asked.hold.token, now + asked.ttl);
            let before = self.wanted.remove(&token);
            let waited = before.as_ref().is_some_and(WantedToken::waits);
            let place = asked.ticket.map(|ticket| match before.and_then(|before| before.place) {
                None => QueuePlace { inbox: ticket.inbox, number, turn: QuorumTurn::new() },
                Some(QueuePlace { number: known, mut turn, .. }) => {
                    turn.on(TurnEvent::Begun, self.needed, |splits| draw(token, splits));
                    QueuePlace { inbox: ticket.inbox, number: known.or(number), turn }
                }
            });
            if let Some(place) = place.as_ref().and_then(|place| place.number) {
                let ticket = asked.ticket.map(|ticket| QueueTicket { place: Some(place), ..ticket });
                *asked = Arc::new(Acquisition { ticket, ..Acquisition::clone(asked) });
            }
            self.wanted.insert(token, WantedToken { attempt, end, place, granted: None });
            Before { expected, waited }
        };
        (attempt, asked.iter_mut().map(begin).collect())
    }

    /// Records a grant. Returns false, and records nothing, if its token was released meanwhile.
    pub(super) fn grant(&mut self, granted: Granted) -> bool {
        let Acquisition { hold, mode, .. } = &*granted.asked;
        let (token, key) = (hold.token, key(hold).filter(|_| *mode == Mode::Exclusive));
        let Some(wanted) = self.latest(token, granted.attempt) else { return false };
        wanted.granted = Some(granted);
        if let Some(key) = key {
            let tokens = self.owners.entry(key).or_default();
            if !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        true
    }

    /// Ends an attempt on this token. If it was not granted, it waits until that moment, or is removed. Returns true if it
    /// waits from now on: it was neither released nor asked for again meanwhile.
    pub(super) fn finish(&mut self, attempt: u64, hold: &Hold, waits: Option<Moment>) -> bool {
        let wanted = self.latest(hold.token, attempt).filter(|wanted| wanted.granted.is_none());
        let Some(wanted) = wanted else { return false };
        match waits {
            Some(end) => wanted.end = end,
            None => self.remove(hold),
        }
        waits.is_some()
    }

    /// Has a waiter handle an event. Returns its latest attempt, its inbox, and what follows; `None` if it has no place in the
    /// queues, or has attempted again since this attempt.
    pub(super) fn follow(
        &mut self,
        token: Token,
        since: Option<u64>,
        event: TurnEvent<'_>,
    ) -> Option<(u64, Inbox, Vec<TurnStep>)> {
        let wanted = self.wanted.get_mut(&token)?;
        let attempt = wanted.attempt;
        let place = wanted.place.as_mut().filter(|_| since.is_none_or(|since| since == attempt))?;
        let steps = place.turn.on(event, self.needed, |splits| draw(token, splits));
        Some((attempt, place.inbox, steps))
    }

    /// Removes the place of a token that this attempt was granted. Returns the nodes that have named it since.
    pub(super) fn leave_queues(&mut self, token: Token, attempt: u64) -> Vec<usize> {
        let place = self.latest(token, attempt).and_then(|wanted| wanted.place.take());
        place.map(|place| place.turn.named_by).unwrap_or_default()
    }

    /// Returns the time after which a waiter should attempt again whose vote was split just now.
    pub(super) fn patience_after_split(&self, token: Token) -> Duration {
        let place = self.wanted.get(&token).and_then(|wanted| wanted.place.as_ref());
        let turn = place.map_or(const { &QuorumTurn::new() }, |place| &place.turn);
        turn.patience_after_split(|splits| draw(token, splits))
    }

    /// Returns the time until which this token holds at least, if no node has forgotten it; `None` if it was not granted.
    pub(super) fn end(&self, token: Token) -> Option<Moment> {
        self.wanted.get(&token).filter(|wanted| wanted.granted.is_some()).map(|wanted| wanted.end)
    }

    /// Extends the end of this token. Returns true if it is granted.
    pub(super) fn renewed(&mut self, token: Token, end: Moment) -> bool {
        let Some(wanted) = self.wanted.get_mut(&token) else { return false };
        wanted.end = wanted.end.max(end);
        wanted.granted.is_some()
    }

    pub(super) fn describe(&mut self, token: Token, metadata: &Arc<Metadata>) {
        if let Some(granted) = self.wanted.get_mut(&token).and_then(|wanted| wanted.granted.as_mut()) {
            Arc::make_mut(&mut granted.asked).metadata = Arc::clone(metadata);
        }
    }

    /// Returns the grant of this token, until its end.
    pub(super) fn granted(&self, token: Token, now: Moment) -> Option<&Granted> {
        self.wanted.get(&token).filter(|wanted| wanted.end > now)?.granted.as_ref()
    }

    /// Returns true if this token holds by the grant of this attempt, until its end.
    pub(super) fn holds_since(&self, token: Token, attempt: u64, now: Moment) -> bool {
        self.granted(token, now).is_some_and(|granted| granted.attempt == attempt)
    }

    /// Returns true if this token waits since this attempt.
    pub(super) fn waits_since(&self, token: Token, attempt: u64) -> bool {
        self.wanted.get(&token).is_some_and(|wanted| wanted.attempt == attempt && wanted.waits())
    }

    /// Returns the token if this is its latest attempt.
    fn latest(&mut self, token: Token, attempt: u64) -> Option<&mut WantedToken> {
        self.wanted.get_mut(&token).filter(|wanted| wanted.attempt == attempt)
    }

    pub(super) fn is_wanted(&self, token: Token) -> bool {
        self.wanted.contains_key(&token)
    }

    pub(super) fn is_latest(&self, token: Token, attempt: u64) -> bool {
        self.wanted.get(&token).is_some_and(|wanted| wanted.attempt == attempt)
    }

    /// Returns true if a later attempt than this one wants the token.
    pub(super) fn is_wanted_since(&self, token: Token, attempt: u64) -> bool {
        self.wanted.get(&token).is_some_and(|wanted| {
            let forgotten =
                wanted.waits() && planted!("a release of an earlier attempt takes the place of a later one");
            wanted.attempt > attempt && !forgotten
        })
    }

    /// Removes the token of this hold, which nobody wants any more.
    pub(super) fn remove(&mut self, hold: &Hold) {
        self.wanted.remove(&hold.token);
        let Some(key) = key(hold) else { return };
        if let Entry::Occupied(mut tokens) = self.owners.entry(key) {
            tokens.get_mut().retain(|token| *token != hold.token);
            if tokens.get().is_empty() {
                tokens.remove();
            }
        }
    }

    /// Returns the fence of the live hold that this request repeats or re-enters.
    fn given(&self, asked: &Acquisition, now: Moment) -> Option<Arc<GivenFence>> {
        let given = |token: &Token| self.granted(*token, now)?.fence.clone();
        given(&asked.hold.token).or_else(|| {
            let re_enters = asked.reentrant && asked.mode == Mode::Exclusive;
            let tokens = self.owners.get(&key(&asked.hold).filter(|_| re_enters)?)?;
            tokens.iter().filter_map(given).max_by_key(|given| given.get())
        })
    }

    /// Removes tokens that ended unreleased, when there are twice as many as were left the last time.
    fn sweep(&mut self, now: Moment) {
        if self.wanted.len() >= self.sweep_at {
            self.wanted.retain(|_, wanted| wanted.end + AFTER > now);
            let live = &self.wanted;
            self.owners.retain(|_, tokens| {
                tokens.retain(|token| live.contains_key(token));
                !tokens.is_empty()
            });
            self.sweep_at = SWEPT_FROM.max(2 * self.wanted.len());
        }
    }
}

/// Returns the key under which the holds of an owner are found.
fn key(hold: &Hold) -> Option<(ResourceName, Owner)> {
    hold.owner.as_ref().map(|owner| (hold.resource.clone(), owner.clone()))
}

/// Returns a number in `0.0..=1.0` that differs from one waiter to another, because tokens are random.
fn draw(token: Token, splits: u32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (token, splits).hash(&mut hasher);
    hasher.finish() as f64 / u64::MAX as f64
}
