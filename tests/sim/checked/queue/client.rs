//! The clients of the model, and everything that can happen.

use super::{
    ASKS, CLIENTS, HAND_OFFS, QueueAnswer, QueueCall, QueueRules, QueueState, QueueWorld, Revocation, TTL,
    Token, client_of,
};

/// One acquisition of a client after the other: `Acquisition` in `src/core/engine/acquisition/mod.rs`.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Client {
    asks: u8,
    pub(super) stage: Stage,
    pub(super) flight: Option<Flight>,
    /// The ticks since its call was sent.
    age: u8,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    Waiting(Token),
    /// It believes for so many ticks that it holds, with this fence.
    Holding(Token, u8, u8),
    /// Its token is to be released.
    Leaving(Token),
    Dead,
}

/// A call on its way.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) enum Flight {
    Sent(QueueCall),
    /// It was executed, and its answer is on its way.
    Answered(QueueCall, QueueAnswer),
    /// The release of the other client of its manager acquires for it too.
    HandOff,
}

/// One step of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueAction {
    /// A client asks: `Event::Requested`, then `Event::Lead`.
    Ask(usize),
    /// A client waits for a hand-off: `Event::Follow`.
    Follow(usize),
    /// A waiter asks again (`Event::Due`, `HandedOver`, `Next` or `GoOn`), or a release is repeated.
    Repeat(usize),
    /// A lease is renewed: `RenewalCall` in `src/manager/dispatch/calls.rs`.
    Renew(usize),
    /// A waiter gives up, or a holder releases: `Event::CallerGone`, `Event::Release`.
    Release(usize),
    /// A holder releases, and the same call acquires for another client: `HandOffCall` in `src/manager/dispatch/calls.rs`.
    HandOff(usize, usize),
    /// The server executes the call of a client: the script that the call names. The answer arrives at once.
    Execute(usize),
    /// The same, and the answer is on its way.
    ExecuteSlowly(usize),
    /// An answer arrives: `Event::Answered`, `Event::Released`, `RenewalCall::answered`.
    Receive(usize),
    /// A connection breaks: an answer is lost, or the call is executed late, or never.
    Break(usize),
    /// The server executes a call of a connection that broke, or of whoever takes all at once.
    ExecuteLate(usize),
    /// A process ends.
    Die(usize),
    /// Time goes on: keys expire, and `LeaseMonitor` ends leases.
    Tick,
    /// The holder is asked to finish, when somebody looks for it: `notify_holders.lua`.
    Revoke,
    /// The grace is over, however long it was. The revoke looks again, and tells its holder that the hold is over:
    /// `Revocation::take` in `src/manager/revoke.rs`.
    Look,
    /// The server executes the call that ends what was found then: `release.lua`.
    ExecuteTake,
    /// Everything is taken at once: `force_release.lua`.
    Force,
    /// A client hears that its hold is over, or is about to be: `LockManager::taken` in `src/manager/revoke.rs`.
    Hear(usize),
}

impl Client {
    pub(super) fn new(asks: u8) -> Self {
        Self { asks, stage: Stage::Idle, flight: None, age: 0 }
    }

    fn send(&mut self, call: QueueCall) {
        (self.flight, self.age) = (Some(Flight::Sent(call)), 0);
    }

    fn token(&self) -> Option<Token> {
        match self.stage {
            Stage::Waiting(token) | Stage::Holding(token, ..) | Stage::Leaving(token) => Some(token),
            Stage::Idle | Stage::Dead => None,
        }
    }

    fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }

    fn is_holding(&self) -> bool {
        matches!(self.stage, Stage::Holding(..))
    }

    pub(super) fn tick(&mut self, rules: QueueRules) {
        self.age = if self.flight.is_some() { (self.age + 1).min(TTL) } else { 0 };
        if let Stage::Holding(_, left, _) = &mut self.stage {
            *left = left.saturating_sub(1);
            if *left == 0 && rules.leases_end {
                self.stage = Stage::Idle;
            }
        }
    }
}

pub(super) fn actions(world: &QueueWorld, state: &QueueState, actions: &mut Vec<QueueAction>) {
    use QueueAction::*;
    let left = state.left;
    for (which, client) in state.clients.iter().enumerate() {
        let may_follow = world.hands_off && which < 2;
        match (client.stage, client.flight) {
            (Stage::Dead, _) => continue,
            (Stage::Idle, None) if client.asks > 0 => {
                actions.push(Ask(which));
                actions.extend(may_follow.then_some(Follow(which)));
            }
            (Stage::Waiting(_), None) => actions.extend([Repeat(which), Release(which)]),
            (Stage::Leaving(_), None) => actions.push(Repeat(which)),
            (Stage::Holding(token, _, fence), None) => {
                actions.push(Release(which));
                actions.extend((left.renewals > 0).then_some(Renew(which)));
                let to = 1 - which.min(1);
                let can_follow = state.clients[to].is_waiting() && state.clients[to].flight.is_none();
                actions.extend((may_follow && can_follow).then_some(HandOff(which, to)));
                let is_over = matches!(state.revoke, Revocation::Taking { takes, .. } if takes == token);
                actions.extend((is_over || state.taken.contains(&fence)).then_some(Hear(which)));
            }
            (_, Some(Flight::Sent(_))) => {
                actions.push(Execute(which));
                actions.extend((left.delays > 0).then_some(ExecuteSlowly(which)));
            }
            (_, Some(Flight::Answered(..))) => actions.push(Receive(which)),
            _ => {}
        }
        let breaks = left.breaks > 0 && matches!(client.flight, Some(Flight::Sent(_) | Flight::Answered(..)));
        actions.extend(breaks.then_some(Break(which)));
        actions.extend((left.deaths > 0 && client.token().is_some()).then_some(Die(which)));
    }
    actions.extend((0..state.late.len()).map(ExecuteLate));
    actions.extend((left.ticks > 0).then_some(Tick));
    let is_held = !state.server.holds.is_empty();
    actions.extend((left.forced > 0 && is_held).then_some(Force));
    match state.revoke {
        Revocation::Told(_) => actions.push(Look),
        Revocation::Taking { .. } => actions.push(ExecuteTake),
        Revocation::None | Revocation::Done(..) if left.revokes > 0 && is_held => actions.push(Revoke),
        _ => {}
    }
}

pub(super) fn apply(world: &QueueWorld, state: &mut QueueState, action: QueueAction) {
    match action {
        QueueAction::Ask(which) | QueueAction::Follow(which) => {
            let client = &mut state.clients[which];
            client.asks -= 1;
            client.stage = Stage::Waiting(which as Token * ASKS + client.asks);
            if matches!(action, QueueAction::Ask(_)) {
                repeat(world, state, which);
            }
        }
        QueueAction::Repeat(which) => repeat(world, state, which),
        QueueAction::Renew(which) => {
            state.left.renewals -= 1;
            let client = &mut state.clients[which];
            client.token().into_iter().for_each(|token| client.send(QueueCall::Renew(token)));
        }
        QueueAction::Release(which) => release(state, which),
        QueueAction::HandOff(from, to) => hand_off(world, state, from, to),
        QueueAction::Execute(which) => {
            execute(world, state, which);
            receive(world, state, which);
        }
        QueueAction::ExecuteSlowly(which) => {
            state.left.delays -= 1;
            execute(world, state, which);
        }
        QueueAction::Receive(which) => receive(world, state, which),
        QueueAction::Break(which) => {
            state.left.breaks -= 1;
            lose(state, which);
        }
        QueueAction::ExecuteLate(at) => {
            let call = state.late.remove(at);
            state.execute(world, call);
        }
        QueueAction::Die(which) => {
            state.left.deaths -= 1;
            lose(state, which);
            (state.clients[which].stage, state.clients[which].flight) = (Stage::Dead, None);
        }
        QueueAction::Tick => {
            state.left.ticks -= 1;
            state.execute(world, QueueCall::Tick);
            state.clients.iter_mut().for_each(|client| client.tick(world.rules));
        }
        QueueAction::Revoke => {
            state.left.revokes -= 1;
            let holder = state.server.holds.first().map(|hold| hold.token);
            state.revoke = holder.map_or(Revocation::None, Revocation::Told);
        }
        QueueAction::Look => {
            let Revocation::Told(told) = state.revoke else { return };
            let holder = state.server.holds.first().map(|hold| hold.token);
            let takes = if world.rules.keeps_to_those_told { told } else { holder.unwrap_or(told) };
            let takes_it = state.server.hold(takes).is_some() && world.rules.releases_what_it_ends;
            let done = Revocation::Done(takes, state.server.fence);
            state.revoke = if takes_it { Revocation::Taking { told, takes } } else { done };
        }
        QueueAction::ExecuteTake => {
            let Revocation::Taking { told, takes } = state.revoke else { return };
            let ended = state.take(world);
            state.ended_untold |= ended.iter().any(|other| *other != told);
            state.ended_a_successor |= ended.iter().any(|other| *other != takes);
            state.revoke = Revocation::Done(takes, state.server.fence);
        }
        QueueAction::Force => {
            state.left.forced -= 1;
            state.late.push(QueueCall::ForceRelease);
        }
        QueueAction::Hear(which) => release(state, which),
    }
}

/// Sends the acquisition of a waiter, or the release of one that leaves.
pub(super) fn repeat(world: &QueueWorld, state: &mut QueueState, which: usize) {
    let client = &mut state.clients[which];
    match client.stage {
        Stage::Waiting(token) => client.send(QueueCall::Acquire(token, world.reads[which])),
        Stage::Leaving(token) => client.send(QueueCall::Release(token)),
        Stage::Idle | Stage::Holding(..) | Stage::Dead => {}
    }
}

pub(super) fn release(state: &mut QueueState, which: usize) {
    let client = &mut state.clients[which];
    if let Some(token) = client.token() {
        client.stage = Stage::Leaving(token);
        client.send(QueueCall::Release(token));
    }
}

fn hand_off(world: &QueueWorld, state: &mut QueueState, from: usize, to: usize) {
    if let (Some(released), Some(token)) = (state.clients[from].token(), state.clients[to].token()) {
        let overtake = state.hand_offs < HAND_OFFS || !world.rules.counts_hand_offs;
        state.clients[from].stage = Stage::Leaving(released);
        state.clients[from].send(QueueCall::HandOff(released, token, overtake));
        (state.clients[to].flight, state.clients[to].age) = (Some(Flight::HandOff), 0);
    }
}

fn execute(world: &QueueWorld, state: &mut QueueState, which: usize) {
    if let Some(Flight::Sent(call)) = state.clients[which].flight {
        let answer = state.execute(world, call);
        state.clients[which].flight = Some(Flight::Answered(call, answer));
    }
}

/// Does what an answer says.
pub(super) fn receive(world: &QueueWorld, state: &mut QueueState, which: usize) {
    let client = &mut state.clients[which];
    let Some(Flight::Answered(call, answer)) = client.flight.take() else { return };
    let left = if world.rules.counts_from_the_call { TTL - client.age } else { TTL };
    match (call, answer) {
        (QueueCall::Acquire(token, _), QueueAnswer::Granted(fence)) => {
            if world.hands_off && which < 2 {
                state.hand_offs = 0;
            }
            believe(world, state, token, fence, left);
        }
        (QueueCall::Renew(token), QueueAnswer::Held(true)) if client.is_holding() => {
            if let Stage::Holding(_, _, fence) = client.stage {
                client.stage = if left > 0 { Stage::Holding(token, left, fence) } else { Stage::Idle };
            }
        }
        (QueueCall::Renew(_), QueueAnswer::Held(false)) if client.is_holding() => client.stage = Stage::Idle,
        (QueueCall::Release(_), _) => client.stage = Stage::Idle,
        (QueueCall::HandOff(_, to, overtake), QueueAnswer::HandedOff(_, fence, others_wait)) => {
            client.stage = Stage::Idle;
            state.clients[client_of(to)].flight = None;
            if let Some(fence) = fence {
                state.hand_offs = if overtake && others_wait { state.hand_offs + 1 } else { 0 };
                believe(world, state, to, fence, left);
            }
        }
        _ => {}
    }
}

/// A waiter holds from now on, or gives back what came too late.
pub(super) fn believe(world: &QueueWorld, state: &mut QueueState, token: Token, fence: u8, left: u8) {
    let which = client_of(token);
    if state.clients[which].stage != Stage::Waiting(token) {
        return;
    }
    if left == 0 {
        return release(state, which);
    }
    state.clients[which].stage = Stage::Holding(token, left, fence);
    if !state.taken.contains(&fence) {
        let reads = world.reads[which];
        let [of_all, of_writers] = &mut state.largest;
        state.went_back |= fence <= if reads { *of_writers } else { *of_all };
        *of_all = fence.max(*of_all);
        *of_writers = if reads { *of_writers } else { fence };
    }
}

/// Loses the answer to a call, or the call, which may be executed late.
fn lose(state: &mut QueueState, which: usize) {
    match state.clients[which].flight.take() {
        Some(Flight::Sent(call)) => {
            lose_hand_off(state, call);
            state.late.push(call);
        }
        Some(Flight::Answered(call, _)) => lose_hand_off(state, call),
        // Its manager dies as a whole, or its caller goes: then the grant is released.
        Some(Flight::HandOff) | None => {}
    }
}

/// A hand-off of unknown outcome counts as one that went ahead of others.
fn lose_hand_off(state: &mut QueueState, call: QueueCall) {
    if let QueueCall::HandOff(_, to, _) = call {
        state.clients[client_of(to)].flight = None;
        state.hand_offs += 1;
    }
}

const _: () = assert!(CLIENTS * ASKS as usize <= 256);
