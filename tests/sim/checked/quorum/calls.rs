//! The calls that the nodes execute in the model, for whoever executes them on real ones.

use super::{
    Action, NODES, State, World,
    client::Verb,
    node::{bit, clock},
};

/// What a node executes, or what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCall {
    /// A client acquires, with this token.
    Acquire(usize, u8),
    /// A client raises the fence of a token.
    Raise(usize, u8, u64),
    /// A client releases a token, or what it has ends.
    Release(usize, u8),
    /// An incarnation is taught a fence.
    Teach(u8, u64),
    /// Somebody asks whether it has recovered.
    Report,
    /// No call: it is restarted, and has forgotten everything.
    Restart,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAnswer {
    /// The fence of a grant, and whether the vote counts.
    Granted(u64, bool),
    /// Somebody else holds.
    Refused,
    /// Whether the token holds.
    Raised(bool),
    /// The incarnation, what is written down of its recovery, and the last fence.
    Reported(u8, Option<(u8, u64)>, u64),
    /// There is none.
    None,
}

/// Returns the fence before the smallest one that a node may give out by its clock.
pub fn before_the_first_fence(node: usize) -> u64 {
    clock(node).saturating_sub(1)
}

impl World {
    /// The calls of nodes that this action executes.
    pub(crate) fn calls(&self, state: &State, action: &Action) -> Vec<(usize, NodeCall)> {
        match *action {
            Action::Execute(which, node) => {
                let call = state.clients[which].sent[node].front().map(|verb| match *verb {
                    Verb::Acquire(token) => NodeCall::Acquire(which, token),
                    Verb::Raise(token, fence) => NodeCall::Raise(which, token, fence),
                    Verb::Release(token) => NodeCall::Release(which, token),
                    Verb::Teach(incarnation, fence) => NodeCall::Teach(incarnation, fence),
                });
                call.map(|call| (node, call)).into_iter().collect()
            }
            Action::End(which) => {
                let ends = |token: &u8| state.clients[which].holds(*token);
                let tokens = (0..8).filter(ends);
                tokens
                    .flat_map(|it| (0..NODES).map(move |node| (node, NodeCall::Release(which, it))))
                    .collect()
            }
            Action::Expire(node) => {
                let over = state.over(node);
                let which = state.nodes[node].hold.as_ref().map(|hold| hold.client);
                let release = |token| which.map(|which| (node, NodeCall::Release(which, token)));
                (0..8).filter(|token| over & bit(*token) != 0).filter_map(release).collect()
            }
            Action::Restart(node) => vec![(node, NodeCall::Restart)],
            Action::Recover(_, silent) => {
                let answers = (0..NODES).filter(|node| Some(*node) != silent);
                answers.map(|node| (node, NodeCall::Report)).collect()
            }
            Action::Ask(_)
            | Action::Decide(_)
            | Action::GiveUp(_)
            | Action::Release(_)
            | Action::Step(_)
            | Action::CompareAges(_) => Vec::new(),
        }
    }

    /// The answer of a node to a call in this state.
    pub(crate) fn answer(&self, state: &State, node: usize, call: NodeCall) -> NodeAnswer {
        let mut it = state.nodes[node].clone();
        match call {
            NodeCall::Acquire(which, token) => match it.acquire(node, which, token) {
                Some(fence) => NodeAnswer::Granted(fence, it.covers(node, self.rules, fence)),
                None => NodeAnswer::Refused,
            },
            NodeCall::Raise(_, token, fence) => NodeAnswer::Raised(it.raise(token, fence, self.rules.lowers)),
            NodeCall::Report => {
                let last = it.last.max(before_the_first_fence(node));
                NodeAnswer::Reported(it.incarnation, it.recovered, last)
            }
            NodeCall::Release(..) | NodeCall::Teach(..) | NodeCall::Restart => NodeAnswer::None,
        }
    }
}

impl State {
    /// The tokens that hold on each node, sorted, and their fence.
    pub(crate) fn holds(&self) -> [Option<(Vec<u8>, u64)>; NODES] {
        self.nodes.each_ref().map(|node| {
            let hold = node.hold.as_ref()?;
            Some(((0..8).filter(|token| hold.tokens & bit(*token) != 0).collect(), hold.fence))
        })
    }
}
