//! Random walks through a model, as calls of a store with the answers that the model gives.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use stateright::Model;

use super::{
    queue::{QueueAnswer, QueueCall, QueueWorld, Token, Told},
    register::{RegisterAnswer, RegisterCall, RegisterWorld},
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
        walk(self, seed, actions, |before, action, after| {
            if let Some(call) = self.call(before, action) {
                let ((answer, told), (holders, waiters)) = (self.answer(before, call), after.seen());
                let is_alone = before.has_no_ticket();
                steps.push(QueueStep { call, is_alone, answer, told, holders, waiters });
            }
        });
        steps
    }
}

impl RegisterWorld {
    /// Returns the calls of a random walk of so many actions, each with its answer.
    pub fn trace(&self, seed: u64, actions: usize) -> Vec<(RegisterCall, RegisterAnswer)> {
        let mut steps = Vec::new();
        walk(self, seed, actions, |before, action, _| {
            steps.extend(self.call(before, action).map(|call| (call, self.answer(before, call))));
        });
        steps
    }
}

/// Takes a random action after the other, and tells the state before and after each.
fn walk<M: Model>(model: &M, seed: u64, most: usize, mut taken: impl FnMut(&M::State, &M::Action, &M::State))
where
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
        let Some(after) = model.next_state(&state, action.clone()) else { continue };
        taken(&state, &action, &after);
        state = after;
    }
}
