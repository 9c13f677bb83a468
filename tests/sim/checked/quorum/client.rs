//! A client: what it wants, and what is on its way to the nodes.

use std::collections::VecDeque;

use super::NODES;

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) asks: u8,
    pub(super) stage: Stage,
    /// The last grant that it has not released, though it may have ended.
    pub(super) granted: Option<(u8, u64)>,
    /// On their way to each node, in order.
    pub(super) sent: [VecDeque<Verb>; NODES],
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    /// What each node said, and whether it counts; what had been given out when it asked.
    Voting {
        token: u8,
        floor: (u64, usize),
        said: [Option<Said>; NODES],
    },
    Raising {
        token: u8,
        floor: (u64, usize),
        fence: u64,
        acks: u8,
    },
    Holding {
        token: u8,
    },
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) enum Said {
    Yes(u64),
    Abstains,
    No,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) enum Verb {
    Acquire(u8),
    Raise(u8, u64),
    Release(u8),
    Teach(u8, u64),
}

impl Client {
    pub(super) fn send(&mut self, verb: &Verb) {
        self.sent.iter_mut().for_each(|way| way.push_back(verb.clone()));
    }

    /// Whether something speaks against its request; else it waits for more answers.
    pub(super) fn may_give_up(&self) -> bool {
        match &self.stage {
            Stage::Voting { said, .. } => said.iter().flatten().any(|said| !matches!(said, Said::Yes(_))),
            Stage::Raising { .. } => true,
            Stage::Idle | Stage::Holding { .. } => false,
        }
    }

    pub(super) fn holds(&self, token: u8) -> bool {
        matches!(self.stage, Stage::Holding { token: held } if held == token)
    }

    /// Whether it may come to believe in this token, or does.
    pub(super) fn wants(&self, token: u8) -> bool {
        match &self.stage {
            Stage::Idle => false,
            Stage::Voting { token: wanted, .. }
            | Stage::Raising { token: wanted, .. }
            | Stage::Holding { token: wanted } => *wanted == token,
        }
    }
}
