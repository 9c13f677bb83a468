//! The server of the model: holders, the queue of one resource, and the verbs that scripts execute at one moment.
//!
//! Each function names the script that it stands for (`src/store/redis/wire/lua`); the store in memory has the same rules in
//! `src/store/memory/resource.rs`.

use std::mem;

use super::{QueueAnswer, QueueCall, QueueRules, Token, Told, client_of};

/// The ticks of the clock for which a hold lasts after it was taken up or renewed.
pub const TTL: u8 = 2;
/// The ticks for which a hand-over can be taken up.
pub const GRANT_WINDOW: u8 = 1;
/// Of a hold that has no end, which is a bug.
const NEVER: u8 = u8::MAX;

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) holds: Vec<Hold>,
    /// All whose ticket is kept, in the order in which they are served.
    pub(super) queue: Vec<Waiter>,
    /// The last fence that was given out.
    pub(super) fence: u8,
    /// True if time has made room since the last verb that serves the queue.
    pub(super) made_room: bool,
    /// The tokens whose ticket is kept, in the order of their arrival: what the queue must keep to.
    arrived: Vec<Token>,
    /// True once somebody was served before one that came earlier.
    pub(super) overtook: bool,
    /// The hand-offs in a row that went ahead of waiters.
    pub(super) ahead_in_a_row: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) token: Token,
    reads: bool,
    pub(super) fence: u8,
    left: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) token: Token,
    reads: bool,
    left: u8,
    place: Place,
    /// The roll calls that it has not answered.
    unanswered: u8,
    came_back: bool,
    /// True if it did not take up a hand-over, and no verb has found that yet.
    unclaimed: bool,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Place {
    Waits,
    /// It was handed the resource, and has so many ticks left to take it up.
    Offered(u8),
    /// It is taken for dead.
    Aside,
}

/// The circumstances of one verb, and the messages that it sends.
pub(super) struct Turn<'a> {
    pub(super) rules: QueueRules,
    pub(super) ticket_ttl: u8,
    /// Returns true if the inbox of a token has a subscriber.
    pub(super) listens: &'a dyn Fn(Token) -> bool,
    pub(super) told: Vec<(Token, Told)>,
    /// True if a hand-over was found that was not taken up: `anybody_waits` in `queue.lua`.
    pub(super) found_unclaimed: bool,
}

impl Server {
    pub(super) fn call(&mut self, call: QueueCall, turn: &mut Turn<'_>) -> QueueAnswer {
        if !matches!(call, QueueCall::Renew(_) | QueueCall::Tick) {
            turn.found_unclaimed |= self.queue.iter().any(|waiter| waiter.unclaimed);
            self.queue.iter_mut().for_each(|waiter| waiter.unclaimed = false);
        }
        match call {
            QueueCall::Acquire(token, reads) => self.acquire(token, reads, turn),
            QueueCall::Renew(token) => QueueAnswer::Held(self.renew(token)),
            QueueCall::Release(token) => {
                let held = self.open(token);
                if turn.rules.releases_hand_over {
                    self.hand_over(None, turn);
                }
                QueueAnswer::Held(held)
            }
            QueueCall::HandOff(from, to, overtake) => self.hand_off(from, to, overtake, turn),
            QueueCall::ForceRelease => {
                let taken = mem::take(&mut self.holds).len() as u8;
                self.hand_over(None, turn);
                QueueAnswer::Taken(taken)
            }
            QueueCall::Tick => {
                self.tick();
                QueueAnswer::Held(false)
            }
        }
    }

    pub(super) fn hold(&self, token: Token) -> Option<&Hold> {
        self.holds.iter().find(|hold| hold.token == token)
    }

    /// The time until all holds have ended by themselves, which a refusal tells.
    pub(super) fn left(&self) -> u8 {
        self.holds.iter().map(|hold| hold.left).max().unwrap_or(1)
    }

    /// The tokens in the queue, without those set aside.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Token> {
        self.queue.iter().filter(|waiter| waiter.place == Place::Waits).map(|waiter| waiter.token)
    }

    /// Returns true if the first waiter could hold at this moment.
    pub(super) fn has_room(&self) -> bool {
        let first = self.queue.iter().find(|waiter| waiter.place == Place::Waits);
        first.is_some_and(|first| self.fits(first.reads))
    }

    /// Returns true if somebody was handed the resource and has not taken it up yet.
    pub(super) fn offers(&self) -> bool {
        self.queue.iter().any(|waiter| matches!(waiter.place, Place::Offered(_)))
    }

    /// Returns true if this token is in the queue, or remembered beside it.
    pub(super) fn has_ticket(&self, token: Token) -> bool {
        self.queue.iter().any(|waiter| waiter.token == token)
    }

    /// The tokens that are taken for dead.
    pub(super) fn set_aside(&self) -> impl Iterator<Item = Token> {
        self.queue.iter().filter(|waiter| waiter.place == Place::Aside).map(|waiter| waiter.token)
    }

    fn fits(&self, reads: bool) -> bool {
        self.holds.iter().all(|hold| hold.reads && reads)
    }

    /// `attempt` in `attempt.lua`.
    fn acquire(&mut self, token: Token, reads: bool, turn: &mut Turn<'_>) -> QueueAnswer {
        if self.hold(token).is_none() {
            self.come_back(token, turn.rules);
        }
        self.hand_over(Some(token), turn);
        if let Some(hold) = self.holds.iter_mut().find(|hold| hold.token == token) {
            hold.left = TTL;
            let fence = hold.fence;
            self.remove_waiter(token);
            return QueueAnswer::Granted(fence);
        }
        let others_wait = turn.rules.newcomers_wait && self.waiting().next().is_some();
        if self.fits(reads) && !others_wait {
            self.check_order(token);
            return QueueAnswer::Granted(self.take(token, reads, TTL));
        }
        self.wait(token, reads, turn.ticket_ttl)
    }

    /// `wait` in `attempt.lua`.
    fn wait(&mut self, token: Token, reads: bool, ticket_ttl: u8) -> QueueAnswer {
        if !self.has_ticket(token) {
            let place = Place::Waits;
            self.queue.push(Waiter {
                token,
                reads,
                left: 0,
                place,
                unanswered: 0,
                came_back: false,
                unclaimed: false,
            });
            self.arrived.push(token);
        }
        for waiter in self.queue.iter_mut().filter(|waiter| waiter.token == token) {
            (waiter.left, waiter.unanswered) = (ticket_ttl, 0);
        }
        QueueAnswer::Queued(self.waiting().take_while(|other| *other != token).count() as u8)
    }

    /// `come_back` in `attempt.lua`: whoever was set aside returns to where it was.
    fn come_back(&mut self, token: Token, rules: QueueRules) {
        let is_aside = |waiter: &Waiter| waiter.token == token && waiter.place != Place::Waits;
        let Some(at) = self.queue.iter().position(is_aside) else { return };
        let mut waiter = self.queue.remove(at);
        (waiter.place, waiter.came_back) = (Place::Waits, true);
        self.queue.insert(if rules.comes_back_to_its_place { at } else { self.queue.len() }, waiter);
    }

    fn renew(&mut self, token: Token) -> bool {
        let hold = self.holds.iter_mut().find(|hold| hold.token == token);
        hold.map(|hold| hold.left = TTL).is_some()
    }

    /// `release` in `releasing.lua`: ends a hold or a queue ticket. What that makes free is not handed over yet.
    fn open(&mut self, token: Token) -> bool {
        self.remove_waiter(token);
        let before = self.holds.len();
        self.holds.retain(|hold| hold.token != token);
        self.holds.len() < before
    }

    /// `hand_off.lua`.
    fn hand_off(&mut self, from: Token, to: Token, overtake: bool, turn: &mut Turn<'_>) -> QueueAnswer {
        let held = self.open(from);
        let fence = if overtake && held && self.holds.is_empty() {
            self.remove_waiter(to);
            // What was found is not acted on: the queue is not served.
            let is_ahead = self.waiting().next().is_some();
            let in_a_row = if is_ahead { self.ahead_in_a_row + 1 } else { 0 };
            let fence = self.take(to, false, TTL);
            self.ahead_in_a_row = in_a_row;
            Some(fence)
        } else {
            match self.acquire(to, false, turn) {
                QueueAnswer::Granted(fence) => Some(fence),
                _ => None,
            }
        };
        QueueAnswer::HandedOff(held, fence, self.waiting().any(|waiter| waiter != to))
    }

    /// `hand_over` in `queue.lua`: gives the heads of the queue what they wait for, and sets aside those that are taken for dead.
    fn hand_over(&mut self, asking: Option<Token>, turn: &mut Turn<'_>) {
        self.made_room = false;
        let calls = mem::take(&mut turn.found_unclaimed) && turn.rules.calls_the_roll;
        let mut to_others = false;
        while let Some(head) = self.queue.iter_mut().find(|waiter| waiter.place == Place::Waits) {
            if self.holds.iter().any(|hold| !hold.reads || !head.reads) {
                break;
            }
            let (token, reads) = (head.token, head.reads);
            let missed = head.unanswered >= if calls { 1 } else { 2 };
            let is_reached = !missed && ((turn.listens)(token) || head.came_back);
            if asking != Some(token) && !is_reached {
                head.place = Place::Aside;
                continue;
            }
            head.place = Place::Offered(GRANT_WINDOW);
            self.check_order(token);
            if asking == Some(token) {
                self.take(token, reads, TTL);
                continue;
            }
            to_others = true;
            turn.told.push((token, Told::HandedOver));
            let left = if turn.rules.hand_overs_end { GRANT_WINDOW } else { NEVER };
            self.offer(token, reads, left, turn.rules);
        }
        if calls {
            // `call_the_roll` in queue.lua.
            for waiter in self.queue.iter_mut().filter(|waiter| waiter.place == Place::Waits) {
                waiter.unanswered = (waiter.unanswered + 1).min(2);
                // The one that asks has answered already.
                if asking != Some(waiter.token) {
                    turn.told.push((waiter.token, Told::GoOn));
                }
            }
        } else if to_others {
            self.tell_who_is_next(asking, turn);
        }
    }

    /// `tell_who_is_next` in `queue.lua`.
    fn tell_who_is_next(&self, asking: Option<Token>, turn: &mut Turn<'_>) {
        let mut others = self.waiting().filter(|token| asking != Some(*token));
        let first = others.find(|token| (turn.listens)(*token));
        let inbox = first.map(client_of);
        let last =
            self.waiting().last().filter(|last| asking != Some(*last) && inbox != Some(client_of(*last)));
        turn.told.extend(first.into_iter().chain(last).map(|token| (token, Told::Next)));
    }

    /// `enter` in `admission.lua`: a request that fits becomes a holder.
    fn take(&mut self, token: Token, reads: bool, left: u8) -> u8 {
        self.remove_waiter(token);
        self.ahead_in_a_row = 0;
        self.fence += 1;
        self.holds.push(Hold { token, reads, fence: self.fence, left });
        self.fence
    }

    /// The same for a waiter that has to take it up, and keeps its ticket.
    fn offer(&mut self, token: Token, reads: bool, left: u8, rules: QueueRules) {
        self.ahead_in_a_row = 0;
        self.fence += u8::from(rules.hand_overs_have_new_fences);
        self.holds.push(Hold { token, reads, fence: self.fence, left });
    }

    /// Notes if somebody who came earlier waits in the queue while this token is served.
    fn check_order(&mut self, token: Token) {
        let mut earlier = self.arrived.iter().take_while(|other| **other != token);
        self.overtook |= earlier.any(|earlier| self.waiting().any(|waiter| waiter == *earlier));
    }

    /// `remove_waiter` in `queue.lua`.
    fn remove_waiter(&mut self, token: Token) {
        self.queue.retain(|waiter| waiter.token != token);
        self.arrived.retain(|arrived| *arrived != token);
    }

    /// What keys with an end do by themselves. Nothing is handed over: the next verb that looks does that.
    fn tick(&mut self) {
        let held = self.holds.len();
        self.holds.iter_mut().filter(|hold| hold.left != NEVER).for_each(|hold| hold.left -= 1);
        self.holds.retain(|hold| hold.left > 0);
        let kept = self.queue.len();
        self.queue.iter_mut().for_each(|waiter| waiter.left -= 1);
        self.queue.retain(|waiter| waiter.left > 0);
        self.arrived.retain(|token| self.queue.iter().any(|waiter| waiter.token == *token));
        for waiter in &mut self.queue {
            if let Place::Offered(left) = &mut waiter.place {
                *left -= 1;
                if *left == 0 {
                    waiter.place = Place::Aside;
                    waiter.unclaimed = true;
                }
            }
        }
        self.made_room |= self.holds.len() < held || self.queue.len() < kept;
    }
}
