//! The times in which nobody ticked, and the deaths that explain them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::election::process::{TICK, TTL, micros};

/// The time that may pass until another one ticks, beside its first pause: it is told, elected, and gets a processor.
const HAND_OVER: u64 = 300_000;
const SECOND: u64 = 1_000_000;
/// What one leader may be later than that: the witness below is one thread of many that may get no processor.
const LATE: u64 = 3 * SECOND;

/// A tick of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick {
    pub(crate) at: u64,
    pub(crate) until: u64,
    pub(crate) fence: u64,
    pub(crate) process: usize,
}

/// A time in which a process was dead or frozen and others did not know it yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Absence {
    pub(crate) from: u64,
    pub(crate) until: u64,
}

impl Absence {
    /// The absence of one that is killed now: its lease is over after a TTL.
    pub(crate) fn killed(now: u64) -> Self {
        Self { from: now, until: now + TTL.as_micros() as u64 + SECOND }
    }
}

/// The time from the last tick of a leader to the first one of the next, or from the death in between.
struct HandOver {
    took: u64,
    allowed: u64,
    died: Option<u64>,
    ticks: [Tick; 2],
}

impl HandOver {
    fn late(&self) -> u64 {
        self.took.saturating_sub(self.allowed)
    }

    fn words(&self) -> String {
        let Self { took, allowed, died, ticks } = self;
        format!("nobody ran for {took} µs of at most {allowed} (dead: {died:?}): {ticks:?}")
    }
}

/// Returns the times without a runner that are too long, in words. Sorts the ticks.
///
/// Between two leaders one tick may be left out, or as many as fall into a TTL and a second after somebody died or froze. Some
/// may be later on a busy machine, but neither most of those after a death nor most of the others. In one term
/// nothing is asked for: the runner was there, and at most got no processor.
pub(crate) fn gaps(ticks: &mut [Tick], absent: &[Absence], stalls: &[(u64, u64)]) -> Vec<String> {
    ticks.sort_by_key(|tick| tick.at);
    let (tick, ttl) = (TICK.as_micros() as u64, TTL.as_micros() as u64);
    let hand_overs = ticks.windows(2).filter(|two| two[0].fence != two[1].fence).map(|two| {
        let (from, until) = (two[0].at, two[1].at);
        let overlap = |&(start, end): &(u64, u64)| end.min(until).saturating_sub(start.max(from));
        let allowed = 2 * tick + HAND_OVER + 2 * stalls.iter().map(overlap).sum::<u64>();
        let near = absent.iter().filter(|absence| absence.from < until && absence.until > from);
        let died = near.map(|absence| absence.from.max(from)).max();
        let (took, allowed) = match died {
            Some(died) => (until - died, allowed - tick + ttl + SECOND),
            None => (until - from, allowed),
        };
        HandOver { took, allowed, died, ticks: [two[0], two[1]] }
    });
    let (after_death, healthy): (Vec<_>, Vec<_>) = hand_overs.partition(|it| it.died.is_some());
    let longest = [&healthy, &after_death].map(|of| of.iter().map(|it| it.took).max());
    println!("longest time between two leaders: {:?} µs, after a death {:?} µs", longest[0], longest[1]);
    // Of a few deaths all may fall into a busy moment.
    let too_late = |of: Vec<HandOver>, few: usize| {
        let most_are_late = of.len() > few && 2 * of.iter().filter(|it| it.late() > 0).count() > of.len();
        of.into_iter().filter(move |it| it.late() > if most_are_late { 0 } else { LATE })
    };
    too_late(healthy, 0).chain(too_late(after_death, 3)).map(|it| it.words()).collect()
}

/// A thread that looks how late it is: then this machine had no processor to give.
pub(crate) struct Witness {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(u64, u64)>>,
}

impl Witness {
    pub(crate) fn start() -> Self {
        const LOOK: Duration = Duration::from_millis(5);
        let is_over = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let (mut stalls, mut last) = (Vec::new(), micros());
            while !asked.load(Ordering::Relaxed) {
                thread::sleep(LOOK);
                let now = micros();
                if now - last > 4 * LOOK.as_micros() as u64 {
                    stalls.push((last, now));
                }
                last = now;
            }
            stalls
        });
        Self { is_over, thread }
    }

    /// Returns the stalls, each from when until when.
    pub(crate) fn stop(self) -> Vec<(u64, u64)> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

#[test]
fn a_time_without_a_runner_needs_somebody_who_was_dead() {
    let tick = |at: u64, fence| Tick { at: at * 1_000, until: (at + 100) * 1_000, fence, process: 1 };
    let found = |ticks: &[Tick], absent: &[Absence], stalls: &[(u64, u64)]| {
        gaps(&mut ticks.to_vec(), absent, stalls).len()
    };
    let killed = |at: u64| [Absence::killed(at * 1_000)];
    let (one_left_out, long) = ([tick(0, 1), tick(650, 2)], [tick(0, 1), tick(3_400, 2)]);
    assert_eq!(found(&one_left_out, &[], &[]), 0);
    assert_eq!(found(&[tick(0, 1), tick(800, 2)], &[], &[]), 1);
    let with_two_in_time = |late: u64| [tick(0, 1), tick(400, 2), tick(800, 3), tick(800 + late, 4)];
    assert_eq!(found(&with_two_in_time(3_600), &[], &[]), 0, "one may be late");
    assert_eq!(found(&with_two_in_time(3_800), &[], &[]), 1, "but not longer than a machine is busy");
    assert_eq!(found(&[tick(0, 1), tick(1_900, 1)], &[], &[]), 0, "in one term");
    assert_eq!(found(&long, &[], &[]), 1);
    assert_eq!(found(&long, &killed(100), &[]), 0);
    assert_eq!(found(&[tick(0, 1), tick(7_000, 2)], &killed(100), &[]), 1);
    let always_late: Vec<Tick> = (0..5).map(|number| tick(number * 4_500, number)).collect();
    let deaths: Vec<Absence> = (0..4).map(|number| Absence::killed((number * 4_500 + 100) * 1_000)).collect();
    assert_eq!(found(&always_late, &deaths, &[]), 4, "each death takes a little too long");
    assert_eq!(found(&always_late[..4], &deaths[..3], &[]), 0, "of a few that may be chance");
    assert_eq!(found(&long, &[], &[(0, 3_000_000)]), 0, "there was no processor");
}
