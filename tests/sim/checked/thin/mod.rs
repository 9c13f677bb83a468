//! One resource on one server, when some acquisitions are plain commands and the others are scripts.
//!
//! Up to three clients ask. Each has one connection, on which its calls are executed in order; an answer may be lost, a connection may
//! break and leave calls behind that are executed late, a client may die. The counter of fences may be lost, and a failover may
//! bring back an earlier state of the server. Time is not counted: a hold ends when nobody believes in it any more, and the clock
//! of the server is ahead of all fences that were given out.

mod calls;
mod client;
mod server;
mod state;

use std::collections::VecDeque;

use stateright::{Model, Property};

pub use self::{
    calls::{ThinAnswer, ThinCall},
    state::State,
};
use self::{
    client::{Answers, Client, Stage, Verb},
    server::Server,
};

const CLIENTS: usize = 3;

/// A later grant has a larger fence.
pub const FENCES: &str = "fences grow";
/// No two clients believe at one time that they hold. Those whose hold was ended by force know that.
pub const ONE_HOLDER: &str = "one client holds at a time";
/// Nobody holds while one waits that came before it took the resource.
pub const ORDER: &str = "nobody overtakes";
/// What is released is handed over to those that wait, except where some have waited since before it was taken.
pub const NOBODY_FORGOTTEN: &str = "nobody is forgotten";

/// The rules of plain commands, each of which is kept or not.
#[derive(Clone, Copy, Debug)]
pub struct ThinRules {
    /// Asks at the end whose hold it is: what was granted may be another's by then.
    pub asks_whose_it_is: bool,
    /// A hold is marked when somebody begins to wait behind it.
    pub marks_when_somebody_waits: bool,
    /// Gives back what was granted while somebody waits.
    pub looks_at_the_queue: bool,
    /// A script does not count what plain commands of its token have taken ahead of those that wait.
    pub scripts_look_at_the_queue: bool,
    /// Leaves no mark in such a hold when somebody begins to wait behind it.
    pub marks_what_is_told: bool,
    /// Asks by a script for what was granted while somebody else was given a fence.
    pub looks_at_others: bool,
    /// A counter that is smaller than it was is not believed.
    pub looks_at_the_counter: bool,
    /// The first acquisition on each connection is a script.
    pub begins_with_a_script: bool,
}

impl ThinRules {
    /// The rules of the library.
    pub const TODAY: Self = Self {
        asks_whose_it_is: true,
        marks_when_somebody_waits: true,
        looks_at_the_queue: true,
        scripts_look_at_the_queue: true,
        marks_what_is_told: true,
        looks_at_others: true,
        looks_at_the_counter: true,
        begins_with_a_script: true,
    };
}

/// How much can happen.
#[derive(Clone, Debug)]
pub struct ThinWorld {
    /// The rules that are kept.
    pub rules: ThinRules,
    /// How often each client asks.
    pub asks: [u8; CLIENTS],
    /// How often a connection may break.
    pub breaks: u8,
    /// How many clients may die.
    pub deaths: u8,
    /// How often the counter of fences may be lost.
    pub lost_counters: u8,
    /// How often a replica may take over.
    pub failovers: u8,
    /// How often a hold may be ended by force.
    pub forced: u8,
    /// Whether it begins with the hold of another client, which has died, and the second client in the queue behind it. The
    /// first may use plain commands then.
    pub begins_dead: bool,
    /// Whether it begins with connections on which a script has given out a fence: all may use plain commands.
    pub begins_raised: bool,
}

impl ThinWorld {
    /// A world in which nothing happens yet.
    pub const EMPTY: Self = Self {
        rules: ThinRules::TODAY,
        asks: [0; CLIENTS],
        breaks: 0,
        deaths: 0,
        lost_counters: 0,
        failovers: 0,
        forced: 0,
        begins_dead: false,
        begins_raised: false,
    };
}

/// One step of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `RedisStore::acquire_each`: by plain commands (`src/store/redis/thin.rs`), or by `acquire.lua`.
    Ask(usize),
    /// Asks once more with the same token (`Event::Due`): it got no answer, or waits.
    Repeat(usize),
    /// Gives up, or releases what it holds: `release.lua`, or `DEL` in its first lines.
    Release(usize),
    /// The server executes the next call of a client, a script or a plain command, and the client gets the answer, or does not.
    Execute(usize, bool),
    /// The same for a call of a connection that broke.
    ExecuteLate(usize),
    /// A connection breaks: `src/store/redis/net/connection.rs` opens another one.
    Break(usize),
    /// A process ends.
    Die(usize),
    /// A hold ends in which nobody believes: the end of the main key.
    Expire,
    /// The queue ticket of a client that is dead, or wants something else, ends: `anybody_waits` in `queue.lua`.
    ExpireTicket(usize),
    /// The counter of `fence.lua` is lost.
    LoseCounter,
    /// `force_release.lua`.
    Force,
    /// The replica catches up.
    Replicate,
    /// The replica takes over.
    FailOver,
}

impl Action {
    /// Returns true for what ends things, so that a random walk gets further without it.
    pub(super) fn is_rare(&self) -> bool {
        !matches!(
            self,
            Self::Ask(_) | Self::Repeat(_) | Self::Execute(_, true) | Self::ExecuteLate(_) | Self::Expire
        )
    }
}

impl Model for ThinWorld {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let client = |asks| Client {
            asks,
            stage: Stage::Idle,
            raised: None,
            sent: VecDeque::new(),
            answers: Answers::default(),
        };
        // A counter that was lost does not reach the time again.
        let server = Server { clock: 100, ..Server::default() };
        let mut state = State {
            server,
            replica: Server::default(),
            clients: self.asks.map(client),
            late: Vec::new(),
            largest: (0, 0),
            next_token: 1,
            left: [self.breaks, self.deaths, self.lost_counters, self.failovers, self.forced],
            went_back: false,
            overtook: false,
        };
        if self.begins_dead {
            state.server.script(CLIENTS, 0, self.rules);
            state.clients[0].raised = state.server.counter;
            state.clients[1].stage = Stage::Asking(state.next_token);
            state.server.script(1, state.next_token, self.rules);
            state.next_token += 1;
        }
        if self.begins_raised {
            for (which, token) in (0..CLIENTS).zip(u8::MAX - CLIENTS as u8..) {
                state.clients[which].raised = state.server.script(which, token, self.rules);
                state.server.release(token);
            }
        }
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let [breaks, deaths, lost_counters, failovers, forced] = state.left;
        for (which, client) in state.clients.iter().enumerate() {
            match client.stage {
                Stage::Idle if client.asks > 0 => actions.push(Action::Ask(which)),
                Stage::Asking(_) if client.sent.is_empty() => {
                    actions.extend([Action::Repeat(which), Action::Release(which)]);
                }
                Stage::Asking(_) | Stage::Holding(_) => actions.push(Action::Release(which)),
                Stage::Idle | Stage::Dead => {}
            }
            if let Some(verb) = client.sent.front() {
                actions.push(Action::Execute(which, true));
                // The answers to plain commands are lost together.
                let may_be_lost = matches!(verb, Verb::Get(_) | Verb::Script(_));
                actions.extend(may_be_lost.then_some(Action::Execute(which, false)));
            }
            if client.stage != Stage::Dead {
                actions.extend((breaks > 0 && client.raised.is_some()).then_some(Action::Break(which)));
                actions.extend((deaths > 0 && client.stage != Stage::Idle).then_some(Action::Die(which)));
            }
        }
        actions.extend((0..state.late.len().min(1)).map(Action::ExecuteLate));
        let held = state.server.holder.as_ref().map(|hold| (hold.client, hold.token));
        actions.extend(held.is_some_and(|held| !state.is_wanted(held)).then_some(Action::Expire));
        let waiters = state.server.queue.iter().enumerate();
        actions
            .extend(waiters.filter(|(_, it)| !state.is_wanted(**it)).map(|(at, _)| Action::ExpireTicket(at)));
        actions.extend((lost_counters > 0 && state.server.counter.is_some()).then_some(Action::LoseCounter));
        actions.extend((forced > 0 && held.is_some()).then_some(Action::Force));
        if failovers > 0 {
            actions.push(Action::FailOver);
            actions.extend((state.replica != state.server).then_some(Action::Replicate));
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Ask(which) => {
                let client = &mut state.clients[which];
                client.asks -= 1;
                client.stage = Stage::Asking(state.next_token);
                client.ask(state.next_token, self.rules);
                state.next_token += 1;
            }
            Action::Repeat(which) => {
                let Stage::Asking(token) = state.clients[which].stage else { return None };
                state.clients[which].ask(token, self.rules);
            }
            Action::Release(which) => {
                let client = &mut state.clients[which];
                let (Stage::Asking(token) | Stage::Holding(token)) = client.stage else { return None };
                client.stage = Stage::Idle;
                client.sent.push_back(Verb::Release(token));
            }
            Action::Execute(which, is_answered) => {
                let verb = state.clients[which].sent.pop_front()?;
                state.execute(which, verb, is_answered, self.rules);
            }
            Action::ExecuteLate(at) => {
                let (which, verb) = state.late.remove(at);
                state.execute(which, verb, false, self.rules);
            }
            Action::Break(which) => {
                state.left[0] -= 1;
                state.break_connection(which);
            }
            Action::Die(which) => {
                state.left[1] -= 1;
                state.break_connection(which);
                state.clients[which].stage = Stage::Dead;
            }
            Action::Expire => {
                state.server.holder = None;
                state.server.ended = true;
            }
            Action::ExpireTicket(at) => state.server.remove_waiter(at),
            Action::LoseCounter => {
                state.left[2] -= 1;
                state.server.counter = None;
            }
            Action::Force => {
                state.left[4] -= 1;
                let ended = state.server.holder.as_ref().map(|hold| hold.token);
                for client in &mut state.clients {
                    if ended.is_some_and(|ended| client.stage == Stage::Holding(ended)) {
                        client.stage = Stage::Idle;
                    }
                }
                state.server.force();
            }
            Action::Replicate => state.replica = state.server.clone(),
            Action::FailOver => {
                // It forgets what was not replicated: locks too, so nobody believes in any of them here.
                state.left[3] -= 1;
                let clock = state.server.clock;
                state.server =
                    Server { holder: None, queue: VecDeque::new(), clock, ..state.replica.clone() };
                state.late.clear();
                for client in &mut state.clients {
                    client.sent.clear();
                    client.raised = None;
                    client.stage = Stage::Idle;
                }
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(FENCES, |_, state: &State| !state.went_back),
            Property::always(ONE_HOLDER, |_, state: &State| {
                let holds = |client: &&Client| matches!(client.stage, Stage::Holding(_));
                state.clients.iter().filter(holds).count() <= 1
            }),
            Property::always(ORDER, |_, state: &State| !state.overtook),
            Property::always(NOBODY_FORGOTTEN, |_, state: &State| {
                let Server { holder, queue, ended, .. } = &state.server;
                holder.is_some() || queue.is_empty() || *ended || state.something_comes()
            }),
        ]
    }
}
