//! What the server executes for clients, and what they make of its answers.

use super::{
    CLIENTS, ThinRules,
    client::{Answers, Client, Stage, Verb},
    server::Server,
};

/// All that is the case at a moment.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct State {
    pub(super) server: Server,
    /// What a replica has of it.
    pub(super) replica: Server,
    pub(super) clients: [Client; CLIENTS],
    /// The calls on connections that broke.
    pub(super) late: Vec<(usize, Verb)>,
    /// The largest fence that was told, and the token that has it.
    pub(super) largest: (u64, u8),
    pub(super) next_token: u8,
    /// What may still happen: breaks, deaths, lost counters, failovers, ends by force.
    pub(super) left: [u8; 5],
    pub(super) went_back: bool,
    pub(super) overtook: bool,
}

impl State {
    pub(super) fn execute(&mut self, which: usize, verb: Verb, is_answered: bool, rules: ThinRules) {
        let stage = self.clients[which].stage;
        let asks = |token| is_answered && stage == Stage::Asking(token);
        match verb {
            Verb::Release(token) => self.server.release(token),
            Verb::Script(token) => {
                let granted = self.server.script(which, token, rules);
                if let Some(fence) = granted.filter(|_| asks(token)) {
                    self.overtook |= self.server.has_overtaken(token);
                    self.clients[which].raised = Some(fence);
                    self.tell(which, token, fence);
                }
            }
            Verb::Add => self.clients[which].answers.counter = self.server.add(),
            Verb::Set(token) => self.clients[which].answers.granted = self.server.set(which, token),
            Verb::LookForTickets => self.clients[which].answers.is_waited_for = !self.server.queue.is_empty(),
            Verb::Get(token) => {
                let client = &mut self.clients[which];
                let Answers { counter, granted, is_waited_for } = std::mem::take(&mut client.answers);
                if !asks(token) {
                    return;
                }
                let grows = counter > client.raised.unwrap_or(0) || !rules.looks_at_the_counter;
                let is_alone = self.server.counter == Some(counter) || !rules.looks_at_others;
                let gives_back = is_waited_for && rules.looks_at_the_queue;
                client.raised = client.raised.filter(|_| grows);
                let is_own = self.server.holder.as_ref().is_some_and(|hold| hold.token == token)
                    || !rules.asks_whose_it_is;
                if granted && grows && is_alone && is_own && !gives_back {
                    self.overtook |= self.server.has_overtaken(token);
                    self.tell(which, token, counter);
                } else {
                    client.sent.push_back(Verb::Script(token));
                }
            }
        }
    }

    pub(super) fn tell(&mut self, which: usize, token: u8, fence: u64) {
        let (largest, by) = self.largest;
        self.went_back |= fence < largest || fence == largest && by != token;
        self.largest = (fence, token);
        self.clients[which].stage = Stage::Holding(token);
    }

    pub(super) fn break_connection(&mut self, which: usize) {
        let client = &mut self.clients[which];
        client.raised = None;
        self.late.extend(client.sent.drain(..).map(|verb| (which, verb)));
    }

    pub(super) fn is_wanted(&self, (client, token): (usize, u8)) -> bool {
        self.clients.get(client).is_some_and(|client| client.wants(token))
    }

    /// Whether a call is on its way that hands over what is free.
    pub(super) fn something_comes(&self) -> bool {
        let mut calls =
            self.clients.iter().flat_map(|client| &client.sent).chain(self.late.iter().map(|(_, verb)| verb));
        calls.any(|verb| matches!(verb, Verb::Script(_) | Verb::Release(_)))
    }
}
