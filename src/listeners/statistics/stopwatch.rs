//! The measurement of the time that the store takes for a call.

use std::time::Instant;

use super::recorder::Recorder;

pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn store_answered(self, recorder: &Recorder, verb: &'static str, well: bool) {
        recorder.store_answered(verb, well, self.0.elapsed());
    }
}
