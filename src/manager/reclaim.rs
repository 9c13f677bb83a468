//! The reclaim of a token, repeated until it is certain, so that an unknown outcome does not become a ghost lease.

use std::{rc::Rc, sync::Arc, time::Duration};

use crate::{
    core::{Doubling, Executed, Moment, one_line},
    env::Clock,
    manager::{dispatch::Dispatch, shutdown::InFlight},
    statistics::{Recorder, Unconfirmed},
    store::{Hold, Released},
};

const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Everything that is needed to reclaim a token.
pub(crate) struct Reclaimer {
    pub(crate) dispatch: Rc<Dispatch>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stats: Arc<Recorder>,
    /// The unconfirmed release of the lease, if the token belongs to one.
    pub(crate) unconfirmed: Option<Unconfirmed>,
    /// Keeps a shutdown waiting.
    pub(crate) _in_flight: InFlight,
}

impl Reclaimer {
    /// Releases `hold` again and again until that is certain, or until `end`, at which its TTL has ended it anyway.
    ///
    /// An acquisition with an unknown outcome may be executed *after* a release: a server that was stopped works off what is
    /// left in its sockets. An answer is therefore final only if the acquisition was certainly executed before. Even a
    /// confirmed release is not final: of two attempts with the same token, the other may still be in flight. The pauses
    /// double, so that a TTL of a day costs two dozen releases. A ghost lives for about as long as it was late.
    ///
    /// The resource opens at `opening`, or at once if that has passed.
    pub(crate) async fn reclaim(mut self, hold: Hold, opening: Moment, executed: Executed, end: Moment) {
        let mut pauses = Doubling::new(FIRST_PAUSE, Duration::MAX);
        loop {
            match self.dispatch.release(hold.clone(), opening.remaining(self.clock.now())).await {
                Ok(answer) => {
                    drop(self.unconfirmed.take());
                    if !matches!(answer, Released::NotHeld { .. }) {
                        self.note_reclaimed(&hold);
                    }
                    if executed == Executed::Certainly {
                        return;
                    }
                }
                Err(error) => tracing::debug!(
                    resource = %hold.resource, token = %hold.token.prefix(), error = one_line(&error),
                    "could not reclaim a token; trying again until its end"
                ),
            }
            let pause = pauses.next();
            if self.clock.now() + pause >= end {
                return;
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn note_reclaimed(&self, hold: &Hold) {
        self.stats.reclaimed();
        tracing::debug!(resource = %hold.resource, token = %hold.token.prefix(), "reclaimed a token");
    }
}
