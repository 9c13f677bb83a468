//! The settings that may change while a manager runs, and the section `[tuner]` for the actor that changes them.

use std::{sync::Arc, time::Duration};

use actix::Message;
use serde::Deserialize;

use crate::{
    core::{Backoff, InvalidValue, LONGEST_PAUSE, in_range, not_zero},
    request::keys::duration,
    store::{ServerLoad, StoreError},
};

const HOUR: Duration = Duration::from_secs(3600);

/// The settings of a manager that may change while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tuning {
    /// The pauses between the attempts of a request that has none of its own.
    pub backoff: Backoff,
    /// The time that a request waits that does not say how long.
    pub wait: Duration,
    /// The maximum number of waiters of this manager for one resource that they want exclusively; one more is answered
    /// `QueueFull` at once. Requests whose attempts are limited, and all of them while `wait.local_handover_limit` is 0, do not
    /// count. The bound of all managers together stays [`LimitSettings::max_waiters`](crate::LimitSettings).
    pub max_waiters: u32,
}

/// Changes settings of a manager while it runs, for requests that come after it. What is `None` stays as it is. The answer is
/// what they were before; with nothing but `None` it is a question.
///
/// It is meant for applications that adapt while running: longer pauses and fewer attempts when the server is loaded or
/// [`Statistics`](crate::Statistics) show a falling success rate, the reverse when it is idle.
///
/// New pauses take the place of a [function](crate::LockManagerBuilder::backoff_by), for good: the answer has the `Backoff` of
/// the settings, which was not in use. Every value has the bounds that it has in a [`Config`](crate::Config), and
/// `max_waiters` may not be larger than in the settings of the manager. If one is refused, nothing is changed.
///
/// ```
/// # use leasehold::{Backoff, LockManager, MemoryStore, SetTuning};
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// let slower = SetTuning { backoff: Some(Backoff::SCHEDULED_JOB), ..SetTuning::default() };
/// let before = locks.send(slower).await??;
/// assert_eq!(before.backoff, Backoff::DEFAULT);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, Message)]
#[rtype(result = "Result<Tuning, InvalidValue>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct SetTuning {
    /// The pauses between attempts.
    pub backoff: Option<Backoff>,
    /// The time that a request waits that does not say how long.
    pub wait: Option<Duration>,
    /// The maximum number of waiters for one resource in this manager.
    pub max_waiters: Option<u32>,
}

/// Sets all three, also what was not changed before: pauses take the place of a function of the application, and while a
/// [`Tuner`](crate::tuner::Tuner) runs, what it has set becomes a wish that it returns to.
impl From<Tuning> for SetTuning {
    fn from(Tuning { backoff, wait, max_waiters }: Tuning) -> Self {
        Self { backoff: Some(backoff), wait: Some(wait), max_waiters: Some(max_waiters) }
    }
}

/// Asks who waits at this moment, and with which settings. A tuner that changes settings says who it is. As long as that
/// lives, another one is answered `None`: each would take what the other has set for somebody's wish.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Option<Sampled>")]
pub(crate) struct Sample(pub(crate) Option<Arc<()>>);

/// The answer to [`Sample`].
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    /// The longest queues of this manager.
    pub(crate) queues: Vec<Queue>,
    /// True if no notification tells a waiter that it is its turn, so that it has to ask again and again.
    pub(crate) polls: bool,
    /// True if the pauses are a function of the application, which is not to be replaced.
    pub(crate) own_pauses: bool,
    /// The requests so far that waited as the settings say: those that were granted, and those that waited in vain.
    pub(crate) granted: u64,
    pub(crate) timed_out: u64,
    pub(crate) tuning: Tuning,
}

/// The waiters of a manager for one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    /// The number of the queue. It is another one when somebody waits again after nobody did.
    pub(crate) key: u64,
    pub(crate) waiting: u32,
    /// The number of grants since the queue formed.
    pub(crate) granted: u64,
}

/// Asks the store what its server has had to do. The answer comes with the time that it took.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Load")]
pub(crate) struct AskLoad;

/// The answer to [`AskLoad`].
pub(crate) type Load = (Result<ServerLoad, StoreError>, Duration);

/// `[tuner]`: the [`Tuner`](crate::tuner::Tuner) that changes settings while a manager runs, and the bounds that it keeps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TunerSettings {
    /// True if a tuner that is started watches and changes anything. Default: no.
    pub enabled: bool,
    /// True if it only tells what it would change. Default: no.
    pub dry_run: bool,
    /// The length of the windows in which figures are counted: 100 ms to 60 s. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub window: Duration,
    /// The wait that a queue which comes and goes may cause; who would wait longer is refused at once. 1 ms to 1 h.
    /// Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub burst_wait: Duration,
    /// The wait that a queue which stays may cause. 1 ms up to [`burst_wait`](Self::burst_wait). Default: 200 ms.
    #[serde(deserialize_with = "duration")]
    pub standing_wait: Duration,
    /// The smallest bound of a queue. Default: 3.
    pub min_waiters: u32,
    /// The longest pause, unless `backoff.max` is longer already. More than zero, up to 1 h. Default: 5 s.
    #[serde(deserialize_with = "duration")]
    pub max_pause: Duration,
    /// The smallest number of attempts, if `backoff.attempts` limits them. Default: 2.
    pub min_attempts: u32,
    /// The shortest wait, unless `wait.timeout` is shorter already. Up to 1 h. Default: 100 ms.
    #[serde(deserialize_with = "duration")]
    pub min_wait: Duration,
}

impl Default for TunerSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            dry_run: false,
            window: Duration::from_secs(1),
            burst_wait: Duration::from_secs(1),
            standing_wait: Duration::from_millis(200),
            min_waiters: 3,
            max_pause: Duration::from_secs(5),
            min_attempts: 2,
            min_wait: Duration::from_millis(100),
        }
    }
}

impl TunerSettings {
    /// Checks every bound.
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        const MILLISECOND: Duration = Duration::from_millis(1);
        in_range("tuner.window", self.window, 100 * MILLISECOND, Duration::from_secs(60))?;
        in_range("tuner.burst_wait", self.burst_wait, MILLISECOND, HOUR)?;
        in_range("tuner.standing_wait", self.standing_wait, MILLISECOND, self.burst_wait)?;
        in_range("tuner.max_pause", self.max_pause, MILLISECOND, LONGEST_PAUSE)?;
        in_range("tuner.min_wait", self.min_wait, Duration::ZERO, HOUR)?;
        not_zero("tuner.min_waiters", self.min_waiters)?;
        not_zero("tuner.min_attempts", self.min_attempts)
    }
}
