//! Several acquisitions of several resources in random histories, against a store that loses answers.

use std::collections::BTreeMap;

use super::*;

const RESOURCES: usize = 3;

/// One acquisition as the manager sees it, and as the store does.
#[derive(Debug, Default)]
struct Seen {
    resource: usize,
    arrival: usize,
    /// The moment at which the attempt in flight was sent, and the acquisition that hands off to it by the same call.
    asking: Option<(u64, Option<RecordKey>)>,
    releasing: bool,
    timer: Option<u64>,
    held: bool,
    /// True if its caller has a lease or an error.
    answered: bool,
    /// The moment until which the store keeps a queue ticket.
    ticket_until: u64,
    /// The moment of the first release.
    released: u64,
    /// The moment until which an attempt that was not answered may be executed.
    unknown_until: u64,
}

/// A history of random events.
struct History {
    engine: Engine,
    seen: BTreeMap<RecordKey, Seen>,
    /// The holder of each resource in the store, and the end of its TTL.
    holders: [Option<(RecordKey, u64)>; RESOURCES],
    now: u64,
    random: u64,
    /// True if all want one resource for as long as it takes, and the store loses no answer.
    is_calm: bool,
    arrivals: usize,
    /// The arrivals of those that got their lease.
    served: Vec<usize>,
    handed_off: usize,
}

impl History {
    fn new(seed: u64) -> Self {
        Self {
            engine: engine((seed % 4) as u32, 6),
            seen: BTreeMap::new(),
            holders: [None; RESOURCES],
            now: 0,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            is_calm: false,
            arrivals: 0,
            served: Vec::new(),
            handed_off: 0,
        }
    }

    /// Draws a number below `bound`, from an xorshift generator (Marsaglia 2003).
    fn draw(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    /// Returns true once in so many times, unless it is calm.
    fn fails(&mut self, once_in: u64) -> bool {
        !self.is_calm && self.draw(once_in) == 0
    }

    fn feed(&mut self, record: RecordKey, event: Event) {
        let roll = self.draw(1_000) as f64 / 1_000.0;
        self.engine.on(record, event, at(self.now), &mut || roll);
        while let Some((record, step)) = self.engine.next_step() {
            self.carry_out(record, step);
        }
        self.check();
    }

    fn carry_out(&mut self, record: RecordKey, step: Step) {
        let now = self.now;
        let seen = self.seen.get_mut(&record).expect("a record that is not over");
        let told = format!("{step:?} for {seen:?} at {now}");
        match step {
            Step::WakeAfter(pause) => seen.timer = Some(now + u64::try_from(pause.as_millis()).unwrap()),
            Step::Ask { .. } => {
                assert!(seen.asking.replace((now, None)).is_none(), "{told}: a second attempt")
            }
            Step::Hurry => {}
            Step::Queued { .. } => assert!(!seen.answered, "{told}: nobody waits"),
            Step::Hold { .. } => {
                assert!(!seen.answered, "{told}: a second answer");
                (seen.answered, seen.held, seen.timer) = (true, true, None);
                self.served.push(seen.arrival);
            }
            Step::End(_) => {
                assert!(!seen.answered, "{told}: a second answer");
                seen.answered = true;
            }
            Step::Withdraw => {
                let is_unsent = seen.asking.is_some_and(|(_, handed_off)| handed_off.is_none());
                if is_unsent && self.draw(2) == 0 {
                    self.seen.get_mut(&record).unwrap().asking = None;
                    self.engine.on(record, Event::Unsent, at(now), &mut || 0.5);
                }
            }
            Step::Release { .. } => self.release(record, &told),
            Step::HandOff { to, .. } => {
                self.release(record, &told);
                let next = self.seen.get_mut(&to).unwrap();
                assert!(next.asking.replace((now, Some(record))).is_none(), "{told}: a second attempt");
                self.handed_off += 1;
            }
            Step::Remove => {
                let seen = self.seen.remove(&record).unwrap();
                assert!(seen.answered, "{told}: nobody was told");
                assert!(seen.asking.is_none() && !seen.releasing, "{told}: an answer would find nobody");
                // The next release would come later: each pause is as long as all before it.
                let next = if seen.released == 0 { now } else { 2 * now - seen.released + 20 };
                let (holder, end) = self.holders[seen.resource].unwrap_or_default();
                let held_until = if holder == record { end } else { 0 };
                assert!(held_until.max(seen.ticket_until) <= next, "{told} leaves something: {held_until}");
            }
        }
    }

    fn release(&mut self, record: RecordKey, told: &str) {
        let seen = self.seen.get_mut(&record).unwrap();
        assert!(seen.answered, "{told}: nobody was told");
        assert!(seen.asking.is_none() && !seen.releasing, "{told}: a second call");
        (seen.releasing, seen.held, seen.timer) = (true, false, None);
        seen.released = if seen.released == 0 { self.now } else { seen.released };
    }

    /// Checks that each acquisition waits for something, and that the tables agree.
    fn check(&self) {
        assert_eq!(self.engine.entries.len(), self.seen.len());
        for (record, seen) in &self.seen {
            let goes_on = seen.asking.is_some() || seen.releasing || seen.timer.is_some() || seen.held;
            let entry = &self.engine.entries[*record];
            assert!(goes_on, "{seen:?} waits for nobody: {:?}", entry.acquisition);
            let cohort = entry.cohort.and_then(|cohort| self.engine.cohorts.get(cohort));
            let is_led = cohort.is_some_and(|it| it.leader().is_some() || it.holder.is_some());
            assert!(is_led || !entry.acquisition.is_following(), "{seen:?} follows nobody");
        }
    }

    fn arrive(&mut self) {
        let (resource, wait, alone, give_up_early) = match self.is_calm {
            true => (0, 1_000 * WAIT, true, false),
            false => (
                self.draw(RESOURCES as u64) as usize,
                [0, 50, 1_000, WAIT][self.draw(4) as usize],
                self.draw(4) > 0,
                self.draw(4) == 0,
            ),
        };
        let terms = Terms { wait: ms(wait), alone, ..terms(self.now) };
        let record = self.engine.admit(terms, Wanted { give_up_early, ..wanted(resource as u64) });
        self.arrivals += 1;
        let (arrival, timer) = (self.arrivals, Some(self.now + wait.max(1)));
        self.seen.insert(record, Seen { resource, arrival, timer, ..Seen::default() });
        self.feed(record, Event::Requested);
    }

    /// Executes an attempt in the store.
    fn execute(&mut self, record: RecordKey, sent: u64) -> Answer {
        let seen = &self.seen[&record];
        let holder = &mut self.holders[seen.resource];
        let is_free = holder.is_none_or(|(holder, end)| holder == record || end <= self.now);
        if is_free {
            *holder = Some((record, sent + TTL));
            self.seen.get_mut(&record).unwrap().ticket_until = 0;
            return Answer::Granted { overtook: false, caller_gone: self.fails(10) };
        }
        let ahead = (self.draw(2) == 0).then_some(self.draw(3));
        if ahead.is_some() {
            self.seen.get_mut(&record).unwrap().ticket_until = sent + TICKET_TTL;
        }
        Answer::Refused { remaining: ms(self.draw(3_000)), ahead, by: Front::Somebody }
    }

    /// Frees what the token of an acquisition holds in the store.
    fn free(&mut self, record: RecordKey) {
        let seen = self.seen.get_mut(&record).unwrap();
        seen.ticket_until = 0;
        self.holders[seen.resource].take_if(|(holder, _)| *holder == record);
    }

    /// Answers the attempt in flight of an acquisition, and the release that travelled with it.
    fn answer(&mut self, record: RecordKey) {
        let Some((sent, from)) = self.seen.get_mut(&record).unwrap().asking.take() else { return };
        let (executed, lost) = (!self.fails(8), self.fails(8));
        if let Some(from) = from.filter(|_| executed) {
            self.free(from);
        }
        let mut answer = if executed {
            self.execute(record, sent)
        } else {
            Answer::Failed { unknown: false, transient: true }
        };
        if lost {
            let seen = self.seen.get_mut(&record).unwrap();
            seen.unknown_until = sent + TTL;
            answer = Answer::Failed { unknown: true, transient: self.draw(2) == 0 };
        }
        self.feed(record, Event::Answered { sent: at(sent), answer });
        if let Some(from) = from {
            self.seen.get_mut(&from).unwrap().releasing = false;
            self.feed(from, Event::Released { certain: executed && !lost });
        }
    }

    fn answer_to_release(&mut self, record: RecordKey) {
        let is_handed_off =
            self.seen.values().any(|seen| seen.asking.is_some_and(|(_, from)| from == Some(record)));
        let seen = self.seen.get_mut(&record).unwrap();
        if is_handed_off || !std::mem::take(&mut seen.releasing) {
            return;
        }
        let (executed, lost) = (!self.fails(8), self.fails(8));
        if executed {
            self.free(record);
        }
        self.feed(record, Event::Released { certain: executed && !lost });
    }

    fn step(&mut self, may_arrive: bool) {
        self.now += self.draw(40);
        if may_arrive && self.draw(4) == 0 {
            return self.arrive();
        }
        let due = self.seen.iter().find(|(_, seen)| seen.timer.is_some_and(|timer| timer <= self.now));
        if let Some(record) = due.map(|(record, _)| *record) {
            self.seen.get_mut(&record).unwrap().timer = None;
            return self.feed(record, Event::Due);
        }
        if self.seen.is_empty() {
            return;
        }
        let at_random = self.draw(self.seen.len() as u64) as usize;
        let record = *self.seen.keys().nth(at_random).unwrap();
        let Seen { held, answered, .. } = self.seen[&record];
        match self.draw(if self.is_calm { 18 } else { 24 }) {
            0..=7 => self.answer(record),
            8..=13 => self.answer_to_release(record),
            14..=17 if held => {
                let opening = at(self.now + [0, 0, 100][self.draw(3) as usize]);
                let end = at(self.now + TTL);
                self.feed(record, Event::Release { opening, end, in_time: true });
            }
            18 if held => {
                self.seen.get_mut(&record).unwrap().held = false;
                self.free(record);
                self.feed(record, Event::Lost { opening: at(self.now) });
            }
            19 if !answered => self.feed(record, Event::CallerGone),
            20 => self.feed(record, [Event::HandedOver, Event::GoOn, Event::Next][self.now as usize % 3]),
            21 => self.feed(record, Event::Disconnected),
            22 if self.draw(20) == 0 => self.feed(record, Event::Dismissed),
            23 if self.draw(10) == 0 => {
                let resource = ResourceName::new(self.seen[&record].resource.to_string()).unwrap();
                self.engine.opened(&resource, at(self.now), &mut || 0.5);
                while let Some((record, step)) = self.engine.next_step() {
                    self.carry_out(record, step);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn in_random_histories_every_request_is_answered_once_and_nothing_stays_in_the_store() {
    let (mut granted, mut handed_off) = (0, 0);
    for seed in 1..=2_000 {
        let mut history = History::new(seed);
        (0..400).for_each(|_| history.step(true));
        let mut steps = 0;
        while !history.seen.is_empty() {
            history.step(false);
            steps += 1;
            assert!(steps < 200_000, "seed {seed} does not end: {:?}", history.seen);
        }
        assert!(history.engine.is_empty(), "seed {seed}");
        granted += history.served.len();
        handed_off += history.handed_off;
    }
    assert!(granted > 10_000 && handed_off > 1_000, "hardly any: {granted}, {handed_off}");
}

#[test]
fn waiters_of_one_process_are_served_in_the_order_of_their_arrival() {
    for seed in 1..=300 {
        let mut history = History { engine: engine(u32::MAX, 1_000), is_calm: true, ..History::new(seed) };
        while history.served.len() < 40 {
            let may_arrive = history.arrivals < 40;
            history.step(may_arrive);
        }
        assert_eq!(history.served, (1..=40).collect::<Vec<_>>(), "seed {seed}");
    }
}
