//! The trace of the requests of a manager, one by one, for whoever records it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::SyncSender,
    },
    time::Duration,
};

use actix::Message;

use super::{
    ear::Ear,
    event::{About, Admitted, LockEvent, RequestEnd},
};
use crate::core::{Mode, Moment, ResourceName, Token};

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

/// Begins a recording of the requests of a manager, in place of the one before.
#[derive(Message)]
#[rtype(result = "()")]
pub struct BeginTrace(pub TraceSink);

/// Ends this recording, if another one has not begun since.
#[derive(Message)]
#[rtype(result = "()")]
pub struct EndTrace(pub TraceSink);

impl TraceSink {
    fn send(&self, traced: Traced) {
        if self.lines.try_send(traced).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The recording of a manager, if there is one.
pub(crate) struct Trace {
    recording: Option<Recording>,
    /// The wait of the settings that the manager was started with, which those of a replay have. A tuner may change it.
    default_wait: Duration,
    max_wait: Duration,
}

/// A recording, with the requests since its begin that are not over.
struct Recording {
    sink: TraceSink,
    begun: Moment,
    open: BTreeMap<Token, Traced>,
}

impl Trace {
    /// Creates the trace of a manager that is started with these settings, without a recording.
    pub(super) const fn new(default_wait: Duration, max_wait: Duration) -> Self {
        Self { recording: None, default_wait, max_wait }
    }

    /// Begins a recording, in place of the one before.
    pub(crate) fn begin(&mut self, sink: TraceSink, begun: Moment) {
        self.recording = Some(Recording { sink, begun, open: BTreeMap::new() });
    }

    /// Ends any recording, without what is not over yet.
    pub(crate) fn forget(&mut self) {
        self.recording = None;
    }

    /// Ends this recording, if another one has not begun since, and traces what is not over yet: leases, then those that wait.
    pub(crate) fn end(&mut self, sink: &TraceSink) {
        let is_current = |it: &mut Recording| Arc::ptr_eq(&it.sink.dropped, &sink.dropped);
        if let Some(Recording { sink, open, .. }) = self.recording.take_if(is_current) {
            let mut open: Vec<_> = open.into_values().collect();
            open.sort_by_key(|traced| (traced.answer.is_none(), traced.at));
            open.into_iter().for_each(|traced| sink.send(traced));
        }
    }
}

impl Ear for Trace {
    fn hear(&mut self, about: About, class: Option<&Arc<str>>, event: &LockEvent<'_>) {
        if let (Some(recording), Some(token)) = (&mut self.recording, about.token) {
            match *event {
                LockEvent::Requested(Some(Admitted { resource, mode, at, wait, counts_attempts }))
                    if at >= recording.begun =>
                {
                    // Attempts that are limited end the wait by themselves, in a replay with the same pauses too.
                    let by_attempts = counts_attempts && wait == self.max_wait;
                    let traced = Traced {
                        at: recording.begun.elapsed(at),
                        resource: resource.clone(),
                        mode,
                        class: class.cloned(),
                        wait: Some(wait).filter(|wait| *wait != self.default_wait && !by_attempts),
                        answer: None,
                        hold: None,
                    };
                    recording.open.insert(token, traced);
                }
                LockEvent::Ended { end, waited, .. } => {
                    let outcome = match end {
                        RequestEnd::Refused | RequestEnd::TimedOut => "held",
                        RequestEnd::Cancelled => "gone",
                        end => end.as_str(),
                    };
                    let answer = Some((waited, outcome));
                    recording.open.entry(token).and_modify(|traced| traced.answer = answer);
                    if end != RequestEnd::Granted {
                        recording.over(token, None);
                    }
                }
                LockEvent::Releasing { held_for } | LockEvent::Lost { held_for, .. } => {
                    recording.over(token, Some(held_for));
                }
                _ => {}
            }
        }
    }
}

impl Recording {
    /// Sends a request that is over now.
    fn over(&mut self, token: Token, hold: Option<Duration>) {
        if let Some(traced) = self.open.remove(&token) {
            self.sink.send(Traced { hold, ..traced });
        }
    }
}
