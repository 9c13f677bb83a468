//! Acquisitions in random histories of events.

use super::{
    tests::{WAIT, answered, at, failed, refused, terms},
    *,
};

/// A waiter in a history of random events, with what the store may hold for it.
struct History {
    waiting: Waiting,
    now: u64,
    random: u64,
    /// The moment at which the attempt in flight was sent.
    asking: Option<u64>,
    timer: Option<u64>,
    /// True if the store keeps a ticket, or may execute an attempt that failed.
    leftover: bool,
    answers: usize,
    removed: bool,
}

impl History {
    fn new(seed: u64) -> Self {
        Self {
            waiting: Waiting::new(terms()),
            now: 0,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            asking: None,
            timer: Some(WAIT),
            leftover: false,
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
        let (subscribed, draw) = (self.draw(2) == 0, self.draw(1_000) as f64 / 1_000.0);
        let before = self.waiting.clone();
        let steps = self.waiting.on(event, at(self.now), || draw, Situation { subscribed, relied_on });
        if let Some(pause) = steps.wake_after {
            self.timer = Some(self.now + u64::try_from(pause.as_millis()).unwrap());
        }
        if steps.ask || event == Event::HandOff {
            assert!(self.asking.replace(self.now).is_none(), "{event:?} on {before:?}: a second attempt");
        }
        self.answers += usize::from(steps.end.is_some());
        assert!(self.answers <= 1, "{event:?} on {before:?} answers twice");
        if steps.remove {
            self.removed = true;
            assert_eq!(self.answers, 1, "{event:?} on {before:?} leaves the caller without an answer");
            assert_eq!(
                steps.reclaim.is_some(),
                self.leftover,
                "{event:?} on {before:?} leaves something behind"
            );
            return;
        }
        let goes_on = self.asking.is_some() || self.timer.is_some();
        assert!(goes_on, "{event:?} on {before:?} leaves {:?} to nobody", self.waiting);
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
            5..=8 => refused(remaining, Some(remaining % 9)),
            _ => refused(remaining, None),
        };
        let queued = matches!(answer, Answer::Refused { ahead: Some(_), .. });
        self.leftover |= queued || matches!(answer, Answer::Failed { unknown: true, .. });
        self.on(answered(sent, answer));
    }

    fn step(&mut self) {
        self.now += self.draw(200);
        if self.timer.is_some_and(|timer| timer <= self.now) {
            self.timer = None;
            return self.on(Event::Due);
        }
        match self.draw(40) {
            0..=15 => self.answer(),
            16..=19 => self.on(Event::HandedOver),
            20..=23 => self.on(Event::GoOn),
            24..=27 => self.on(Event::Next),
            28..=31 => self.on(Event::Disconnected),
            32..=35 if !self.waiting.is_asking() => self.on(Event::HandOff),
            36 if self.waiting.is_abandoned() => self.on(Event::LeftAlone),
            37 => self.on(Event::CallerGone),
            38 if self.draw(8) == 0 => self.on(Event::Dismissed),
            _ => {}
        }
    }
}

#[test]
fn in_random_histories_nothing_waits_for_nobody_and_all_that_is_left_is_reclaimed() {
    let mut abandoned = 0;
    for seed in 1..=20_000 {
        let mut history = History::new(seed);
        history.on(if seed % 2 == 0 { Event::Lead } else { Event::Follow(1) });
        let mut steps = 0;
        while !history.removed {
            history.step();
            steps += 1;
            assert!(steps < 100_000, "seed {seed} does not end: {:?}", history.waiting);
        }
        abandoned += usize::from(history.waiting.is_abandoned());
    }
    assert!(abandoned > 1_000, "hardly any was abandoned: {abandoned}");
}
