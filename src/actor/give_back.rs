//! Gives a token back until it certainly is: what keeps an unknown outcome from becoming a ghost lease.

use std::{rc::Rc, sync::Arc, time::Duration};

use crate::{
    actor::{
        lanes::Lanes,
        outage::told,
        shutdown::Errand,
        stats::{Recorder, Unconfirmed},
    },
    protocol::{Executed, Moment},
    store::{Hold, Released},
    world::Clock,
};

const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// What it takes to give a token back.
pub(crate) struct Giver {
    pub(crate) lanes: Rc<Lanes>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stats: Arc<Recorder>,
    /// The lease whose release this is, if it is one's.
    pub(crate) unconfirmed: Option<Unconfirmed>,
    /// A shutdown waits for it.
    pub(crate) _errand: Errand,
}

impl Giver {
    /// Releases `hold` again and again until that is certain, or until `end`, at which its TTL has ended it anyway.
    ///
    /// An acquisition that was perhaps executed may be executed *after* a release: a server that was stopped works off
    /// what stands in its sockets. So no answer is the last word unless it was certainly executed before; not even
    /// that something was given back, for of two attempts with the same token the other may still be on its way. The
    /// pauses double, so that a TTL of a day costs two dozen releases; a ghost lives for about as long as it was late.
    ///
    /// The resource opens at `opening`, or at once if that has passed.
    pub(crate) async fn give_back(mut self, hold: Hold, opening: Moment, executed: Executed, end: Moment) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.lanes.release(hold.clone(), opening.remaining(self.clock.now())).await {
                Ok(answer) => {
                    drop(self.unconfirmed.take());
                    if !matches!(answer, Released::NotHeld { .. }) {
                        self.given_back(&hold);
                    }
                    if executed == Executed::Certainly {
                        return;
                    }
                }
                Err(error) => tracing::debug!(
                    resource = %hold.resource, token = %hold.token.prefix(), error = told(&error),
                    "could not give the token back; trying again until its end"
                ),
            }
            if self.clock.now() + pause >= end {
                return;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    fn given_back(&self, hold: &Hold) {
        self.stats.given_back();
        tracing::debug!(resource = %hold.resource, token = %hold.token.prefix(), "gave the token back");
    }
}
