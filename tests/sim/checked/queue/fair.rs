//! The fair run: what follows from a state if nothing bad happens any more.
//!
//! All calls are executed and answered, holders release at once, and waiters ask when they would: when they are told, or when the
//! time is over for which the holder may hold. Nobody new comes. Time goes on when nothing is left to do at a moment.

use std::mem;

use super::{
    CLIENTS, QueueAnswer, QueueCall, QueueState, QueueWorld, TTL, Token, Told,
    client::{self, Flight, Stage},
    client_of,
    server::GRANT_WINDOW,
};

/// A state that goes on fairly.
struct FairRun<'a> {
    world: &'a QueueWorld,
    state: QueueState,
    /// The ticks after which each waiter asks again.
    due: [u8; CLIENTS],
    /// Those that ask again after a grant window, whatever they are answered.
    checks_again: [bool; CLIENTS],
    /// The tokens of those that wait and have not been served yet.
    owed: [Option<Token>; CLIENTS],
}

/// Returns true if all who wait in this state are served by a fair run within the time that the world gives.
pub(super) fn serves_all(world: &QueueWorld, state: &QueueState) -> bool {
    // All have been answered just now that somebody holds for as long as a TTL.
    let owed = state.clients.each_ref().map(|client| match client.stage {
        Stage::Waiting(token) => Some(token),
        _ => None,
    });
    let (due, checks_again) = ([TTL; CLIENTS], [false; CLIENTS]);
    let mut run = FairRun { world, state: state.clone(), due, checks_again, owed };
    for _ in 0..=world.served_within.unwrap_or(0) {
        run.go_on();
        if run.is_over() {
            return true;
        }
        run.tick();
    }
    false
}

impl FairRun<'_> {
    fn is_over(&self) -> bool {
        let has_ended = |client: &client::Client| matches!(client.stage, Stage::Idle | Stage::Dead);
        self.state.clients.iter().all(has_ended) && self.owed.iter().all(Option::is_none)
    }

    fn execute(&mut self, call: QueueCall) -> QueueAnswer {
        let world = self.world;
        let listens = |token| world.listens(token);
        let mut turn = world.turn(&listens);
        let answer = self.state.server.call(call, &mut turn);
        turn.told.into_iter().for_each(|(token, told)| self.tell(token, told));
        answer
    }

    fn tell(&mut self, token: Token, told: Told) {
        if self.world.listens(token) {
            let which = client_of(token);
            self.due[which] = if told == Told::Next { GRANT_WINDOW } else { 0 };
            self.checks_again[which] |= told == Told::GoOn;
        }
    }

    /// Does all that can be done at this moment.
    fn go_on(&mut self) {
        while let Some(call) = self.state.late.pop() {
            self.execute(call);
        }
        while (0..CLIENTS).any(|which| self.step(which)) {}
    }

    /// Does the next thing that a client can do at this moment. Returns true if there was one.
    fn step(&mut self, which: usize) -> bool {
        let client = &self.state.clients[which];
        match (client.stage, client.flight) {
            (Stage::Dead, _) => return false,
            (_, Some(Flight::Sent(call))) => {
                let answer = self.execute(call);
                self.state.clients[which].flight = Some(Flight::Answered(call, answer));
                let checks_again = mem::take(&mut self.checks_again[which]);
                self.due[which] = if checks_again { GRANT_WINDOW } else { self.state.server.left().min(TTL) };
            }
            (_, Some(Flight::Answered(..))) => client::receive(self.world, &mut self.state, which),
            (Stage::Holding(..), None) => {
                self.owed[which] = None;
                client::release(&mut self.state, which);
            }
            (Stage::Leaving(_), None) => client::repeat(self.world, &mut self.state, which),
            (Stage::Waiting(_), None) if self.due[which] == 0 => {
                client::repeat(self.world, &mut self.state, which);
            }
            // What it was granted came too late, and it gave that back.
            (Stage::Idle, None) => match self.owed[which] {
                Some(token) => {
                    self.state.clients[which].stage = Stage::Waiting(token);
                    client::repeat(self.world, &mut self.state, which);
                }
                None => return false,
            },
            _ => return false,
        }
        true
    }

    fn tick(&mut self) {
        self.execute(QueueCall::Tick);
        self.state.clients.iter_mut().for_each(|client| client.tick(self.world.rules));
        self.due.iter_mut().for_each(|due| *due = due.saturating_sub(1));
    }
}
