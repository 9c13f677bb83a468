//! The judge: all rules together, what they have set, and where they return to.

use leasehold::{SetTuning, TunerSettings, Tuning};

use super::{
    messages::{TunerEvent, TunerRule},
    rules::{
        RuleChange,
        pauses::PauseRules,
        queue::QueueRules,
        trial::{ChangeTrial, Gauges},
        wait::WaitRules,
    },
    window::WindowFigures,
};

/// The rules, and the settings of a manager as they are and as they would be without a tuner.
#[derive(Debug)]
pub(super) struct Judge {
    bounds: TunerSettings,
    home: Tuning,
    now: Tuning,
    queue: QueueRules,
    pauses: PauseRules,
    wait: WaitRules,
    gauges: Gauges,
    trial: Option<ChangeTrial>,
}

impl Judge {
    pub(super) fn new(bounds: TunerSettings, home: Tuning) -> Self {
        let (queue, pauses, wait, gauges) = Default::default();
        Self { bounds, home, now: home, queue, pauses, wait, gauges, trial: None }
    }

    /// Returns what leads to the settings without a tuner, if they are other ones now.
    pub(super) fn way_home(&self) -> Option<SetTuning> {
        (self.now != self.home).then(|| difference(self.now, self.home))
    }

    /// Returns true if settings are those without a tuner.
    pub(super) fn is_home(&self, seen: Tuning) -> bool {
        seen == self.home
    }

    /// Notes that a decision could not be carried out: what was before is still set, and is nobody's wish. What was refused once is
    /// refused again, so its rule rests as after a change that was taken back.
    pub(super) fn refused(&mut self, TunerEvent { rule, from, to, .. }: &TunerEvent) {
        match rule {
            TunerRule::PollSlower => self.pauses.taken_back(),
            TunerRule::GiveUpSooner => self.wait.taken_back(),
            TunerRule::BoundQueue | TunerRule::ShedEarly => self.queue.taken_back(),
            // What leads back is tried again.
            TunerRule::PollFaster => self.pauses.not_returned(),
            TunerRule::WaitLonger => self.wait.not_returned(),
            TunerRule::OpenQueue | TunerRule::TakeBack => {}
        }
        self.trial.take_if(|trial| trial.rule == *rule);
        let SetTuning { backoff, wait, max_waiters } = difference(*to, *from);
        self.now.backoff = backoff.unwrap_or(self.now.backoff);
        self.now.wait = wait.unwrap_or(self.now.wait);
        self.now.max_waiters = max_waiters.unwrap_or(self.now.max_waiters);
    }

    /// Notes that a decision was carried out. What somebody else has set between the sample and that is what the rules return to.
    pub(super) fn carried_out(&mut self, TunerEvent { from, to, .. }: &TunerEvent, before: Tuning) {
        let SetTuning { backoff, wait, max_waiters } = difference(*from, *to);
        if backoff.is_some() && before.backoff != from.backoff {
            self.home.backoff = before.backoff;
        }
        if wait.is_some() && before.wait != from.wait {
            self.home.wait = before.wait;
        }
        if max_waiters.is_some() && before.max_waiters != from.max_waiters {
            self.home.max_waiters = before.max_waiters;
        }
    }

    /// Compares the settings with what was set. What somebody else has set since is what the rules return to.
    pub(super) fn notice(&mut self, seen: Tuning) {
        if seen.max_waiters != self.now.max_waiters {
            (self.home.max_waiters, self.queue) = (seen.max_waiters, QueueRules::default());
        }
        if seen.backoff != self.now.backoff {
            (self.home.backoff, self.pauses) = (seen.backoff, PauseRules::default());
        }
        if seen.wait != self.now.wait {
            (self.home.wait, self.wait) = (seen.wait, WaitRules::default());
        }
        if seen != self.now {
            (self.now, self.trial) = (seen, None);
        }
    }

    /// Decides what to change after a window.
    pub(super) fn judge(&mut self, figures: &WindowFigures) -> Vec<TunerEvent> {
        self.gauges.add(&figures.gauges);
        let mut decisions = Vec::from_iter(self.conclude_trial(figures));
        let Self { bounds, home, now, .. } = self;
        let (home, before) = (*home, *now);
        if let Some(change) = self.queue.judge(figures, bounds, home.max_waiters, before.max_waiters) {
            decisions.push(self.change(change, |tuning, to| tuning.max_waiters = to));
        }
        if let Some(change) = self.pauses.judge(figures, &self.bounds, &home, before.backoff) {
            decisions.push(self.change(change, |tuning, to| tuning.backoff = to));
        }
        if let Some(change) = self.wait.judge(figures, &self.bounds, home.wait) {
            decisions.push(self.change(change, |tuning, to| tuning.wait = to));
        }
        // After a change that was refused, the way back may lead to what is set already.
        decisions.retain(|it| it.from != it.to);
        self.begin_trial(&decisions);
        decisions
    }

    fn change<T>(&mut self, change: RuleChange<T>, set: impl FnOnce(&mut Tuning, T)) -> TunerEvent {
        let from = self.now;
        set(&mut self.now, change.to);
        self.event(change.rule, change.reason, from)
    }

    /// Returns what is told of a change from these settings to those of now.
    fn event(&self, rule: TunerRule, reason: String, from: Tuning) -> TunerEvent {
        TunerEvent { rule, reason, from, to: self.now, dry_run: self.bounds.dry_run }
    }

    /// Puts the first change on trial that asks something of the application, one at a time.
    fn begin_trial(&mut self, decisions: &[TunerEvent]) {
        let asks = |it: &&TunerEvent| match it.rule {
            TunerRule::BoundQueue | TunerRule::ShedEarly => it.to.max_waiters < it.from.max_waiters,
            TunerRule::PollSlower | TunerRule::GiveUpSooner => true,
            _ => false,
        };
        if let Some(tried) = decisions.iter().find(asks).filter(|_| self.trial.is_none()) {
            self.trial = Some(ChangeTrial::new(tried.rule, tried.from, &self.gauges));
        }
    }

    fn conclude_trial(&mut self, figures: &WindowFigures) -> Option<TunerEvent> {
        let trial = self.trial.as_mut()?;
        let has_cause = match trial.rule {
            TunerRule::PollSlower => self.pauses.has_cause(figures),
            TunerRule::GiveUpSooner => WaitRules::has_cause(figures),
            TunerRule::ShedEarly => figures.queue.is_some_and(|queue| queue.stands),
            _ => figures.queue.is_some(),
        };
        let is_over = trial.add(figures, has_cause);
        let trial = self.trial.take_if(|_| is_over)?;
        let reason = trial.fallen()?;
        let (from, before) = (self.now, trial.from);
        match trial.rule {
            TunerRule::PollSlower => {
                self.pauses.taken_back();
                self.now.backoff = before.backoff;
            }
            TunerRule::GiveUpSooner => {
                self.wait.taken_back();
                self.now.wait = before.wait;
            }
            _ => {
                self.queue.taken_back();
                self.now.max_waiters = before.max_waiters;
            }
        }
        (from != self.now).then(|| self.event(TunerRule::TakeBack, reason, from))
    }
}

/// Returns what leads from some settings to others. What is the same is left out: new pauses would take the place of a function
/// of the application, and somebody may have set another wait since.
pub(super) fn difference(from: Tuning, to: Tuning) -> SetTuning {
    SetTuning {
        backoff: (from.backoff != to.backoff).then_some(to.backoff),
        wait: (from.wait != to.wait).then_some(to.wait),
        max_waiters: (from.max_waiters != to.max_waiters).then_some(to.max_waiters),
    }
}
