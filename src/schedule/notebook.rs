//! The way to the state of a schedule: read and changed by compare-and-set, with the time of the store.

use std::time::Duration;

use actix::Addr;
use tokio::time::{Instant, sleep};

use super::{
    plan::Millis,
    state::{State, Wanted},
    tick::Tick,
};
use crate::{
    core::{Doubling, Fence, ResourceName, Token, one_line},
    env::{Random, SystemRandom},
    manager::LockManager,
    request::queries::UseRegister,
    store::{Register, RegisterWrite, StoreError},
};

/// The number of times that a change is tried.
const TRIES: u32 = 8;

/// The state of a schedule as it was seen last, and the time of the store then.
pub(super) struct Notebook {
    locks: Addr<LockManager>,
    name: ResourceName,
    revision: Option<Token>,
    state: Option<State>,
    seen: Option<(Duration, Instant)>,
}

impl Notebook {
    pub(super) const fn new(locks: Addr<LockManager>, name: ResourceName) -> Self {
        Self { locks, name, revision: None, state: None, seen: None }
    }

    /// Returns the state, if it was seen and there is one.
    pub(super) const fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// Returns the time of the store: what it said last, and the time since the answer came. It is never ahead of the store,
    /// and no clock of this process is asked for the time of day.
    pub(super) fn now(&self) -> Millis {
        if planted!("a process decides by its own clock") {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            return millis(now.unwrap_or_default());
        }
        self.seen.map_or(0, |(time, at)| millis(time + at.elapsed()))
    }

    /// Returns the time since the store was asked last.
    pub(super) fn age(&self) -> Duration {
        self.seen.map_or(Duration::MAX, |(_, at)| at.elapsed())
    }

    /// Reads the state.
    pub(super) async fn read(&mut self) -> Result<(), StoreError> {
        self.send(None).await
    }

    /// Reads the state, and begins it if there is none.
    pub(super) async fn open(&mut self) -> Result<(), StoreError> {
        self.read().await?;
        if self.state.is_none() {
            self.change(|_, _| {}).await?;
        }
        Ok(())
    }

    /// Changes the state. The change may be made several times, on states that others wrote meanwhile, and is kept once.
    pub(super) async fn change(&mut self, change: impl Fn(&mut State, Millis)) -> Result<(), StoreError> {
        if self.seen.is_none() {
            self.read().await?;
        }
        let mut pauses = pauses();
        let mut last = None;
        for _ in 0..TRIES {
            let now = self.now();
            let mut state = self.state.clone().unwrap_or_else(|| State::begun(now));
            change(&mut state, now);
            let write = self.write(&state, SystemRandom.token(), 0);
            match self.send(Some(&write)).await {
                Ok(()) if self.revision == Some(write.revision) => return Ok(()),
                Ok(()) => {}
                Err(error) if error.is_transient() => {
                    last = Some(error);
                    sleep(pauses.next()).await;
                }
                Err(error) => return Err(error),
            }
        }
        let reason = || format!("the state of the schedule {} changes all the time", self.name);
        Err(last.unwrap_or_else(|| StoreError::unavailable(reason())))
    }

    /// Claims a tick for this process. The same claim is repeated until it is certain, or until `go_on` returns false.
    /// Returns the tick if it is certainly claimed by this call, and the state was then seen anew otherwise.
    pub(super) async fn claim(
        &mut self,
        wanted: Wanted,
        fence: Option<Fence>,
        history: usize,
        go_on: impl Fn() -> bool,
    ) -> Option<Tick> {
        let mut state = self.state.clone()?;
        let token = SystemRandom.token();
        let tick = state.claim(wanted, token, fence, history, self.now());
        let write = self.write(&state, token, wanted.scheduled_for);
        let mut pauses = pauses();
        loop {
            match self.send(Some(&write)).await {
                // Somebody may have written over it since, who read it before.
                Ok(()) => return self.state()?.was_claimed_by(token).then_some(tick),
                Err(error) => {
                    tracing::debug!(
                        schedule = %self.name, number = tick.number, error = one_line(&error),
                        "it is not known if a tick is claimed"
                    );
                }
            }
            if !go_on() {
                return None;
            }
            sleep(pauses.next()).await;
        }
    }

    fn write(&self, state: &State, revision: Token, not_before: Millis) -> RegisterWrite {
        // It has no maps with other keys than texts, and no numbers that JSON has not.
        let value = serde_json::to_string(state).unwrap_or_default();
        let not_before = Duration::from_millis(not_before);
        RegisterWrite { expected: self.revision, revision, value, not_before }
    }

    async fn send(&mut self, write: Option<&RegisterWrite>) -> Result<(), StoreError> {
        let question = UseRegister { name: self.name.clone(), write: write.cloned() };
        let answer = self.locks.send(question).await;
        let Register { now, revision, value, .. } = answer.unwrap_or_else(|error| {
            let doing = "register: the lock manager gave no answer".to_owned();
            Err(StoreError::ReplyLost { doing, source: Some(std::sync::Arc::new(error)) })
        })?;
        let read = |_| serde_json::from_str(&value).map_err(|error| self.foreign(&error));
        let state = revision.map(read).transpose()?;
        self.seen = Some((now, Instant::now()));
        (self.revision, self.state) = (revision, state);
        Ok(())
    }

    fn foreign(&self, error: &serde_json::Error) -> StoreError {
        StoreError::Corrupt {
            reason: format!("the state of the schedule {} cannot be read: {error}", self.name),
        }
    }
}

const fn pauses() -> Doubling {
    Doubling::new(Duration::from_millis(20), Duration::from_millis(500))
}

fn millis(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
