//! The end of a command that has to end: TERM, a grace, KILL, all before its lease runs out. Free of clocks and processes.

use std::time::{Duration, Instant};

/// The course of an end.
#[derive(Debug)]
pub(super) struct Ending {
    /// The time between TERM and KILL.
    grace: Duration,
    /// The time before the end of the lease at which KILL is sent, for it to take effect.
    margin: Duration,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// The command has to end: it was `told` so by TERM, or will be, and gets KILL then.
    Ends {
        told: bool,
        kill_at: Instant,
    },
    /// It got KILL, and gets it again then if it lives: the first may have been refused.
    Killed {
        again_at: Instant,
    },
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Term,
    Kill,
    /// Nothing before this time is over.
    Wait(Duration),
}

/// The time between two times of KILL.
const LONG: Duration = Duration::from_secs(1);

impl Ending {
    pub(super) fn new(grace: Duration, ttl: Duration) -> Self {
        Self { grace, margin: ttl / 50, stage: Stage::Running }
    }

    /// Has the command end from `now` on: within its grace, and `within` this time.
    pub(super) fn begin(&mut self, now: Instant, within: Duration) {
        let at = now + self.grace.min(within.saturating_sub(self.margin));
        match &mut self.stage {
            Stage::Running => self.stage = Stage::Ends { told: false, kill_at: at },
            Stage::Ends { kill_at, .. } => *kill_at = at.min(*kill_at),
            Stage::Killed { .. } => {}
        }
    }

    /// Returns true if the command has been told to end, or will be.
    pub(super) fn has_begun(&self) -> bool {
        self.stage != Stage::Running
    }

    /// Decides what to do next. `remaining` is the time for which the lease certainly holds.
    pub(super) fn next(&mut self, now: Instant, remaining: Duration) -> Act {
        let room = remaining.saturating_sub(self.margin);
        match &mut self.stage {
            // Somebody else may hold it already: a handler of TERM would work beside them.
            Stage::Running | Stage::Ends { .. } if room.is_zero() => {
                self.stage = Stage::Killed { again_at: now + LONG };
                Act::Kill
            }
            Stage::Running if room > self.grace => Act::Wait(room - self.grace),
            Stage::Running => {
                self.stage = Stage::Ends { told: true, kill_at: now + room };
                Act::Term
            }
            Stage::Ends { told, .. } if !*told => {
                *told = true;
                Act::Term
            }
            Stage::Ends { kill_at, .. } => {
                let left = kill_at.saturating_duration_since(now).min(room);
                if !left.is_zero() {
                    return Act::Wait(left);
                }
                self.stage = Stage::Killed { again_at: now + LONG };
                Act::Kill
            }
            Stage::Killed { again_at } if now < *again_at => Act::Wait(*again_at - now),
            Stage::Killed { again_at } => {
                *again_at = now + LONG;
                Act::Kill
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A TTL of 10 s, so a margin of 200 ms, and a grace of 2 s.
    fn ending() -> Ending {
        Ending::new(ms(2_000), ms(10_000))
    }

    #[test]
    fn a_lease_that_is_not_renewed_ends_the_command_before_it_runs_out() {
        let (mut ending, start) = (ending(), Instant::now());
        for (at, remaining, expected) in [
            (0, 9_800, Act::Wait(ms(7_600))),
            (3_300, 9_800, Act::Wait(ms(7_600))), // renewed
            (10_000, 3_100, Act::Wait(ms(900))),
            (10_900, 2_200, Act::Term),
            (10_900, 2_200, Act::Wait(ms(2_000))),
            (12_800, 300, Act::Wait(ms(100))),
            (12_900, 200, Act::Kill),
            (12_900, 200, Act::Wait(LONG)),
            (13_500, 0, Act::Wait(ms(400))),
            (13_900, 0, Act::Kill),
            (13_900, 0, Act::Wait(LONG)),
        ] {
            assert_eq!(ending.next(start + ms(at), ms(remaining)), expected, "at {at}");
        }
    }

    #[test]
    fn a_lease_that_is_gone_leaves_no_time() {
        let (mut ending, now) = (ending(), Instant::now());
        assert_eq!(ending.next(now, ms(200)), Act::Kill);
        assert_eq!(ending.next(now, Duration::ZERO), Act::Wait(LONG));
        assert!(ending.has_begun());
    }

    #[test]
    fn a_renewal_that_comes_late_does_not_prolong_an_end() {
        let (mut ending, now) = (ending(), Instant::now());
        assert_eq!(ending.next(now, ms(2_000)), Act::Term);
        assert_eq!(ending.next(now + ms(1_000), ms(9_800)), Act::Wait(ms(800)));
        assert_eq!(ending.next(now + ms(1_800), ms(9_000)), Act::Kill);
    }

    #[test]
    fn whoever_wants_it_back_sets_the_time_if_it_is_shorter_than_the_grace() {
        for (within, sooner, expected) in
            [(30_000, 30_000, 2_000), (1_000, 30_000, 800), (1_000, 500, 300), (0, 0, 0)]
        {
            let (mut ending, now) = (ending(), Instant::now());
            assert!(!ending.has_begun());
            ending.begin(now, ms(within));
            assert!(ending.has_begun());
            assert_eq!(ending.next(now, ms(9_000)), Act::Term);
            ending.begin(now, ms(sooner));
            let next = ending.next(now, ms(9_000));
            assert_eq!(next, if expected == 0 { Act::Kill } else { Act::Wait(ms(expected)) });
        }
    }

    #[test]
    fn a_lease_that_is_lost_meanwhile_ends_the_grace() {
        let (mut ending, now) = (ending(), Instant::now());
        ending.begin(now, ms(30_000));
        assert_eq!(ending.next(now, ms(9_000)), Act::Term);
        assert_eq!(ending.next(now + ms(10), Duration::ZERO), Act::Kill);
        ending.begin(now, ms(1));
        assert_eq!(ending.next(now + ms(10), Duration::ZERO), Act::Wait(LONG));
    }
}
