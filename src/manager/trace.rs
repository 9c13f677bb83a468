//! The trace of the requests of a manager, for whoever records it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::SyncSender,
    },
    time::Duration,
};

use actix::Message;

use crate::{
    core::{Mode, Moment, RecordKey, ResourceName},
    listeners::statistics::{Recorder, RequestEnd},
    manager::{Asked, Record, Records, Role},
    request::Settings,
};

/// A request that is over: refused, or granted and released.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The time since the recording began.
    pub at: Duration,
    /// The resource that was requested.
    pub resource: ResourceName,
    /// The mode in which it was requested.
    pub mode: Mode,
    /// The class of the request.
    pub class: Option<Arc<str>>,
    /// The longest wait, if the request did not leave it to the settings.
    pub wait: Option<Duration>,
    /// The time until its answer, and its outcome (`granted`, `held`, `gone` for a caller that went away, or the kind of an
    /// error); `None` if it still waits when the recording ends.
    pub answer: Option<(Duration, &'static str)>,
    /// The time for which its lease was held.
    pub hold: Option<Duration>,
}

/// The way to a recorder, which never waits.
#[derive(Clone, Debug)]
pub struct TraceSink {
    /// The channel to the recorder.
    pub lines: SyncSender<Traced>,
    /// The number of requests that found no room.
    pub dropped: Arc<AtomicU64>,
}

/// The recording of a manager, if there is one.
pub(crate) struct Trace {
    recording: Option<Recording>,
    /// The wait of the settings that the manager was started with, which those of a replay have. A tuner may change it.
    default_wait: Duration,
    max_wait: Duration,
}

/// A recording.
struct Recording {
    sink: TraceSink,
    begun: Moment,
    stats: Arc<Recorder>,
}

/// Begins a recording, in place of the one before.
#[derive(Message)]
#[rtype(result = "()")]
pub struct BeginTrace(pub TraceSink);

/// Ends this recording, if another one has not begun since.
#[derive(Message)]
#[rtype(result = "()")]
pub struct EndTrace(pub TraceSink);

impl Trace {
    /// Creates the trace of a manager that is started with these settings, without a recording.
    pub(crate) const fn new(settings: &Settings) -> Self {
        Self { recording: None, default_wait: settings.wait.timeout, max_wait: settings.limits.max_wait }
    }

    pub(crate) fn begin(&mut self, sink: TraceSink, begun: Moment, stats: Arc<Recorder>) {
        self.recording = Some(Recording { sink, begun, stats });
    }

    /// Ends the recording of this sink, and traces what is not over yet: leases, and the requests that are `waiting`.
    pub(crate) fn end(
        &mut self,
        sink: &TraceSink,
        records: &Records,
        waiting: impl Iterator<Item = RecordKey>,
        now: Moment,
    ) {
        let is_current = |it: &Recording| Arc::ptr_eq(&it.sink.dropped, &sink.dropped);
        if !self.recording.as_ref().is_some_and(is_current) {
            return;
        }
        for lease in records.leases() {
            self.lease(records, lease.record, now, false);
        }
        for record in waiting {
            self.add(records, record, |_| Some((None, None)));
        }
        self.recording = None;
    }

    /// Traces a request that ended without a lease.
    pub(crate) fn ended(&self, records: &Records, record: RecordKey, end: RequestEnd, waited: Duration) {
        let outcome = match end {
            RequestEnd::Refused | RequestEnd::TimedOut => "held",
            RequestEnd::Cancelled => "gone",
            RequestEnd::Granted | RequestEnd::Failed(_) => end.as_str(),
        };
        self.add(records, record, |_| Some((Some((waited, outcome)), None)));
    }

    /// Traces a request whose lease is over, or not yet.
    pub(crate) fn lease(&self, records: &Records, record: RecordKey, now: Moment, over: bool) {
        self.add(records, record, |it| {
            let held = it.lease()?.held_for_at(now);
            let waited = it.asked?.at.elapsed(now).saturating_sub(held);
            Some((Some((waited, "granted")), over.then_some(held)))
        });
    }

    /// Traces a request with its answer and its hold, unless it was made before the recording began.
    fn add(
        &self,
        records: &Records,
        record: RecordKey,
        outcome: impl FnOnce(&Record) -> Option<(Option<(Duration, &'static str)>, Option<Duration>)>,
    ) {
        let Some(Recording { sink, begun, stats }) = &self.recording else { return };
        let traced = records.with(record, |it| {
            let (mode, class) = match &it.role {
                Role::Waiting(waiter) => (waiter.request.terms.acquisition.mode, waiter.request.terms.class),
                Role::Holding(holding) => (holding.lease.terms.acquisition.mode, holding.lease.terms.class),
                Role::Releasing { .. } => return None,
            };
            let (answer, hold) = outcome(it)?;
            let Asked { at, wait, counts_attempts } = it.asked.filter(|asked| asked.at >= *begun)?;
            // Attempts that are limited end the wait by themselves, in a replay with the same pauses too.
            let by_attempts = counts_attempts && wait == self.max_wait;
            Some(Traced {
                at: begun.elapsed(at),
                resource: it.hold.resource.clone(),
                mode,
                class: class.and_then(|class| stats.class_name(class)),
                wait: Some(wait).filter(|wait| *wait != self.default_wait && !by_attempts),
                answer,
                hold,
            })
        });
        if let Some(traced) = traced.flatten()
            && sink.lines.try_send(traced).is_err()
        {
            sink.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
