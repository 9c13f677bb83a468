//! The target `cron`: expressions in time zones, whose ticks are found in their order.

#[path = "../../src/leading/schedule/expression.rs"]
mod expression;
// Its time is an argument, which no public name of the library lets one give.
#[path = "../../src/leading/schedule/cron.rs"]
#[allow(dead_code, reason = "what the library uses besides")]
mod source;

use self::{source::Cron, tick::Millis};

/// The types that the file shares with others of its folder.
mod tick {
    /// A time in milliseconds since 1970.
    pub(super) type Millis = u64;

    /// The time from one tick to the next one.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Gap {
        /// Its first moment.
        pub(super) last: Option<Millis>,
        /// The moment after it.
        pub(super) next: Option<Millis>,
    }
}

/// A moment of 2026, for an input that names none.
const NOW: Millis = 1_795_824_000_000;
/// The number of ticks that are looked at.
const TICKS: usize = 12;

/// Reads a text as an expression, a zone, and a moment in milliseconds since 1970, one a line.
pub fn cron(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines();
    let (expression, zone) = (lines.next().unwrap_or_default(), lines.next().unwrap_or("UTC"));
    let now = lines.next().and_then(|line| line.parse().ok()).unwrap_or(NOW);
    let cron = match Cron::new(expression, zone, now) {
        Ok(cron) => cron,
        Err(error) => {
            assert!(["schedule.cron", "schedule.zone"].contains(&&*error.field), "{error}");
            return;
        }
    };
    let (mut time, mut before) = (now, None);
    for _ in 0..TICKS {
        let gap = cron.gap(time);
        assert!(gap.last.is_none_or(|last| last <= time), "a tick at {:?} before {time}", gap.last);
        assert!(before.is_none_or(|tick| gap.last == Some(tick)), "{before:?} is left out: {gap:?}");
        let Some(next) = gap.next else { return };
        assert!(next > time, "the tick after {time} is at {next}");
        assert_eq!(cron.gap(next - 1), gap, "just before {next}");
        (time, before) = (next, Some(next));
    }
}
