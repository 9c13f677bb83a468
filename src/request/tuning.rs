//! The settings that may change while a manager runs, and what it tells whoever changes them.

use std::{sync::Arc, time::Duration};

use actix::Message;

use crate::{
    core::{Backoff, InvalidValue},
    request::Settings,
    store::{ServerLoad, StoreError},
};

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

/// The settings that a manager begins with.
impl From<&Settings> for Tuning {
    fn from(settings: &Settings) -> Self {
        let Settings { backoff, wait, limits, .. } = settings;
        Self { backoff: *backoff, wait: wait.timeout, max_waiters: limits.max_waiters }
    }
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
/// tuner runs, what it has set becomes a wish that it returns to.
impl From<Tuning> for SetTuning {
    fn from(Tuning { backoff, wait, max_waiters }: Tuning) -> Self {
        Self { backoff: Some(backoff), wait: Some(wait), max_waiters: Some(max_waiters) }
    }
}

/// Asks who waits at this moment, and with which settings. A tuner that changes settings says who it is. As long as that
/// lives, another one is answered `None`: each would take what the other has set for somebody's wish.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Option<Sampled>")]
pub struct Sample(pub Option<Arc<()>>);

/// The answer to [`Sample`].
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The longest queues of this manager.
    pub queues: Vec<Queue>,
    /// True if no notification tells a waiter that it is its turn, so that it has to ask again and again.
    pub polls: bool,
    /// True if the pauses are a function of the application, which is not to be replaced.
    pub own_pauses: bool,
    /// The requests that waited as the settings say, so far: those that were granted.
    pub granted: u64,
    /// Those that waited in vain.
    pub timed_out: u64,
    /// The settings at this moment.
    pub tuning: Tuning,
}

/// The waiters of a manager for one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The number of the queue. It is another one when somebody waits again after nobody did.
    pub key: u64,
    /// The number of those that wait.
    pub waiting: u32,
    /// The number of grants since the queue formed.
    pub granted: u64,
}

/// Asks the store what its servers have had to do. The answer comes with the time that it took.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Load")]
pub struct AskLoad;

/// The answer to [`AskLoad`].
pub(crate) type Load = (Result<Vec<ServerLoad>, StoreError>, Duration);
