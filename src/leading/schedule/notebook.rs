//! The way to the state of a schedule: read and changed by compare-and-set, with the time of the store.

use std::time::Duration;

use actix::Addr;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    plan::WantedTick,
    progress::Floor,
    state::ScheduleState,
    tick::{LATEST, Millis, Tick, millis},
};
use crate::{
    core::{Doubling, Fence, ResourceName, Token, one_line},
    manager::LockManager,
    request::queries::UseRegister,
    runtime::env::{Draw, Random, SystemRandom},
    store::{Certainty, Register, RegisterWrite, StoreError},
};

/// The number of errors after which a change is given up.
const TRIES: u32 = 8;
/// The pauses between tries.
const AFTER_ERROR: Doubling = Doubling::new(Duration::from_millis(20), Duration::from_millis(500));

/// The number of times that others may come before a change.
const CONFLICTS: u32 = 24;
/// The pauses between tries. They are drawn, so that hundreds who change a schedule at the same time all come to their turn.
const AFTER_CONFLICT: Doubling = Doubling::new(Duration::from_millis(10), Duration::from_secs(1));

/// The state of a schedule as it was seen last, and the time of the store then.
pub(super) struct Notebook {
    locks: Addr<LockManager>,
    name: ResourceName,
    revision: Option<Token>,
    /// The state, if it was seen and there is one.
    pub(super) state: Option<ScheduleState>,
    seen: Option<(Duration, Instant)>,
    floor: Floor,
    /// True if the store has an older state than this one.
    is_raised: bool,
    claims: StoreTrouble,
}

/// The way of a change whose outcome is unknown, if others have written since. It may have been made before that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Redone {
    /// It is made again.
    Harmless,
    /// It is not: what others have made of it would be taken back.
    Never,
}

impl Notebook {
    pub(super) fn new(locks: Addr<LockManager>, name: ResourceName, floor: Floor) -> Self {
        let claims = StoreTrouble::default();
        Self { locks, name, revision: None, state: None, seen: None, floor, is_raised: false, claims }
    }

    /// Returns the time of the store: what it said last, and the time since the answer came. It is never ahead of the store,
    /// and no clock of this process is asked for the time of day.
    pub(super) fn now(&self) -> Millis {
        if planted!("a process decides by its own clock") {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            return millis(now.unwrap_or_default());
        }
        self.seen.map_or(0, |(time, at)| millis(time.saturating_add(at.elapsed())))
    }

    /// Returns the time since the store was asked last.
    pub(super) fn age(&self) -> Duration {
        self.seen.map_or(Duration::MAX, |(_, at)| at.elapsed())
    }

    /// Reads the state, and begins it if there is none. If the store has forgotten some of it, it is written again, so that the
    /// next runner knows it too.
    pub(super) async fn open(&mut self) -> Result<(), StoreError> {
        self.ask(None).await?;
        if self.state.is_none() || self.is_raised {
            self.change(Redone::Harmless, |_, _| {}).await?;
        }
        Ok(())
    }

    /// Changes the state. The change may be made several times, on states that others wrote meanwhile, and is kept once; it
    /// is not written if the state has it already. A write of unknown outcome is repeated as it is, and the change made anew
    /// when others have written, or if it begins the state: ticks may have run since it was read.
    pub(super) async fn change(
        &mut self,
        redone: Redone,
        change: impl Fn(&mut ScheduleState, Millis),
    ) -> Result<(), StoreError> {
        let is_first = self.seen.is_none();
        if is_first {
            self.ask(None).await?;
        }
        // `None`: the state is read first.
        let mut write = self.changed(&change);
        if is_first && write.is_none() {
            return Ok(());
        }
        let (mut errors, mut conflicts, mut unknown, mut last) = (0, 0, None, None);
        let mut may_have_changed = false;
        while errors < TRIES && conflicts < CONFLICTS {
            match self.ask(write.as_ref()).await {
                Ok(()) if write.as_ref().is_some_and(|write| self.revision == Some(write.revision)) => {
                    return Ok(());
                }
                Ok(()) => match self.changed(&change) {
                    None => return Ok(()),
                    // What may have begun a state has not, if there is none.
                    Some(_)
                        if redone == Redone::Never
                            && (may_have_changed || unknown.is_some() && self.state.is_some()) =>
                    {
                        break;
                    }
                    anew if write.is_none() => write = anew,
                    Some(_) => {
                        (write, last) = (None, Some(self.conflict()));
                        let pause = AFTER_CONFLICT.after(conflicts);
                        sleep(pause.mul_f64(SystemRandom.draw(Draw::Attempt))).await;
                        conflicts += 1;
                    }
                },
                Err(error) => {
                    let is_transient = error.is_transient();
                    let is_sent = write.is_some();
                    write.take_if(|write| write.expected.is_none());
                    if is_sent && error.certainty() == Certainty::Unknown {
                        may_have_changed |= write.is_some();
                        unknown.get_or_insert(error);
                    } else {
                        last = Some(error);
                    }
                    if !is_transient {
                        break;
                    }
                    sleep(AFTER_ERROR.after(errors)).await;
                    errors += 1;
                }
            }
        }
        // What may have been done counts before what was certainly not done.
        Err(unknown.or(last).unwrap_or_else(|| self.conflict()))
    }

    /// Claims a tick for this process. The same claim is repeated until it is certain, or an error says that this is in vain, or
    /// the stop comes. Returns the tick if it is certainly claimed by this call, and the state was then seen anew otherwise.
    ///
    /// # Cancel safety
    /// The tick may be claimed, and must not run.
    pub(super) async fn claim(
        &mut self,
        wanted: WantedTick,
        fence: Option<Fence>,
        history: usize,
        stop: &CancellationToken,
    ) -> Result<Option<Tick>, StoreError> {
        let Some(mut state) = self.state.clone() else { return Ok(None) };
        let token = SystemRandom.token();
        let tick = state.claim(wanted, token, fence, history, self.now());
        // A run that was asked for, or is repeated, has no time before which it is not claimed: the store's clock may have gone back.
        let not_before = if wanted.asked || wanted.repeats > 0 { 0 } else { wanted.scheduled_for };
        let write = self.write(&state, token, not_before);
        let mut pauses = AFTER_ERROR;
        while let Err(error) = self.ask(Some(&write)).await {
            self.claims.tell(&self.name, "a tick is not claimed, or it is not known if it is", &error);
            let pause = sleep(pauses.next());
            if !error.is_transient() || stop.run_until_cancelled(pause).await.is_none() {
                // A try may have been executed: then the tick is missed, and not run twice.
                return Err(error);
            }
        }
        self.claims.over();
        // Somebody may have written over it since, who read it before.
        Ok(self.state.as_ref().is_some_and(|state| state.was_claimed_by(token)).then_some(tick))
    }

    /// Returns the write of a change to the state as it was seen last. `None` if that changes nothing in what the store has.
    fn changed(&self, change: impl Fn(&mut ScheduleState, Millis)) -> Option<RegisterWrite> {
        let now = self.now();
        let mut state = self.state.clone().unwrap_or_else(|| ScheduleState::begun(now, SystemRandom.token()));
        change(&mut state, now);
        let is_made = !self.is_raised && self.state.as_ref() == Some(&state);
        (!is_made).then(|| self.write(&state, SystemRandom.token(), 0))
    }

    fn write(&self, state: &ScheduleState, revision: Token, not_before: Millis) -> RegisterWrite {
        // It has no maps with other keys than texts, and no numbers that JSON has not.
        let value = serde_json::to_string(state).unwrap_or_default();
        let not_before = Duration::from_millis(not_before);
        RegisterWrite { expected: self.revision, revision, value, not_before }
    }

    /// Reads the state, after this write if there is one.
    pub(super) async fn ask(&mut self, write: Option<&RegisterWrite>) -> Result<(), StoreError> {
        let question = UseRegister { name: self.name.clone(), write: write.cloned() };
        let answer = self.locks.send(question).await;
        let Register { now, revision, value, .. } =
            answer.map_err(|error| StoreError::unanswered("register", error))??;
        if millis(now) > LATEST {
            return Err(StoreError::reply_lost("register: the store's time of day is after the year 9999"));
        }
        let mut state = revision.map(|_| self.parsed(&value)).transpose()?;
        self.is_raised = state.as_mut().is_some_and(|state| state.meet(&mut self.floor.borrow_mut()));
        self.seen = Some((now, Instant::now()));
        (self.revision, self.state) = (revision, state);
        Ok(())
    }

    fn conflict(&self) -> StoreError {
        StoreError::Conflict { reason: format!("others change the schedule {} all the time", self.name) }
    }

    fn parsed(&self, value: &str) -> Result<ScheduleState, StoreError> {
        let state = serde_json::from_str::<ScheduleState>(value).map_err(|error| error.to_string());
        let checked = state.and_then(|state| state.check().map(|()| state));
        checked.map_err(|reason| {
            let name = &self.name;
            StoreError::corrupt(format!("the state of the schedule {name} cannot be read: {reason}"))
        })
    }
}

/// A trouble with the store that may last, of which the log is warned once: the kind of its last error, until it is over.
#[derive(Default)]
pub(super) struct StoreTrouble(Option<&'static str>);

impl StoreTrouble {
    /// Logs an error, as a warning if it is of another kind than the last one.
    pub(super) fn tell(&mut self, schedule: &ResourceName, what: &str, error: &StoreError) {
        let error_line = one_line(error);
        if self.is_news(error.kind()) {
            tracing::warn!(%schedule, error = error_line, "{what}");
        } else {
            tracing::debug!(%schedule, error = error_line, "{what}");
        }
    }

    pub(super) fn over(&mut self) {
        self.0 = None;
    }

    fn is_news(&mut self, kind: &'static str) -> bool {
        self.0.replace(kind) != Some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_news_once_and_again_when_it_was_over() {
        let mut trouble = StoreTrouble::default();
        let news = ["denied", "denied", "corrupt", "denied", "denied"].map(|kind| trouble.is_news(kind));
        assert_eq!(news, [true, false, true, true, false]);
        trouble.over();
        assert!(trouble.is_news("denied"));
    }
}
