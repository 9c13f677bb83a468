//! One resource on one server by scripts: its queue, its holders, and whoever takes it back.
//!
//! Up to five clients ask, each as one acquisition of `src/core/engine/acquisition` does, with one call in flight. An answer may be
//! late or lost, and a call whose connection broke may be executed late. A client may die. A message to a waiter may be lost or
//! late: a waiter asks again whenever it likes, so no message is part of a state. Only [the fair run](fair) has them.
//!
//! Time is counted in ticks, which are the same for the server and all clients. A client counts its lease from the moment at
//! which it sent the call, the server from its execution.

mod client;
mod fair;
mod rules;
mod server;

use std::fmt;

use stateright::{Model, Property};

pub use self::{
    client::QueueAction,
    rules::QueueRules,
    server::{GRANT_WINDOW, QueueAnswer, QueueCall, TTL},
};
use self::{
    client::{Client, Flight, Stage},
    server::{Server, Turn},
};

/// One acquisition: that of `token / ASKS` which is its client.
pub type Token = u8;
/// The most acquisitions of a client.
const ASKS: u8 = 16;
/// The number of clients.
pub const CLIENTS: usize = 5;
/// The hand-offs in a row that may go ahead of waiters: `wait.local_handover_limit`.
const HAND_OFFS: u8 = 1;
/// The ticks that a holder has to finish after it was asked to.
const GRACE: u8 = 1;

/// The name of a property.
pub const ONE_HOLDER: &str = "one client holds at a time, or readers together";
/// The name of a property.
pub const FENCES: &str = "fences grow";
/// The name of a property.
pub const ORDER: &str = "nobody is served before one that came earlier";
/// The name of a property.
pub const HANDED_OVER: &str = "what a verb finds free is handed over";
/// The name of a property.
pub const HAND_OFFS_END: &str = "hand-offs go ahead of waiters for a bounded number of times";
/// The name of a property.
pub const NOBODY_FORGOTTEN: &str = "nobody is forgotten";
/// The name of a property.
pub const SUCCESSOR: &str = "a revoke ends no successor";
/// The name of a property.
pub const GRACE_IS_KEPT: &str = "a revoke ends nobody before the grace is over";
/// The name of a property.
pub const REVOKED: &str = "nobody holds what a revoke has ended";

/// How much can happen.
#[derive(Clone, Copy)]
pub struct QueueWorld {
    /// The rules that are kept.
    pub rules: QueueRules,
    /// How often each client asks.
    pub asks: [u8; CLIENTS],
    /// The clients that are readers.
    pub reads: [bool; CLIENTS],
    /// The clients whose inbox has no subscriber: the store takes them for dead until they come back.
    pub deaf: [bool; CLIENTS],
    /// True if the first two clients are of one manager, which hands off among them.
    pub hands_off: bool,
    /// The ticks for which a queue ticket is kept after its waiter asked last.
    pub ticket_ttl: u8,
    /// How many ticks go by.
    pub ticks: u8,
    /// How often a lease is renewed.
    pub renewals: u8,
    /// How often an answer is on its way for a while.
    pub delays: u8,
    /// How often a connection breaks.
    pub breaks: u8,
    /// How many clients die.
    pub deaths: u8,
    /// How often somebody revokes with a grace.
    pub revokes: u8,
    /// How often somebody takes the resource at once.
    pub forced: u8,
    /// The number of clients that have asked and died before it begins. The first of them holds, the others are in the queue.
    pub begins_dead: usize,
    /// The number of clients after them that are in the queue as it begins.
    pub begins_waiting: usize,
    /// The ticks after which the fair run has served all who wait; `None` if that is not looked at.
    pub served_within: Option<u8>,
}

impl QueueWorld {
    /// A world in which nothing happens yet.
    pub const EMPTY: Self = Self {
        rules: QueueRules::TODAY,
        asks: [0; CLIENTS],
        reads: [false; CLIENTS],
        deaf: [false; CLIENTS],
        hands_off: false,
        ticket_ttl: 3,
        ticks: 0,
        renewals: 0,
        delays: 0,
        breaks: 0,
        deaths: 0,
        revokes: 0,
        forced: 0,
        begins_dead: 0,
        begins_waiting: 0,
        served_within: None,
    };
}

impl fmt::Debug for QueueWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self {
            asks,
            ticks,
            renewals,
            delays,
            breaks,
            deaths,
            revokes,
            forced,
            begins_dead,
            begins_waiting,
            ..
        } = self;
        write!(
            f,
            "queue, asks {asks:?}, {ticks} ticks, {renewals} renewals, {delays} delays, {breaks} breaks, "
        )?;
        write!(
            f,
            "{deaths} deaths, {revokes} revokes, {forced} forced, {begins_dead} dead and {begins_waiting} waiting before"
        )
    }
}

/// All that is the case at a moment.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct QueueState {
    server: Server,
    clients: [Client; CLIENTS],
    /// The calls on connections that broke, and those that take all at once. Nobody waits for their answers.
    late: Vec<QueueCall>,
    revoke: Revocation,
    /// The tokens from which something was taken by force. Their clients need not know.
    taken: Vec<Token>,
    /// What may still happen.
    left: Budget,
    /// The hand-offs in a row that went ahead of waiters, as the manager of the first two clients counts.
    hand_offs: u8,
    /// The largest fence that anybody has begun to hold with, and the largest of one that held alone.
    largest: [u8; 2],
    went_back: bool,
    /// True once a revoke has ended another hold than it had told.
    wronged: bool,
    /// True once a revoke has ended a hold before the grace was over.
    hurried: bool,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
struct Budget {
    ticks: u8,
    renewals: u8,
    delays: u8,
    breaks: u8,
    deaths: u8,
    revokes: u8,
    forced: u8,
}

/// A revoke with a grace: `Revocation` in `src/manager/revoke.rs`.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
enum Revocation {
    #[default]
    None,
    /// The holder of this token was asked to finish, and has so many ticks left.
    Told(Token, u8),
    /// It is released by force, by a call on its way. Carries the grace that was left.
    Taking(Token, u8),
    /// It has been answered.
    Done(Token),
}

/// The client whose acquisition a token is.
pub fn client_of(token: Token) -> usize {
    usize::from(token / ASKS)
}

impl QueueWorld {
    fn turn<'a>(&self, listens: &'a dyn Fn(Token) -> bool) -> Turn<'a> {
        Turn { rules: self.rules, ticket_ttl: self.ticket_ttl, listens, told: Vec::new() }
    }

    fn listens(&self, token: Token) -> bool {
        !self.deaf[client_of(token)]
    }

    /// The call of the store that this action executes.
    pub fn call(&self, state: &QueueState, action: &QueueAction) -> Option<QueueCall> {
        match action {
            QueueAction::Execute(which) | QueueAction::ExecuteSlowly(which) => {
                match state.clients[*which].flight {
                    Some(Flight::Sent(call)) => Some(call),
                    _ => None,
                }
            }
            QueueAction::ExecuteLate(at) => state.late.get(*at).copied(),
            QueueAction::ExecuteTake => state.taking(self.rules),
            QueueAction::Tick => Some(QueueCall::Tick),
            _ => None,
        }
    }

    /// The answer to a call in this state.
    pub fn answer(&self, state: &QueueState, call: QueueCall) -> QueueAnswer {
        state.clone().execute(self, call)
    }
}

impl QueueState {
    /// The tokens that hold, and those that wait in their order.
    pub fn seen(&self) -> (Vec<Token>, Vec<Token>) {
        let mut holders: Vec<_> = self.server.holds.iter().map(|hold| hold.token).collect();
        holders.sort_unstable();
        (holders, self.server.waiting().collect())
    }

    /// Executes a call. Returns the answer.
    fn execute(&mut self, world: &QueueWorld, call: QueueCall) -> QueueAnswer {
        let before = self.seen().0;
        let listens = |token| world.listens(token);
        let answer = self.server.call(call, &mut world.turn(&listens));
        if call == QueueCall::ForceRelease {
            self.taken.extend(before);
        }
        answer
    }

    /// Executes the call that ends a hold after the grace. Returns the tokens that it has ended.
    fn take(&mut self, world: &QueueWorld) -> Vec<Token> {
        let Some(call) = self.taking(world.rules) else { return Vec::new() };
        let mut taken = self.seen().0;
        self.execute(world, call);
        taken.retain(|token| self.server.hold(*token).is_none());
        self.taken.extend(&taken);
        taken
    }

    fn taking(&self, rules: QueueRules) -> Option<QueueCall> {
        match self.revoke {
            Revocation::Taking(token, _) if rules.takes_by_token => Some(QueueCall::Release(token)),
            Revocation::Taking(..) => Some(QueueCall::ForceRelease),
            _ => None,
        }
    }

    fn believers(&self) -> impl Iterator<Item = usize> {
        let believes = |client: &Client| matches!(client.stage, Stage::Holding(token, _) if !self.taken.contains(&token));
        self.clients.iter().enumerate().filter(move |(_, client)| believes(client)).map(|(which, _)| which)
    }
}

impl Model for QueueWorld {
    type State = QueueState;
    type Action = QueueAction;

    fn init_states(&self) -> Vec<QueueState> {
        let &Self { ticks, renewals, delays, breaks, deaths, revokes, forced, .. } = self;
        let mut state = QueueState {
            server: Server::default(),
            clients: self.asks.map(Client::new),
            late: Vec::new(),
            revoke: Revocation::None,
            taken: Vec::new(),
            left: Budget { ticks, renewals, delays, breaks, deaths, revokes, forced },
            hand_offs: 0,
            largest: [0; 2],
            went_back: false,
            wronged: false,
            hurried: false,
        };
        for which in 0..self.begins_dead + self.begins_waiting {
            let token = which as Token * ASKS + ASKS - 1;
            state.execute(self, QueueCall::Acquire(token, self.reads[which]));
            let is_dead = which < self.begins_dead;
            state.clients[which].stage = if is_dead { Stage::Dead } else { Stage::Waiting(token) };
        }
        vec![state]
    }

    fn actions(&self, state: &QueueState, actions: &mut Vec<QueueAction>) {
        client::actions(self, state, actions);
    }

    fn next_state(&self, before: &QueueState, action: QueueAction) -> Option<QueueState> {
        let mut state = before.clone();
        client::apply(self, &mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(ONE_HOLDER, |world: &Self, state: &QueueState| {
                let all_read = state.believers().all(|which| world.reads[which]);
                all_read || state.believers().count() <= 1
            }),
            Property::always(FENCES, |_, state: &QueueState| !state.went_back),
            Property::always(ORDER, |_, state: &QueueState| !state.server.overtook),
            Property::always(HANDED_OVER, |_, state: &QueueState| {
                state.server.made_room || !state.server.has_room()
            }),
            Property::always(HAND_OFFS_END, |_, state: &QueueState| state.server.ahead_in_a_row <= HAND_OFFS),
            Property::always(SUCCESSOR, |_, state: &QueueState| !state.wronged),
            Property::always(GRACE_IS_KEPT, |_, state: &QueueState| !state.hurried),
            Property::always(REVOKED, |world: &Self, state: &QueueState| match state.revoke {
                // A late call of its client may bring it back, which then releases it.
                Revocation::Done(token) => state.server.hold(token).is_none() || world.breaks > 0,
                _ => true,
            }),
        ];
        if self.served_within.is_some() {
            properties.push(Property::always(NOBODY_FORGOTTEN, fair::serves_all));
        }
        properties
    }
}
