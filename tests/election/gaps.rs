//! The times in which nobody ticked, and the deaths that explain them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::process::{TICK, TTL, micros};

/// The time that may pass until another one ticks, beside its first pause: it is told, elected, and gets a processor.
const HAND_OVER: u64 = 300_000;
const SECOND: u64 = 1_000_000;

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

/// Returns the times without a runner that are too long, in words. Sorts the ticks.
///
/// Between two leaders one tick may be left out, or as many as fall into a TTL and a second after somebody died or froze. In
/// one term nothing is asked for: the runner was there, and at most got no processor.
pub(crate) fn gaps(ticks: &mut [Tick], absent: &[Absence], stalls: &[(u64, u64)]) -> Vec<String> {
    ticks.sort_by_key(|tick| tick.at);
    let (tick, ttl) = (TICK.as_micros() as u64, TTL.as_micros() as u64);
    let mut longest = [0; 2];
    let too_long = ticks.windows(2).filter(|two| two[0].fence != two[1].fence).filter_map(|two| {
        let (from, until) = (two[0].at, two[1].at);
        let overlap = |&(start, end): &(u64, u64)| end.min(until).saturating_sub(start.max(from));
        let allowed = 2 * tick + HAND_OVER + 2 * stalls.iter().map(overlap).sum::<u64>();
        let near = absent.iter().filter(|absence| absence.from < until && absence.until > from);
        let last = near.map(|absence| absence.from.max(from)).max();
        let (gap, allowed) = match last {
            Some(died) => (until - died, allowed - tick + ttl + SECOND),
            None => (until - from, allowed),
        };
        let kind = &mut longest[usize::from(last.is_some())];
        *kind = gap.max(*kind);
        (gap > allowed)
            .then(|| format!("nobody ran for {gap} µs of at most {allowed} (dead: {last:?}): {two:?}"))
    });
    let too_long = too_long.collect();
    println!("longest time between two leaders: {} µs, after a death {} µs", longest[0], longest[1]);
    too_long
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
    assert_eq!(found(&[tick(0, 1), tick(1_900, 1)], &[], &[]), 0, "in one term");
    assert_eq!(found(&long, &[], &[]), 1);
    assert_eq!(found(&long, &killed(100), &[]), 0);
    assert_eq!(found(&[tick(0, 1), tick(4_000, 2)], &killed(100), &[]), 1);
    assert_eq!(found(&long, &[], &[(0, 3_000_000)]), 0, "there was no processor");
}
