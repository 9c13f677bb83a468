//! The shell around the engine: events go in, and the steps that follow are carried out.

mod admission;
mod answers;
pub(crate) mod attempts;
mod notified;

use crate::{
    core::{Event, Moment, RecordKey, Step},
    manager::LockManager,
    runtime::env::Draw,
};

impl LockManager {
    /// Feeds an event of this moment to an acquisition, and carries out the steps that follow. Unless the event leads to a
    /// pause, whose length is drawn, nothing of the application is called that may panic.
    pub(crate) fn on_at(&mut self, record: RecordKey, event: Event, now: Moment) {
        self.feed(record, event, now);
        self.carry_out(now);
    }

    /// Feeds an event, after which the steps have to be carried out.
    fn feed(&mut self, record: RecordKey, event: Event, now: Moment) {
        let Self { engine, random, .. } = self;
        engine.on(record, event, now, &mut || random.draw(Draw::Attempt));
    }

    /// Carries out all steps that have been decided. Nothing in here may panic that the application hands in: the step would be
    /// lost.
    pub(crate) fn carry_out(&mut self, now: Moment) {
        while let Some((record, step)) = self.engine.next_step() {
            match step {
                Step::WakeAfter(pause) => self.wake_after(record, pause),
                Step::Ask { is_urgent } => self.attempt(record, is_urgent, now),
                Step::Hurry => self.hurry(record),
                Step::Withdraw => self.withdraw(record, now),
                Step::Queued { ahead, expected, behind } => {
                    self.tell_queued(record, (ahead, expected), behind, now);
                }
                Step::Hold { sent, attempts, waited } => self.hold(record, sent, (attempts, waited), now),
                Step::End(ended) => self.ended(record, &ended, now),
                Step::Release { opening } => self.send_release(record, opening, now),
                Step::HandOff { to, overtake } => self.send_hand_off(record, to, overtake, now),
                Step::Remove => drop(self.records.remove(record)),
            }
        }
    }
}
