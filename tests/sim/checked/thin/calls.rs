//! The calls that the server executes in the model, for whoever executes them on a real one.

use stateright::Model;

use super::{Action, CLIENTS, State, ThinRules, ThinWorld, client::Verb};
use crate::checked::traces::ThinStep;

/// What the server executes, or what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinCall {
    /// `INCRBY` of the counter.
    Add,
    /// `SET NX` of the main key, with this token.
    Set(u8),
    /// `EXISTS` of the tickets.
    LookForTickets,
    /// `MGET` of the counter and of the main key, for this token.
    Get(u8),
    /// `acquire.lua`, of a client and a token.
    Script(usize, u8),
    /// `release.lua`.
    Release(u8),
    /// `force_release.lua`.
    Force,
    /// No call: the hold of this token ends.
    Expire(u8),
    /// No call: the ticket of this token ends.
    ExpireTicket(u8),
    /// No call: the counter is lost.
    LoseCounter,
    /// No call: the replica catches up.
    Replicate,
    /// No call: the replica takes over. It has the counter, and no locks.
    FailOver,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinAnswer {
    /// The counter after it was added to.
    Counter(u64),
    /// True if the main key was set.
    Set(bool),
    /// True if tickets are kept.
    IsWaitedFor(bool),
    /// The counter, and whether the hold is that of the token.
    Found(Option<u64>, bool),
    /// The fence of a grant; nothing if it waits.
    Granted(Option<u64>),
    /// True if it held until now.
    Held(bool),
    /// There is none.
    None,
}

impl ThinWorld {
    /// The calls that lead to the first state.
    pub(crate) fn beginning(&self) -> Vec<ThinStep> {
        let empty = Self { begins_dead: false, begins_raised: false, ..self.clone() };
        let begin = |state: &mut State, (which, token)| {
            let call = ThinCall::Script(which, token);
            let answer = state.answer(call, self.rules);
            state.server.script(which, token, self.rules);
            let (holder, waiters) = state.seen();
            Some(ThinStep { call, answer, holder, waiters })
        };
        let states = empty.init_states().into_iter().filter(|_| self.begins_dead);
        states.flat_map(|state| [(CLIENTS, 0), (1, 1)].into_iter().scan(state, begin)).collect()
    }
}

impl State {
    /// The call that this action has the server execute.
    pub(crate) fn call(&self, action: &Action) -> Option<ThinCall> {
        let of_verb = |which, verb: &Verb| match *verb {
            Verb::Add => ThinCall::Add,
            Verb::Set(token) => ThinCall::Set(token),
            Verb::LookForTickets => ThinCall::LookForTickets,
            Verb::Get(token) => ThinCall::Get(token),
            Verb::Script(token) => ThinCall::Script(which, token),
            Verb::Release(token) => ThinCall::Release(token),
        };
        Some(match action {
            Action::Execute(which, _) => of_verb(*which, self.clients[*which].sent.front()?),
            Action::ExecuteLate(at) => self.late.get(*at).map(|(which, verb)| of_verb(*which, verb))?,
            Action::Expire => ThinCall::Expire(self.seen().0?),
            Action::ExpireTicket(at) => ThinCall::ExpireTicket(*self.seen().1.get(*at)?),
            Action::LoseCounter => ThinCall::LoseCounter,
            Action::Force => ThinCall::Force,
            Action::Replicate => ThinCall::Replicate,
            Action::FailOver => ThinCall::FailOver,
            Action::Ask(_) | Action::Repeat(_) | Action::Release(_) | Action::Break(_) | Action::Die(_) => {
                return None;
            }
        })
    }

    /// The answer to a call in this state.
    pub(crate) fn answer(&self, call: ThinCall, rules: ThinRules) -> ThinAnswer {
        let mut server = self.server.clone();
        let holds = |token| self.seen().0 == Some(token);
        match call {
            ThinCall::Add => ThinAnswer::Counter(server.add()),
            ThinCall::Set(token) => ThinAnswer::Set(server.set(0, token)),
            ThinCall::LookForTickets => ThinAnswer::IsWaitedFor(!server.queue.is_empty()),
            ThinCall::Get(token) => ThinAnswer::Found(server.counter, holds(token)),
            ThinCall::Script(which, token) => ThinAnswer::Granted(server.script(which, token, rules)),
            ThinCall::Release(token) => ThinAnswer::Held(holds(token)),
            _ => ThinAnswer::None,
        }
    }

    /// The token that holds, and those that wait in their order.
    pub(crate) fn seen(&self) -> (Option<u8>, Vec<u8>) {
        let holder = self.server.holder.as_ref().map(|hold| hold.token);
        (holder, self.server.queue.iter().map(|(_, token)| *token).collect())
    }
}
