//! Settings that change while the manager runs, and what it tells whoever changes them.

use std::sync::Arc;

use actix::{Handler, MessageResult, ResponseFuture};
use tokio::time::Instant;

use crate::{
    core::InvalidValue,
    manager::{LockManager, dispatch::ask::ask},
    request::{
        SetTuning, Settings, Tuning,
        tuning::{AskLoad, Sample, Sampled},
    },
};

impl Handler<SetTuning> for LockManager {
    type Result = Result<Tuning, InvalidValue>;

    fn handle(&mut self, set: SetTuning, _: &mut Self::Context) -> Self::Result {
        let before = self.tuning();
        let SetTuning { backoff, wait, max_waiters } = set;
        let mut settings = Settings::clone(&self.settings);
        settings.backoff = backoff.unwrap_or(settings.backoff);
        settings.wait.timeout = wait.unwrap_or(settings.wait.timeout);
        settings.check()?;
        let (bound, most) = (max_waiters.unwrap_or(before.max_waiters), settings.limits.max_waiters);
        if !(1..=most).contains(&bound) {
            let allowed = format!("1 to limits.max_waiters ({most}) of the manager");
            return Err(InvalidValue::new("max_waiters", bound, allowed));
        }
        if backoff.is_some() {
            self.own_pauses = None;
        }
        (self.settings, self.max_waiters_here) = (Arc::new(settings), bound);
        let now = self.tuning();
        if now != before {
            tracing::info!(from = ?before, to = ?now, "other settings");
        }
        Ok(before)
    }
}

impl Handler<Sample> for LockManager {
    type Result = MessageResult<Sample>;

    fn handle(&mut self, _: Sample, _: &mut Self::Context) -> MessageResult<Sample> {
        MessageResult(Sampled {
            queues: self.cohorts.longest_queues(),
            polls: !self.subscribed,
            own_pauses: self.own_pauses.is_some(),
            tuning: self.tuning(),
        })
    }
}

impl Handler<AskLoad> for LockManager {
    type Result = ResponseFuture<<AskLoad as actix::Message>::Result>;

    fn handle(&mut self, _: AskLoad, _: &mut Self::Context) -> Self::Result {
        let store = Arc::clone(&self.store);
        Box::pin(async move {
            let asked = Instant::now();
            let load = ask("server_load", || store.server_load()).await;
            (load, asked.elapsed())
        })
    }
}

impl LockManager {
    fn tuning(&self) -> Tuning {
        let Settings { backoff, wait, .. } = &*self.settings;
        Tuning { backoff: *backoff, wait: wait.timeout, max_waiters: self.max_waiters_here }
    }
}
