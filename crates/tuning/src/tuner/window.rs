//! A window of observations: who waited, how fast they were served, and what the server had to do.

use std::{collections::BTreeMap, time::Duration};

use leasehold::{
    rules::{Queue, Sampled},
    store::ServerLoad,
};

/// The share of its length at which a queue has begun to drain.
const DRAINED: f64 = 0.6;

/// The figures of a window, on which rules decide.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowFigures {
    /// The queue in demand, if there was one.
    pub(super) queue: Option<QueueDemand>,
    /// The requests that were granted, of those that wait as the settings say.
    pub(super) granted: u64,
    /// The requests that waited in vain, of those.
    pub(super) timed_out: u64,
    /// True if waiters have to ask again and again, with pauses that may be replaced.
    pub(super) polls: bool,
    /// The share of a core that the busiest server needed.
    pub(super) load: Option<f64>,
    /// The share of its memory that the fullest server uses, of those with a limit.
    pub(super) memory: Option<f64>,
    /// The time that the server took to answer, in seconds.
    pub(super) latency: Option<f64>,
    /// The gauges of the application.
    pub(super) gauges: BTreeMap<String, f64>,
}

/// A queue of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct QueueDemand {
    /// The fewest and the most that waited at a time.
    pub(super) fewest: u32,
    pub(super) most: u32,
    /// True if somebody waited all the time, and the queue does not drain as that of a burst does.
    pub(super) stands: bool,
    /// The number of those that were served, a second.
    pub(super) rate: f64,
}

/// A window in the making.
#[derive(Debug, Default)]
pub(super) struct Window {
    samples: u32,
    polls: bool,
    seen: BTreeMap<u64, SeenQueue>,
    /// The requests that were granted and waited in vain: until the window before, and until the last sample.
    counted: Option<(u64, u64)>,
    counts: Option<(u64, u64)>,
    worked: Option<Vec<ServerLoad>>,
}

/// A queue, as the samples of a window saw it.
#[derive(Clone, Copy, Debug)]
struct SeenQueue {
    samples: u32,
    fewest: u32,
    most: u32,
    last: u32,
    /// The number of grants at the last sample, if somebody waited then.
    granted: Option<u64>,
    /// The time for which somebody waited, in seconds, and those that were served in it.
    waited: f64,
    served: u64,
}

impl Window {
    /// Adds a sample. `since` is the time that has passed since the one before.
    pub(super) fn sample(&mut self, sampled: &Sampled, since: Duration) {
        self.samples = self.samples.saturating_add(1);
        self.polls = sampled.polls && !sampled.own_pauses;
        self.counts = Some((sampled.granted, sampled.timed_out));
        for (key, seen) in &mut self.seen {
            if sampled.queues.iter().all(|queue| queue.key != *key) {
                seen.granted = None;
            }
        }
        for queue in &sampled.queues {
            self.seen.entry(queue.key).or_insert(SeenQueue::NEW).add(queue, since);
        }
    }

    /// Ends the window, and begins the next one. `lasted` is its length. What is `None` could not be learnt.
    pub(super) fn close(
        &mut self,
        lasted: Duration,
        load: Option<Vec<ServerLoad>>,
        latency: Option<Duration>,
    ) -> WindowFigures {
        let queue =
            self.seen.values().filter_map(|seen| seen.demand(self.samples)).max_by(QueueDemand::order);
        let (granted, timed_out) = match (self.counted, self.counts) {
            (Some(before), Some(now)) => (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1)),
            _ => (0, 0),
        };
        let both = self.worked.as_ref().zip(load.as_ref());
        let share = both.and_then(|(before, now)| ServerLoad::busiest(before, now, lasted));
        let memory = load.iter().flatten().filter_map(|server| server.memory).max_by(f64::total_cmp);
        (self.counted, self.worked, self.samples) = (self.counts, load, 0);
        self.seen.retain(|_, seen| seen.granted.is_some());
        for seen in self.seen.values_mut() {
            *seen = SeenQueue { granted: seen.granted, ..SeenQueue::NEW };
        }
        WindowFigures {
            queue,
            granted,
            timed_out,
            polls: self.polls,
            load: share,
            memory,
            latency: latency.map(|latency| latency.as_secs_f64()),
            gauges: BTreeMap::new(),
        }
    }
}

impl SeenQueue {
    const NEW: Self =
        Self { samples: 0, fewest: u32::MAX, most: 0, last: 0, granted: None, waited: 0.0, served: 0 };

    fn add(&mut self, queue: &Queue, since: Duration) {
        if let Some(before) = self.granted {
            self.waited += since.as_secs_f64();
            self.served = self.served.saturating_add(queue.granted.saturating_sub(before));
        }
        self.samples += 1;
        self.granted = Some(queue.granted);
        self.last = queue.waiting;
        (self.fewest, self.most) = (self.fewest.min(queue.waiting), self.most.max(queue.waiting));
    }

    /// Returns the demand, unless nobody was seen to wait for any time.
    fn demand(&self, samples: u32) -> Option<QueueDemand> {
        let rate = self.served as f64 / self.waited;
        let stands = self.samples == samples && f64::from(self.last) >= f64::from(self.most) * DRAINED;
        rate.is_finite().then_some(QueueDemand { fewest: self.fewest, most: self.most, stands, rate })
    }
}

impl QueueDemand {
    /// Orders queues by demand: those that stand come last, and the longest.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let key = |it: &Self| (it.stands, if it.stands { it.fewest } else { it.most });
        key(self).cmp(&key(other)).then(self.rate.total_cmp(&other.rate))
    }
}
