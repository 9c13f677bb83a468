//! Settings that change while the manager runs, and what it tells whoever changes them.

use std::sync::Arc;

use actix::{MessageResult, ResponseFuture};
use tokio::time::Instant;

use crate::{
    core::{InvalidValue, LongQueue, ensure},
    listeners::statistics::DefaultWaits,
    manager::{LockManager, dispatch::ask::ask},
    request::{AskLoad, Load, Queue, Sample, Sampled, SetTuning, Settings, Tuning},
};

impl LockManager {
    pub(super) fn set_tuning(&mut self, set: SetTuning) -> Result<Tuning, InvalidValue> {
        let before = self.tuning();
        let SetTuning { backoff, wait, max_waiters } = set;
        let mut settings = Settings::clone(&self.policy.settings);
        settings.backoff = backoff.unwrap_or(settings.backoff);
        settings.wait.timeout = wait.unwrap_or(settings.wait.timeout);
        settings.check()?;
        let (bound, most) = (max_waiters.unwrap_or(before.max_waiters), settings.limits.max_waiters);
        let allowed = format!("1 to limits.max_waiters ({most}) of the manager");
        ensure((1..=most).contains(&bound), "max_waiters", bound, allowed)?;
        if backoff.is_some() {
            self.policy.own_pauses = None;
        }
        self.policy.settings = Arc::new(settings);
        self.engine.rules.max_waiters_here = bound;
        let now = self.tuning();
        if now != before {
            tracing::info!(from = ?before, to = ?now, "other settings");
        }
        Ok(before)
    }

    pub(super) fn sample(&mut self, Sample(asks): Sample) -> MessageResult<Sample> {
        if let Some(tuner) = asks {
            if self.policy.tuned_by.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, &tuner)) {
                return MessageResult(None);
            }
            self.policy.tuned_by = Arc::downgrade(&tuner);
        }
        let DefaultWaits { granted, timed_out } = self.calls.listeners.counts().default_waits;
        MessageResult(Some(Sampled {
            queues: self.engine.longest_queues().into_iter().map(queue).collect(),
            polls: !self.engine.subscribed,
            own_pauses: self.policy.own_pauses.is_some(),
            granted,
            timed_out,
            tuning: self.tuning(),
        }))
    }

    pub(super) fn ask_load(&mut self, _: AskLoad) -> ResponseFuture<Load> {
        let store = Arc::clone(&self.calls.store);
        Box::pin(async move {
            let asked = Instant::now();
            let load = ask("server_load", || store.server_load()).await;
            (load, asked.elapsed())
        })
    }

    fn tuning(&self) -> Tuning {
        Tuning { max_waiters: self.engine.rules.max_waiters_here, ..Tuning::from(&*self.policy.settings) }
    }
}

fn queue(LongQueue { cohort, waiting, granted }: LongQueue) -> Queue {
    Queue { key: cohort, waiting: u32::try_from(waiting).unwrap_or(u32::MAX), granted }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix::Addr;

    use super::*;
    use crate::{core::Backoff, request::Shutdown, store::MemoryStore};

    async fn tuning(locks: &Addr<LockManager>) -> Tuning {
        locks.send(SetTuning::default()).await.unwrap().unwrap()
    }

    #[actix::test]
    async fn settings_change_while_the_manager_runs_as_a_configuration_would_accept_them() {
        let mut settings = Settings::default();
        settings.limits.max_waiters = 100;
        let locks = LockManager::builder(Arc::new(MemoryStore::default())).settings(settings);
        let locks = locks.start_here().unwrap();
        let before = tuning(&locks).await;
        let none = SetTuning::default();
        let set = SetTuning { wait: Some(Duration::from_millis(10)), max_waiters: Some(1), ..none };
        assert_eq!(locks.send(set).await.unwrap().unwrap(), before);
        let now = tuning(&locks).await;
        assert_eq!((now.wait, now.max_waiters, now.backoff), (Duration::from_millis(10), 1, before.backoff));
        let wrong = Backoff { multiplier: f64::NAN, ..Backoff::DEFAULT };
        for (set, field) in [
            (SetTuning { wait: Some(Duration::MAX), ..none }, "wait.timeout"),
            (SetTuning { max_waiters: Some(0), ..none }, "max_waiters"),
            (SetTuning { max_waiters: Some(101), wait: Some(Duration::ZERO), ..none }, "max_waiters"),
            (SetTuning { backoff: Some(wrong), ..none }, "backoff.multiplier"),
        ] {
            assert_eq!(locks.send(set).await.unwrap().unwrap_err().field, field);
            assert_eq!(tuning(&locks).await, now);
        }
        locks.send(SetTuning::from(before)).await.unwrap().unwrap();
        assert_eq!(tuning(&locks).await, before);
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    }
}
