//! The course of samples: what is asked when, one of each at a time.
//!
//! A sample is a walk over the queues, if it is due, and then a look at the resources that the state has chosen. The names
//! of all resources, and the work of the server, are asked beside it.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use leasehold::ResourceName;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    sample::Asker,
    seen::Report,
    state::{State, told_each},
};
use crate::pace::Pace;

/// The least time between two walks over all names.
const NAMES_EVERY: Duration = Duration::from_secs(10);

/// What is under way, and what is due.
pub(super) struct Sampling {
    asker: Rc<Asker>,
    reports: UnboundedSender<Report>,
    queues: Pace,
    names: Pace,
    server: Pace,
    is_looking: bool,
}

impl Sampling {
    pub(super) fn new(asker: Rc<Asker>, reports: UnboundedSender<Report>, every: Duration) -> Self {
        // Ticks are the least time of these two.
        let (queues, server) = (Pace::new(Duration::ZERO), Pace::new(Duration::ZERO));
        let names = Pace::new(NAMES_EVERY.max(every));
        Self { asker, reports, queues, names, server, is_looking: false }
    }

    /// Begins a sample. What the last one still waits for is not asked again.
    pub(super) fn begin(&mut self, state: &State) {
        let now = Instant::now();
        if self.queues.begin(now) {
            self.ask(async |asker: &Asker| asker.contended().await);
        } else {
            self.look(state);
        }
        if self.names.begin(now) {
            self.ask(async |asker: &Asker| asker.names().await);
        }
        if self.server.begin(now) {
            self.ask(async |asker: &Asker| asker.server().await);
        }
    }

    /// Goes on after a report, which the state has taken already.
    pub(super) fn go_on(&mut self, after: Answered, state: &State) {
        let now = Instant::now();
        match after {
            Answered::Queues(ok) => {
                if ok {
                    self.queues.end(now)
                } else {
                    self.queues.fail(now)
                };
                self.look(state);
            }
            Answered::Names(true) => self.names.end(now),
            Answered::Names(false) => self.names.fail(now),
            Answered::Server => self.server.end(now),
            Answered::Looks => self.is_looking = false,
            Answered::Revoke => {}
        }
    }

    /// Takes a resource back. Its report comes when the grace is over, or when nobody holds any more.
    pub(super) fn revoke(&self, resource: ResourceName, grace: Duration) {
        self.ask(async move |asker: &Asker| asker.revoke(resource, grace).await);
    }

    fn look(&mut self, state: &State) {
        if std::mem::replace(&mut self.is_looking, true) {
            return;
        }
        let (plan, open) = (state.plan(), state.opened().cloned());
        let each = told_each(plan.len());
        self.ask(async move |asker: &Asker| asker.looks(plan, each, open).await);
    }

    fn ask(&self, question: impl AsyncFnOnce(&Asker) -> Report + 'static) {
        let (asker, reports) = (Rc::clone(&self.asker), self.reports.clone());
        actix_rt::spawn(async move {
            // The view has ended if nobody takes it.
            let _ = reports.send(question(&asker).await);
        });
    }
}

/// The question that a report answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// True if it has an answer, and not an error.
    Queues(bool),
    /// The same.
    Names(bool),
    Server,
    Looks,
    Revoke,
}

impl Answered {
    pub(super) const fn by(report: &Report) -> Self {
        match report {
            Report::Contended(walk) => Self::Queues(walk.is_ok()),
            Report::Names(walk) => Self::Names(walk.is_ok()),
            Report::Server(_) => Self::Server,
            Report::Looks(..) => Self::Looks,
            Report::Revoked(..) => Self::Revoke,
        }
    }

    /// Returns true if the screen shows something new after it. A look follows what does not.
    pub(super) const fn is_drawn(self) -> bool {
        !matches!(self, Self::Queues(_) | Self::Server)
    }
}
