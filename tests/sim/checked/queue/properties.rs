//! What the queue and a revoke promise, and two states that are to be reached.

use stateright::Property;

use super::{
    HAND_OFFS, QueueCall, QueueState, QueueWorld, Revocation,
    client::{Client, Flight, Stage},
    client_of, fair,
};

/// No two clients believe at one time that they hold, unless both read. Holds that were taken by force do not count.
pub const ONE_HOLDER: &str = "one client holds at a time, or readers together";
/// Whoever begins to hold has a larger fence than a writer before it, and a writer than everybody before it.
pub const FENCES: &str = "fences grow";
/// Nobody is served while one waits in the queue that came earlier, except by a hand-off.
pub const ORDER: &str = "nobody is served before one that came earlier";
/// After each verb that serves the queue, the first waiter does not fit.
pub const HANDED_OVER: &str = "what a verb finds free is handed over";
/// No more hand-offs in a row go ahead of waiters than the manager may make.
pub const HAND_OFFS_END: &str = "hand-offs go ahead of waiters for a bounded number of times";
/// All who wait are served in time if nothing bad happens any more: see [the fair run](fair).
pub const NOBODY_FORGOTTEN: &str = "nobody is forgotten";
/// A revoke ends no other hold than the one that it has found.
pub const SUCCESSOR: &str = "a revoke ends no successor";
/// A revoke ends no hold of a token that it has not told.
pub const TOLD_BEFORE: &str = "a revoke ends nobody that it has not told";
/// When a revoke answers, its token does not hold, until it is granted anew.
pub const REVOKED: &str = "nobody holds what a revoke has ended";

/// Not a promise, but a state that is to be reached: one holds, after a dead waiter was handed the resource in vain.
pub const SERVED_AFTER_A_DEATH: &str = "one is served after a dead waiter was set aside";
/// Not a promise, but a state that is to be reached: a newcomer's call is on its way while a hand-over is not taken up.
pub const NEWCOMER: &str = "a newcomer asks while somebody is offered the resource";

pub(super) fn all(world: &QueueWorld) -> Vec<Property<QueueWorld>> {
    let mut properties = vec![
        Property::always(ONE_HOLDER, |world: &QueueWorld, state: &QueueState| {
            let all_read = state.believers().all(|which| world.reads[which]);
            all_read || state.believers().count() <= 1
        }),
        Property::always(FENCES, |_, state: &QueueState| !state.went_back),
        Property::always(ORDER, |_, state: &QueueState| !state.server.overtook),
        Property::always(HANDED_OVER, |_, state: &QueueState| {
            state.server.made_room || !state.server.has_room()
        }),
        Property::always(HAND_OFFS_END, |_, state: &QueueState| state.server.ahead_in_a_row <= HAND_OFFS),
        Property::always(SUCCESSOR, |_, state: &QueueState| !state.ended_a_successor),
        Property::always(TOLD_BEFORE, |_, state: &QueueState| !state.ended_untold),
        Property::always(REVOKED, |_, state: &QueueState| match state.revoke {
            Revocation::Done(token, fence) => state.server.hold(token).is_none_or(|anew| anew.fence > fence),
            _ => true,
        }),
        Property::sometimes(SERVED_AFTER_A_DEATH, serves_after_a_death),
        Property::sometimes(NEWCOMER, |_, state: &QueueState| {
            state.server.offers() && state.clients.iter().any(|client| is_new(client, state))
        }),
    ];
    if world.served_within.is_some() {
        properties.push(Property::always(NOBODY_FORGOTTEN, fair::serves_all));
    }
    properties
}

fn serves_after_a_death(world: &QueueWorld, state: &QueueState) -> bool {
    let is_dead = |token| state.clients[client_of(token)].stage == Stage::Dead;
    state.server.set_aside().any(|token| world.listens(token) && is_dead(token))
        && state.believers().count() > 0
}

/// Returns true if the call of a client that has no ticket yet is on its way.
fn is_new(client: &Client, state: &QueueState) -> bool {
    match client.flight {
        Some(Flight::Sent(QueueCall::Acquire(token, _))) => !state.server.has_ticket(token),
        _ => false,
    }
}
