//! One resource on one server by scripts: its queue, its holders, and whoever takes it back.
//!
//! Up to five clients ask, each as one acquisition of `src/core/engine/acquisition` does, with one call in flight. An answer may be
//! late or lost, and a call whose connection broke may be executed late. A client may die. A message to a waiter may be lost or
//! late: a waiter asks again whenever it likes, so no message is part of a state. Only [the fair run](fair) has them.
//!
//! Time is counted in ticks, which are the same for the server and all clients. A client counts its lease from the moment at
//! which it sent the call, the server from its execution.
//!
//! Not in it, but in `tests/redis/store` and the differential test: permits, owners and re-entry, lock delay and cooldown,
//! `give_way.lua`, limits, and the steps to which one call is bounded. Of a revoke, the length of its grace is not in it: the
//! look after the grace may come at any time after the notice.

mod calls;
mod client;
mod fair;
mod properties;
mod rules;
mod server;

use std::fmt;

use stateright::{Model, Property};

pub use self::{
    calls::{QueueAnswer, QueueCall, Told},
    client::QueueAction,
    properties::{
        FENCES, HAND_OFFS_END, HANDED_OVER, NEWCOMER, NOBODY_FORGOTTEN, ONE_HOLDER, ORDER, REVOKED,
        SERVED_AFTER_A_DEATH, SUCCESSOR, TOLD_BEFORE,
    },
    rules::QueueRules,
    server::{GRANT_WINDOW, TTL},
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
    /// The number of clients after them that have asked as it begins: they are in the queue, or the first of them holds.
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
    /// The fences of the holds that were taken by force. Their clients need not know.
    taken: Vec<u8>,
    /// What may still happen.
    left: Budget,
    /// The hand-offs in a row that went ahead of waiters, as the manager of the first two clients counts.
    hand_offs: u8,
    /// The largest fence that anybody has begun to hold with, and the largest of one that held alone.
    largest: [u8; 2],
    went_back: bool,
    /// True once a revoke has ended another hold than it has found.
    ended_a_successor: bool,
    /// True once a revoke has ended a hold that it has not told.
    ended_untold: bool,
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
    /// The holder of this token was asked to finish. It need not hear that.
    Told(Token),
    /// This one was found holding, and is released by force, by a call on its way.
    Taking { told: Token, takes: Token },
    /// It has been answered, as this was the last fence.
    Done(Token, u8),
}

/// The client whose acquisition a token is.
pub fn client_of(token: Token) -> usize {
    usize::from(token / ASKS)
}

impl QueueWorld {
    fn turn<'a>(&self, listens: &'a dyn Fn(Token) -> bool) -> Turn<'a> {
        Turn {
            rules: self.rules,
            ticket_ttl: self.ticket_ttl,
            listens,
            told: Vec::new(),
            found_unclaimed: false,
        }
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

    /// The answer to a call in this state, and the messages that somebody hears.
    pub fn answer(&self, state: &QueueState, call: QueueCall) -> (QueueAnswer, Vec<(Token, Told)>) {
        let listens = |token| self.listens(token);
        let mut turn = self.turn(&listens);
        let answer = state.server.clone().call(call, &mut turn);
        turn.told.retain(|(token, _)| self.listens(*token));
        (answer, turn.told)
    }
}

impl QueueState {
    /// The tokens that hold, and those that wait in their order.
    pub fn seen(&self) -> (Vec<Token>, Vec<Token>) {
        let mut holders: Vec<_> = self.server.holds.iter().map(|hold| hold.token).collect();
        holders.sort_unstable();
        (holders, self.server.waiting().collect())
    }

    /// Returns true if no queue ticket is kept.
    pub fn has_no_ticket(&self) -> bool {
        self.server.queue.is_empty()
    }

    /// Executes a call. Returns the answer.
    fn execute(&mut self, world: &QueueWorld, call: QueueCall) -> QueueAnswer {
        if call == QueueCall::ForceRelease {
            self.taken.extend(self.server.holds.iter().map(|hold| hold.fence));
        }
        let listens = |token| world.listens(token);
        self.server.call(call, &mut world.turn(&listens))
    }

    /// Executes the call that ends a hold after the grace. Returns the tokens whose holds it has ended.
    fn take(&mut self, world: &QueueWorld) -> Vec<Token> {
        let Some(call) = self.taking(world.rules) else { return Vec::new() };
        let mut ended = self.server.holds.clone();
        self.execute(world, call);
        ended.retain(|hold| self.server.hold(hold.token).is_none_or(|now| now.fence != hold.fence));
        let fences = ended.iter().map(|hold| hold.fence).filter(|fence| !self.taken.contains(fence));
        self.taken.extend(fences.collect::<Vec<_>>());
        ended.iter().map(|hold| hold.token).collect()
    }

    fn taking(&self, rules: QueueRules) -> Option<QueueCall> {
        match self.revoke {
            Revocation::Taking { takes, .. } if rules.takes_by_token => Some(QueueCall::Release(takes)),
            Revocation::Taking { .. } => Some(QueueCall::ForceRelease),
            _ => None,
        }
    }

    fn believers(&self) -> impl Iterator<Item = usize> {
        let believes = |client: &Client| matches!(client.stage, Stage::Holding(_, _, fence) if !self.taken.contains(&fence));
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
            ended_a_successor: false,
            ended_untold: false,
        };
        for which in 0..self.begins_dead + self.begins_waiting {
            let token = which as Token * ASKS + ASKS - 1;
            let answer = state.execute(self, QueueCall::Acquire(token, self.reads[which]));
            let is_dead = which < self.begins_dead;
            state.clients[which].stage = if is_dead { Stage::Dead } else { Stage::Waiting(token) };
            if let QueueAnswer::Granted(fence) = answer {
                client::believe(self, &mut state, token, fence, TTL);
            }
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
        properties::all(self)
    }
}
