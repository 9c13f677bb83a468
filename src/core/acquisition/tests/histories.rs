//! Acquisitions in random histories of events.

use super::*;

/// An acquisition in a history of random events, with what the store may hold for it.
struct History {
    acquisition: Acquisition,
    now: u64,
    random: u64,
    /// The moment at which the attempt in flight was sent.
    asking: Option<u64>,
    releasing: bool,
    timer: Option<u64>,
    /// True while the caller has its lease.
    held: bool,
    /// The moment until which the store keeps a ticket or a hold, as far as certain answers tell.
    kept_until: u64,
    /// The moment until which an attempt that failed may matter.
    unknown_until: u64,
    /// The moment of the first release.
    released: u64,
    answers: usize,
    removed: bool,
}

impl History {
    fn new(seed: u64) -> Self {
        Self {
            acquisition: Acquisition::new(terms()),
            now: 0,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            asking: None,
            releasing: false,
            timer: Some(WAIT),
            held: false,
            kept_until: 0,
            unknown_until: 0,
            released: 0,
            answers: 0,
            removed: false,
        }
    }

    /// Draws a number below `bound`, from an xorshift generator (Marsaglia 2003).
    fn draw(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    fn on(&mut self, event: Event) {
        let relied_on = self.draw(4) == 0 && event != Event::LeftAlone;
        let (subscribed, caller_gone) = (self.draw(2) == 0, self.draw(8) == 0);
        let draw = self.draw(1_000) as f64 / 1_000.0;
        let before = self.acquisition.clone();
        let situation = Situation { subscribed, relied_on, caller_gone };
        let steps = self.acquisition.on(event, at(self.now), || draw, situation);
        let told = format!("{event:?} on {before:?} at {}", self.now);
        if let Some(pause) = steps.wake_after {
            self.timer = Some(self.now + u64::try_from(pause.as_millis()).unwrap());
        }
        if steps.ask || event == Event::HandOff && self.acquisition.attempts() > before.attempts() {
            assert!(self.asking.replace(self.now).is_none(), "{told}: a second attempt");
        }
        if steps.hold {
            self.held = true;
            self.timer = None;
        }
        self.answers += usize::from(steps.end.is_some() || steps.hold);
        assert!(self.answers <= 1, "{told} answers twice");
        if steps.release.is_some() {
            assert!(!self.releasing && self.asking.is_none(), "{told}: a second call");
            (self.releasing, self.held, self.timer) = (true, false, None);
            self.released = if self.released == 0 { self.now } else { self.released };
            assert_eq!(self.answers, 1, "{told} leaves the caller without an answer");
        }
        if steps.remove {
            self.removed = true;
            assert_eq!(self.answers, 1, "{told} leaves the caller without an answer");
            assert!(self.asking.is_none() && !self.releasing, "{told}: an answer would find nobody");
            // The next release would come later: each pause is as long as all before it.
            let next = if self.released == 0 { self.now } else { 2 * self.now - self.released + 20 };
            assert!(self.kept_until.max(self.unknown_until) <= next, "{told} leaves something behind");
            return;
        }
        let goes_on = self.asking.is_some() || self.releasing || self.timer.is_some() || self.held;
        assert!(goes_on, "{told} leaves {:?} to nobody", self.acquisition);
    }

    fn answer(&mut self) {
        let Some(sent) = self.asking.take() else { return };
        let remaining = self.draw(5_000);
        let answer = match self.draw(12) {
            0 => Answer::QueueFull,
            1 => failed(false, false),
            2 => failed(true, false),
            3 => failed(true, true),
            4 => failed(false, true),
            5..=7 => refused(remaining, Some(remaining % 9)),
            8 => Answer::Granted,
            _ => refused(remaining, None),
        };
        match answer {
            Answer::Granted => self.kept_until = sent + TTL,
            Answer::Refused { ahead: Some(_), .. } => self.kept_until = sent + TICKET_TTL,
            Answer::Failed { unknown: true, .. } => self.unknown_until = sent + TTL,
            _ => {}
        }
        self.on(answered(sent, answer));
    }

    fn answer_to_release(&mut self) {
        if std::mem::take(&mut self.releasing) {
            let certain = self.draw(2) == 0;
            if certain {
                self.kept_until = 0;
            }
            self.on(Event::Released { certain });
        }
    }

    fn end_lease(&mut self) {
        let (opening, hand_off) = (at(self.now), self.draw(2) == 0);
        if self.draw(4) > 0 {
            return self.on(Event::Release { opening, end: at(self.kept_until), hand_off });
        }
        (self.held, self.kept_until) = (false, 0);
        self.on(Event::Lost { opening });
    }

    fn step(&mut self) {
        self.now += self.draw(200);
        if self.timer.is_some_and(|timer| timer <= self.now) {
            self.timer = None;
            return self.on(Event::Due);
        }
        match self.draw(44) {
            0..=12 => self.answer(),
            13..=15 => self.answer_to_release(),
            16..=19 => self.on(Event::HandedOver),
            20..=23 => self.on(Event::GoOn),
            24..=27 => self.on(Event::Next),
            28..=31 => self.on(Event::Disconnected),
            32..=35 if self.asking.is_none() && self.answers == 0 => self.on(Event::HandOff),
            36 if self.acquisition.caller == Caller::Abandoned => self.on(Event::LeftAlone),
            37 if self.now.is_multiple_of(2) => self.on(Event::Hopeless),
            37 => self.on(Event::CallerGone),
            38 if self.draw(8) == 0 => self.on(Event::Dismissed),
            39..=40 if self.held => self.end_lease(),
            41 if self.acquisition.caller == Caller::Gone && self.asking.take().is_some() => {
                self.on(Event::Unsent)
            }
            _ => {}
        }
    }
}

#[test]
fn in_random_histories_nothing_waits_for_nobody_and_all_that_is_left_is_released() {
    let (mut abandoned, mut held) = (0, 0);
    for seed in 1..=20_000 {
        let mut history = History::new(seed);
        history.on(if seed % 2 == 0 { Event::Lead } else { Event::Follow(1) });
        let (mut steps, mut was_abandoned, mut was_held) = (0, false, false);
        while !history.removed {
            history.step();
            steps += 1;
            was_abandoned |= history.acquisition.caller == Caller::Abandoned;
            was_held |= history.held;
            assert!(steps < 100_000, "seed {seed} does not end: {:?}", history.acquisition);
        }
        abandoned += usize::from(was_abandoned);
        held += usize::from(was_held);
    }
    assert!(abandoned > 1_000 && held > 1_000, "hardly any was abandoned or held: {abandoned}, {held}");
}
