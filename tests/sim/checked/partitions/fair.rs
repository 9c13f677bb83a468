//! The fair run: what follows from a state if nobody joins, leaves, freezes or dies any more.
//!
//! In each round all happens that is due as the round begins and still is when its turn comes, in one order or the other. After so
//! many rounds nothing is due any more, and all have their shares.

use stateright::Model;

use super::{Action, PartitionsWorld, State};

/// The rounds after which all has settled.
const ROUNDS: usize = 10;

/// Returns true if all settles from here on, in either order.
pub(super) fn settles(world: &PartitionsWorld, state: &State) -> bool {
    [false, true].into_iter().all(|is_backwards| run(world, state.clone(), is_backwards))
}

fn run(world: &PartitionsWorld, mut state: State, is_backwards: bool) -> bool {
    for _ in 0..ROUNDS {
        let mut due = due(world, &state);
        if due.is_empty() {
            return state.is_shared();
        }
        if is_backwards {
            due.reverse();
        }
        for action in due {
            if self::due(world, &state).contains(&action)
                && let Some(after) = world.next_state(&state, action)
            {
                state = after;
            }
        }
    }
    false
}

/// Returns what happens sooner or later in this state.
pub(in crate::checked) fn due(world: &PartitionsWorld, state: &State) -> Vec<Action> {
    let mut actions = Vec::new();
    world.actions(state, &mut actions);
    actions.retain(Action::is_due);
    actions
}
