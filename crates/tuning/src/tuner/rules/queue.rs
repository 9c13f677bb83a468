//! The bound of queues: as many waiters as can be served within the wait that is allowed.
//!
//! By Little's law a queue of `n` that is served at a rate of `r` makes its last one wait for `n / r`. The rate is that of this
//! manager alone, so each process bounds its own part of a queue.

use std::time::Duration;

use leasehold::{TunerSettings, planted, text::rough};

use super::{CALM, LONG_REST, REST, Rest, RuleChange, Streak};
use crate::tuner::{
    messages::TunerRule,
    window::{QueueDemand, WindowFigures},
};

/// The factor by which a bound has to be wrong before it is moved.
const DEAD_BAND: f64 = 1.5;
/// The number of windows without a queue after which its rate is forgotten.
const FORGET: u32 = 60;

/// The state of the rules for the bound of queues.
#[derive(Clone, Debug, Default)]
pub(in crate::tuner) struct QueueRules {
    /// The rate at which waiters are served, averaged over windows.
    rate: Option<f64>,
    /// True while a queue stays that delays too much.
    sheds: bool,
    /// The windows in a row without such a queue, and without any.
    calm: Streak,
    unseen: Streak,
    rest: Rest,
}

impl QueueRules {
    /// Decides on the bound, which is `now` and without the tuner `home`.
    pub(in crate::tuner) fn judge(
        &mut self,
        figures: &WindowFigures,
        bounds: &TunerSettings,
        home: u32,
        now: u32,
    ) -> Option<RuleChange<u32>> {
        let may_change = self.rest.is_over();
        if self.rest.is_long() {
            return None;
        }
        // A short queue needs no bound.
        let is_demand = |queue: &QueueDemand| queue.rate >= 0.0 && queue.rate.is_finite();
        let queue = figures.queue.filter(is_demand).filter(|it| it.most >= bounds.min_waiters.min(home));
        self.note(queue);
        let turned = self.note_standing(queue, bounds);
        let stays = self.sheds || planted!("a queue that comes and goes is bounded as one that stays");
        let within = if stays { bounds.standing_wait } else { bounds.burst_wait };
        let to = match self.rate {
            Some(rate) => bound(rate * within.as_secs_f64(), bounds.min_waiters.min(home), home),
            None => home,
        };
        let ratio = f64::from(to) / f64::from(now.max(1));
        let is_wrong = !(1.0 / DEAD_BAND..=DEAD_BAND).contains(&ratio) || self.rate.is_none() || turned;
        if to == now || !is_wrong || !may_change && !turned {
            return None;
        }
        let rule = match (self.sheds, to > now) {
            (true, _) => TunerRule::ShedEarly,
            (false, true) => TunerRule::OpenQueue,
            (false, false) => TunerRule::BoundQueue,
        };
        self.rest.begin(REST);
        Some(RuleChange { rule, to, reason: self.reason(queue, within) })
    }

    /// Has the bound rest after a change that was taken back.
    pub(in crate::tuner) fn taken_back(&mut self) {
        *self = Self::default();
        self.rest.begin(LONG_REST);
    }

    fn note(&mut self, queue: Option<QueueDemand>) {
        self.unseen.count(queue.is_none());
        self.rate.take_if(|_| self.unseen.has(FORGET));
        if let Some(queue) = queue {
            let before = self.rate.unwrap_or(queue.rate);
            self.rate = Some(before + (queue.rate - before) / 2.0);
        }
    }

    /// Notes whether a queue stays. Returns true if that has changed.
    fn note_standing(&mut self, queue: Option<QueueDemand>, bounds: &TunerSettings) -> bool {
        let before = self.sheds;
        let stays = |share: f64| {
            queue.filter(|queue| {
                let allowed = queue.rate * bounds.standing_wait.as_secs_f64() * share;
                queue.stands
                    && queue.fewest >= (bounds.min_waiters / 2).max(2)
                    && f64::from(queue.fewest) > allowed
            })
        };
        if stays(1.0).is_some() {
            self.sheds = !planted!("a queue that stays is not shed");
        }
        let is_calm = stays(0.5).is_none() && !planted!("a queue stays bounded when the load has gone");
        self.calm.count(is_calm);
        self.sheds &= !self.calm.has(CALM);
        self.sheds != before
    }

    fn reason(&self, queue: Option<QueueDemand>, within: Duration) -> String {
        match (queue, self.rate) {
            (Some(queue), Some(rate)) => format!(
                "{} to {} waited, {rate:.1} are served a second, and {} are allowed",
                queue.fewest,
                queue.most,
                rough(within)
            ),
            (_, Some(rate)) => format!("no queue stays, {rate:.1} were served a second"),
            (_, None) => "nobody has waited for a long time".to_owned(),
        }
    }
}

/// Returns the bound for so many waiters.
fn bound(waiters: f64, least: u32, most: u32) -> u32 {
    // A number that is too large, or none, becomes the nearest that there is.
    (waiters.ceil() as u32).clamp(least, most)
}
