//! Random walks through a model, as calls of a store with the answers that the model gives.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use stateright::Model;

use super::{
    PartitionsWorld,
    partitions::{Action as PartitionsAction, PARTITIONS, due},
    queue::{QueueAnswer, QueueCall, QueueWorld, Token, Told},
    quorum::{NODES, NodeAnswer, NodeCall, World},
    register::{RegisterAnswer, RegisterCall, RegisterWorld},
    thin::{Action, ThinAnswer, ThinCall, ThinWorld},
};

/// A call of the store in a walk, and what the model has after it.
#[derive(Clone, Debug)]
pub struct QueueStep {
    /// The call.
    pub call: QueueCall,
    /// True if no queue ticket was kept before it.
    pub is_alone: bool,
    /// The answer of the model.
    pub answer: QueueAnswer,
    /// The messages that somebody hears.
    pub told: Vec<(Token, Told)>,
    /// The tokens that hold after it, sorted.
    pub holders: Vec<Token>,
    /// The tokens that wait after it, in their order.
    pub waiters: Vec<Token>,
}

impl QueueWorld {
    /// Returns the calls of a random walk of so many actions.
    pub fn trace(&self, seed: u64, actions: usize) -> Vec<QueueStep> {
        let mut steps = Vec::new();
        walk(
            self,
            seed,
            actions,
            |_| false,
            |before, action, after| {
                if let Some(call) = self.call(before, action) {
                    let ((answer, told), (holders, waiters)) = (self.answer(before, call), after.seen());
                    let is_alone = before.has_no_ticket();
                    steps.push(QueueStep { call, is_alone, answer, told, holders, waiters });
                }
            },
        );
        steps
    }
}

impl RegisterWorld {
    /// Returns the calls of a random walk of so many actions, each with its answer.
    pub fn trace(&self, seed: u64, actions: usize) -> Vec<(RegisterCall, RegisterAnswer)> {
        let mut steps = Vec::new();
        walk(
            self,
            seed,
            actions,
            |_| false,
            |before, action, _| {
                steps.extend(self.call(before, action).map(|call| (call, self.answer(before, call))));
            },
        );
        steps
    }
}

/// A call of the server in a walk, and what the model has after it.
#[derive(Clone, Debug)]
pub struct ThinStep {
    /// The call.
    pub call: ThinCall,
    /// The answer of the model.
    pub answer: ThinAnswer,
    /// The token that holds after it.
    pub holder: Option<u8>,
    /// The tokens that wait after it, in their order.
    pub waiters: Vec<u8>,
}

impl ThinWorld {
    /// Returns the calls of a random walk of so many actions.
    pub fn trace(&self, seed: u64, actions: usize) -> Vec<ThinStep> {
        let mut steps = self.beginning();
        walk(self, seed, actions, Action::is_rare, |before, action, after| {
            if let Some(call) = before.call(action) {
                let ((holder, waiters), answer) = (after.seen(), before.answer(call, self.rules));
                steps.push(ThinStep { call, answer, holder, waiters });
            }
        });
        steps
    }
}

/// The calls of a step in a walk, and what the model has after them.
#[derive(Clone, Debug)]
pub struct QuorumStep {
    /// The calls, each of a node, with the answer of the model.
    pub calls: Vec<(usize, NodeCall, NodeAnswer)>,
    /// The tokens that hold on each node after them, and their fence.
    pub holds: [Option<(Vec<u8>, u64)>; NODES],
}

impl World {
    /// Returns the calls of a random walk of so many actions.
    pub fn trace(&self, seed: u64, actions: usize) -> Vec<QuorumStep> {
        let mut steps = Vec::new();
        walk(
            self,
            seed,
            actions,
            |_| false,
            |before, action, after| {
                let calls = self.calls(before, action);
                let calls: Vec<_> = calls
                    .into_iter()
                    .map(|(node, call)| (node, call, self.answer(before, node, call)))
                    .collect();
                if !calls.is_empty() {
                    steps.push(QuorumStep { calls, holds: after.holds() });
                }
            },
        );
        steps
    }
}

/// What happens to a member of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MemberEvent {
    Joins,
    Leaves,
    Freezes,
    Wakes,
    Dies,
}

/// An event of a walk, and what the model comes to after it.
#[derive(Clone, Debug)]
pub struct PartitionsStep {
    /// The member to which it happens.
    pub member: usize,
    /// What happens.
    pub event: MemberEvent,
    /// True if the next event does not happen before all has settled.
    pub settles: bool,
    /// The owner of each partition when all has settled.
    pub owners: [Option<usize>; PARTITIONS],
}

impl PartitionsWorld {
    /// Returns the events of a random walk. Between two of them all settles, or some of what is due happens.
    pub fn trace(&self, seed: u64) -> Vec<PartitionsStep> {
        let mut random = StdRng::seed_from_u64(seed);
        let Some(mut state) = self.init_states().pop() else { return Vec::new() };
        let mut steps = Vec::new();
        loop {
            let mut actions = Vec::new();
            self.actions(&state, &mut actions);
            let events = actions.iter().filter_map(|action| Some((action.clone(), event(action)?)));
            let mut events: Vec<_> = events.collect();
            if events.is_empty() {
                return steps;
            }
            let (action, (member, event)) = events.swap_remove(random.random_range(0..events.len()));
            state = self.next_state(&state, action).unwrap_or(state);
            let (mut settled, settles) = (state.clone(), random.random_bool(0.5));
            let most = if settles { 0 } else { random.random_range(0..4) };
            for number in 0.. {
                // What is frozen stays so until the walk wakes it.
                let mut due = due(self, &settled);
                due.retain(|action| !matches!(action, PartitionsAction::Wake(_)));
                if number == most && !settles {
                    state = settled.clone();
                }
                if due.is_empty() {
                    break;
                }
                let action = due.swap_remove(random.random_range(0..due.len()));
                settled = self.next_state(&settled, action).unwrap_or(settled);
            }
            if settles {
                state = settled.clone();
            }
            steps.push(PartitionsStep { member, event, settles, owners: settled.owners() });
        }
    }
}

fn event(action: &PartitionsAction) -> Option<(usize, MemberEvent)> {
    Some(match action {
        PartitionsAction::Join(member) => (*member, MemberEvent::Joins),
        PartitionsAction::Drain(member) => (*member, MemberEvent::Leaves),
        PartitionsAction::Freeze(member) => (*member, MemberEvent::Freezes),
        PartitionsAction::Wake(member) => (*member, MemberEvent::Wakes),
        PartitionsAction::Die(member) => (*member, MemberEvent::Dies),
        _ => return None,
    })
}

/// Takes a random action after the other, rare ones less often, and tells the state before and after each.
fn walk<M: Model>(
    model: &M,
    seed: u64,
    most: usize,
    is_rare: impl Fn(&M::Action) -> bool,
    mut taken: impl FnMut(&M::State, &M::Action, &M::State),
) where
    M::Action: Clone,
{
    let mut random = StdRng::seed_from_u64(seed);
    let Some(mut state) = model.init_states().pop() else { return };
    for _ in 0..most {
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        if actions.is_empty() {
            return;
        }
        let action = actions.swap_remove(random.random_range(0..actions.len()));
        if is_rare(&action) && random.random_bool(0.8) {
            continue;
        }
        let Some(after) = model.next_state(&state, action.clone()) else { continue };
        taken(&state, &action, &after);
        state = after;
    }
}
