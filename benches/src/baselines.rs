//! Two rules of others on the load that shifts, each on an ideal queue.
//!
//! It is one lock, first come first served, where to refuse and to hand over costs nothing. A tuner has the same load in `shifting`, on
//! servers.

use std::collections::VecDeque;

use leasehold_tuning::shifting::{SEED, ShiftingLoad};

/// Times are in seconds.
type Seconds = f64;

/// The wait after which a caller gives up, as that of the tuner's settings.
const PATIENCE: Seconds = 4.0;
/// The time for which the lock is held.
const HOLD: Seconds = 0.1;
/// The time that a hand-over takes while the server is slow.
const SLOW: Seconds = 0.05;

/// A rule that says who is not served.
trait Rule {
    /// Decides on a newcomer, who would wait for about so long.
    fn admits(&mut self, _at: Seconds, _expected: Seconds) -> bool {
        true
    }

    /// Decides on the first in the queue, who has waited for so long; there are `behind` more.
    fn serves(&mut self, _now: Seconds, _waited: Seconds, _behind: usize) -> bool {
        true
    }
}

/// Nobody is refused.
struct Open;

impl Rule for Open {}

/// CoDel: when waits have been above the target for an interval, the first in the queue is dropped, and then again after an
/// interval by the square root of the drops so far, until waits are below the target (Nichols and Jacobson: "Controlling Queue
/// Delay", 2012; as in RFC 8289).
#[derive(Default)]
struct CoDel {
    target: Seconds,
    interval: Seconds,
    /// The time at which waits will have been too long for an interval.
    too_long: Option<Seconds>,
    drops: bool,
    next: Seconds,
    /// The number of drops in this time in which it drops, and the one with which that began.
    count: u32,
    began: u32,
}

impl Rule for CoDel {
    fn serves(&mut self, now: Seconds, waited: Seconds, behind: usize) -> bool {
        if waited < self.target || behind == 0 {
            (self.too_long, self.drops) = (None, false);
            return true;
        }
        let too_long = *self.too_long.get_or_insert(now + self.interval);
        if self.drops && now >= self.next {
            self.count += 1;
            self.next += self.interval / f64::from(self.count).sqrt();
            return false;
        }
        if self.drops || now < too_long {
            return true;
        }
        // It goes on at the rate that it had, if it has dropped a moment ago.
        let more = self.count - self.began;
        self.count = if more > 1 && now - self.next < 16.0 * self.interval { more } else { 1 };
        (self.drops, self.began) = (true, self.count);
        self.next = now + self.interval / f64::from(self.count).sqrt();
        false
    }
}

/// Protego's rule: who is predicted to miss an objective is refused on arrival (Cho et al., NSDI 2023).
struct Protego {
    /// The objective at each time.
    objective: Box<dyn Fn(Seconds) -> Seconds>,
}

impl Rule for Protego {
    fn admits(&mut self, at: Seconds, expected: Seconds) -> bool {
        expected <= (self.objective)(at)
    }
}

/// Returns the requests that are served in time, in each phase.
fn in_time(seed: u64, rule: &mut dyn Rule) -> [usize; 4] {
    let load = ShiftingLoad { phases: 1.0, times: 1.0 };
    let trace = load.trace(seed);
    let at = |line: &str| line.split('"').nth(3)?.strip_suffix("us")?.parse::<Seconds>().ok();
    let mut arrivals = trace.lines().map(|line| at(line).unwrap() / 1e6).peekable();
    let (mut queue, mut served) = (VecDeque::new(), Vec::new());
    let (mut free_at, mut service): (Seconds, Seconds) = (0.0, HOLD);
    loop {
        // Everybody who comes before the lock is free meets the same holder.
        while let Some(at) = arrivals.next_if(|at| *at <= free_at || queue.is_empty()) {
            let expected = (free_at - at).max(0.0) + queue.len() as f64 * service;
            if rule.admits(at, expected) {
                queue.push_back(at);
            }
        }
        let Some(at) = queue.pop_front() else { break };
        let now = free_at.max(at);
        if now - at > PATIENCE || !rule.serves(now, now - at, queue.len()) {
            continue;
        }
        served.push(((at * 1e6) as u64, ((now - at) * 1e6) as u64));
        // The prediction is that of the last service, which Protego measures.
        service = HOLD + if now >= 70.0 { SLOW } else { 0.0 };
        free_at = now + service;
    }
    load.outcome(&served, 0).in_time
}

fn total(in_time: [usize; 4]) -> usize {
    in_time.iter().sum()
}

#[test]
fn the_rules_of_others_serve_more_in_time_than_none_does() {
    let none = in_time(SEED, &mut Open);
    let best = |tries: Vec<(String, [usize; 4])>| tries.into_iter().max_by_key(|it| total(it.1)).unwrap();
    let targets = [0.05, 0.1, 0.2, 0.4, 0.8, 1.2, 1.6, 2.0];
    let codel = targets.iter().flat_map(|target| {
        [0.1, 0.2, 0.5, 1.0, 2.0, 4.0].map(|interval| {
            (
                format!("target {target}, interval {interval}"),
                in_time(SEED, &mut CoDel { target: *target, interval, ..CoDel::default() }),
            )
        })
    });
    let one = (1..=12).map(|objective| f64::from(objective) * 0.2).map(|objective| {
        let rule = &mut Protego { objective: Box::new(move |_| objective) };
        (format!("one objective of {objective:.1} s"), in_time(SEED, rule))
    });
    let useful = |at: Seconds| if (20.0..50.0).contains(&at) { 0.8 } else { 2.4 };
    let each = in_time(SEED, &mut Protego { objective: Box::new(useful) });
    let (codel, one) = (best(codel.collect()), best(one.collect()));
    println!("nobody refused: {none:?} {}", total(none));
    println!("CoDel, {}: {:?} {}", codel.0, codel.1, total(codel.1));
    println!("Protego, {}: {:?} {}", one.0, one.1, total(one.1));
    println!("Protego, who knows what is of use to each: {each:?} {}", total(each));
    assert!(total(none) < total(codel.1) && total(codel.1) < total(one.1) && total(one.1) < total(each));
    // Nothing can be better on a queue: the sale has 30 s for ten a second, and all other jobs can be served in time.
    assert!(each[0] == 60 && each[1] <= 308 && each[2] == 60, "{each:?}");
}
