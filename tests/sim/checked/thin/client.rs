//! A client, and what is on its way from it.

use std::collections::VecDeque;

use super::ThinRules;

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) asks: u8,
    pub(super) stage: Stage,
    /// The fence that a script gave it on this connection.
    pub(super) raised: Option<u64>,
    pub(super) sent: VecDeque<Verb>,
    /// The answers to its plain commands so far.
    pub(super) answers: Answers,
}

#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) counter: u64,
    pub(super) granted: bool,
    pub(super) is_waited_for: bool,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    Asking(u8),
    Holding(u8),
    Dead,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) enum Verb {
    /// The plain commands, in their order.
    Add,
    Set(u8),
    LookForTickets,
    Get(u8),
    Script(u8),
    Release(u8),
}

impl Client {
    pub(super) fn wants(&self, token: u8) -> bool {
        matches!(self.stage, Stage::Asking(wanted) | Stage::Holding(wanted) if wanted == token)
    }

    pub(super) fn ask(&mut self, token: u8, rules: ThinRules) {
        let is_thin = self.raised.is_some() || !rules.begins_with_a_script;
        if is_thin {
            self.sent.extend([Verb::Add, Verb::Set(token), Verb::LookForTickets, Verb::Get(token)]);
        } else {
            self.sent.push_back(Verb::Script(token));
        }
    }
}
