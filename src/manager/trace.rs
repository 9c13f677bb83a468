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
    core::{Mode, Moment, ResourceName},
    lease::RecordKey,
    listeners::statistics::{Class, RequestEnd},
    manager::{LockManager, record::Record},
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
}

/// A recording.
struct Recording {
    sink: TraceSink,
    begun: Moment,
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
    /// Creates the trace of a manager that is started with this wait, without a recording.
    pub(crate) const fn new(default_wait: Duration) -> Self {
        Self { recording: None, default_wait }
    }
}

impl TraceSink {
    fn add(&self, traced: Traced) {
        if self.lines.try_send(traced).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl LockManager {
    pub(super) fn begin_trace(&mut self, BeginTrace(sink): BeginTrace) {
        self.trace.recording = Some(Recording { sink, begun: self.clock.now() });
    }

    pub(super) fn end_trace(&mut self, EndTrace(sink): EndTrace) {
        let Some(Recording { sink: current, .. }) = &self.trace.recording else { return };
        if Arc::ptr_eq(&current.dropped, &sink.dropped) {
            self.trace_the_rest();
            self.trace.recording = None;
        }
    }

    /// Traces a request that ended without a lease.
    pub(crate) fn trace_ended(&self, record: RecordKey, end: RequestEnd, now: Moment) {
        let Some(recording) = &self.trace.recording else { return };
        let outcome = match end {
            RequestEnd::Refused | RequestEnd::TimedOut => "held",
            RequestEnd::Cancelled => "gone",
            RequestEnd::Granted { .. } | RequestEnd::Failed(_) => end.as_str(),
        };
        let traced = self.records.with(record, |it| {
            let answer = Some((it.decisions.waited(now), outcome));
            let waiter = it.waiter()?;
            let (mode, class) = (waiter.request.acquisition.mode, waiter.request.class);
            Some(Traced { answer, ..self.traced(it, mode, class, recording)? })
        });
        if let Some(traced) = traced.flatten() {
            recording.sink.add(traced);
        }
    }

    /// Traces a request whose lease is over.
    pub(crate) fn trace_over(&self, record: RecordKey, now: Moment) {
        self.trace_lease(record, now, true);
    }

    fn trace_lease(&self, record: RecordKey, now: Moment, over: bool) {
        let Some(recording) = &self.trace.recording else { return };
        let traced = self.records.with(record, |it| {
            let lease = Arc::clone(it.lease()?);
            let held = lease.held_for_at(now);
            let answer = Some((it.decisions.waited(now).saturating_sub(held), "granted"));
            let hold = over.then_some(held);
            Some(Traced { answer, hold, ..self.traced(it, lease.acquisition.mode, lease.class, recording)? })
        });
        if let Some(traced) = traced.flatten() {
            recording.sink.add(traced);
        }
    }

    /// Traces what is not over yet.
    fn trace_the_rest(&self) {
        let Some(recording) = &self.trace.recording else { return };
        let now = self.clock.now();
        for lease in self.records.leases() {
            self.trace_lease(lease.record, now, false);
        }
        for record in self.records.waiting() {
            let traced = self.records.with(record, |it| {
                let wanted = it.decisions.has_caller();
                let waiter = it.waiter().filter(|_| wanted)?;
                let (mode, class) = (waiter.request.acquisition.mode, waiter.request.class);
                self.traced(it, mode, class, recording)
            });
            if let Some(traced) = traced.flatten() {
                recording.sink.add(traced);
            }
        }
    }

    /// Describes a request. `None` if it was made before the recording began.
    fn traced(
        &self,
        record: &Record,
        mode: Mode,
        class: Option<Class>,
        recording: &Recording,
    ) -> Option<Traced> {
        let begun = recording.begun;
        let (asked, wait) = record.decisions.asked().filter(|(asked, _)| *asked >= begun)?;
        // Attempts that are limited end the wait by themselves, in a replay with the same pauses too.
        let by_attempts = record.decisions.counts_attempts() && wait == self.settings.limits.max_wait;
        Some(Traced {
            at: begun.elapsed(asked),
            resource: record.hold.resource.clone(),
            mode,
            class: class.and_then(|class| self.stats.class_name(class)),
            wait: Some(wait).filter(|wait| *wait != self.trace.default_wait && !by_attempts),
            answer: None,
            hold: None,
        })
    }
}
