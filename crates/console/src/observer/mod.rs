//! The observer: an actor that looks at the store once a second, and remembers for a while what it has seen.
//!
//! It looks at what somebody waits for, and at what somebody has looked at lately. A walk over many keys takes longer; then it
//! looks less often, so that it takes a small share of the server's time whatever the number of keys.

mod latest;
mod looking;
mod tracks;

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, Message, MessageResult,
    WrapFuture,
};
use tokio::{runtime::Handle, sync::watch, time::Instant};

pub(crate) use self::looking::is_of_one;
use leasehold::{
    InspectError, LockManager, ResourceName,
    env::{Draw, Random, SystemRandom},
    text::one_line,
};
use leasehold_tuning::tuner::TunerEvent;

use self::{
    latest::{Latest, RESOURCES},
    looking::{Looked, look},
    tracks::Tracks,
};
use crate::{
    model::{ProcessView, TimelineView, TunerView, Watch},
    observe::Look,
};

/// The time between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// The share of its time that the observer may look: one part of so many.
const SHARE: u32 = 20;
/// The longest pause after a look that failed, however long that took.
const LONGEST_AFTER_ERROR: Duration = Duration::from_secs(5);
/// The largest number of events of a tuner that are remembered.
const EVENTS: usize = 50;

/// The observer of one store.
pub(crate) struct Observer {
    locks: Addr<LockManager>,
    began: Instant,
    tracks: Tracks,
    /// The resources that somebody has looked at, and those that were contended, each with when that was last.
    visited: Latest,
    contended: Latest,
    /// The pause before the look that goes on, or comes next, and the time that the last one took.
    pause: Duration,
    took: Duration,
    /// The moment of the last look, counted from the begin; `None` before the first one, and after one that has failed.
    latest: Option<Duration>,
    /// True if the store has shown that it keeps no queues. Not always is there something that shows it.
    without_queues: bool,
    seen: watch::Sender<Watch>,
    tuner: VecDeque<(Instant, TunerEvent)>,
}

/// Tells the timeline of a resource, and is interested in it from now on.
#[derive(Message)]
#[rtype(result = "TimelineView")]
pub(crate) struct Timeline(pub(crate) ResourceName);

/// Tells the processes that hold and wait, as of the last look.
#[derive(Message)]
#[rtype(result = "Vec<ProcessView>")]
pub(crate) struct Processes;

/// Tells the elections that the last look has met.
#[derive(Message)]
#[rtype(result = "Vec<ResourceName>")]
pub(crate) struct Elections;

/// Tells what a tuner has said lately, the latest first.
#[derive(Message)]
#[rtype(result = "Vec<TunerView>")]
pub(crate) struct TunerSaid;

/// Tells whoever watches that something has changed.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Changed;

/// Returns the number of the state before the first look: another one in each process, so that nobody takes the state of a
/// console that was started again for the one that they know. JavaScript knows whole numbers of this size.
fn first_revision() -> u64 {
    (SystemRandom.draw(Draw::Attempt) * f64::from(u32::MAX)) as u64
}

impl Observer {
    /// Starts an observer in the arbiter of the caller.
    pub(crate) fn start(locks: Addr<LockManager>) -> (Addr<Self>, watch::Receiver<Watch>) {
        let (seen, watched) = watch::channel(Watch { revision: first_revision(), ..Watch::default() });
        let (tracks, visited, contended, latest, tuner) = Default::default();
        let (began, pause, took) = (Instant::now(), EVERY, Duration::ZERO);
        let observer = Self {
            locks,
            began,
            tracks,
            visited,
            contended,
            pause,
            took,
            latest,
            without_queues: false,
            seen,
            tuner,
        };
        (Context::new().run(observer), watched)
    }

    fn observe(&mut self, ctx: &mut Context<Self>) {
        let began = Instant::now();
        let looking = look(self.locks.clone(), self.wanted(began), self.without_queues);
        let looking = looking.into_actor(self);
        ctx.spawn(looking.map(move |found, this, ctx| {
            let Some(found) = found else {
                // The manager is gone, and nothing will be seen any more.
                return ctx.stop();
            };
            let now = Instant::now();
            this.took = now - began;
            let gap = this.gap();
            let pause = EVERY.max(this.took * SHARE);
            this.pause = if found.is_ok() { pause } else { pause.min(LONGEST_AFTER_ERROR) };
            this.note(found, began, now, gap);
            ctx.run_later(this.pause, Self::observe);
        }));
    }

    /// Returns the longest time between two looks that follow each other: from the end of one to the end of the next, and a
    /// little more.
    fn gap(&self) -> Duration {
        self.pause + self.took + EVERY
    }

    /// Returns what to look at beside what is contended now: what somebody has looked at, then what was contended before.
    fn wanted(&mut self, now: Instant) -> BTreeSet<ResourceName> {
        self.visited.forget(now);
        self.contended.forget(now);
        let is_contended =
            |name: &ResourceName| self.latest.is_some_and(|at| self.tracks.is_contended(name, at));
        let visited = self.visited.latest_first();
        let others = self.contended.latest_first().filter(|name| !is_contended(name));
        // A set, so that one that is in both counts once.
        let mut wanted = BTreeSet::new();
        for name in visited.chain(others) {
            if wanted.len() == RESOURCES {
                break;
            }
            wanted.insert(name.clone());
        }
        wanted
    }

    fn note(&mut self, found: Result<Looked, InspectError>, asked: Instant, now: Instant, gap: Duration) {
        let (asked, observed_for) = (asked - self.began, now - self.began);
        let seen = self.seen.borrow().clone();
        let (watch, is_news) = match found {
            Ok(looked) => {
                let mut watch = Watch {
                    complete: looked.complete,
                    without_queues: looked.without_queues,
                    ..Watch::default()
                };
                let (mut is_news, mut contended, mut waiting) = (false, 0, 0);
                for (name, view) in looked.resources {
                    if view.queue() > 0 {
                        (contended, waiting) = (contended + 1, waiting + view.queue());
                        self.contended.insert(name.clone(), now);
                    }
                    is_news |= self.tracks.note(&name, Look::new(view, asked, observed_for), gap);
                }
                if !watch.without_queues {
                    (watch.contended, watch.waiting) = (Some(contended), Some(waiting));
                }
                // After a time of which nothing is known, also that nothing has changed is news.
                is_news |= self.latest.is_none() || !watch.is_like(&seen);
                self.without_queues = watch.without_queues;
                self.latest = Some(observed_for);
                (watch, is_news)
            }
            // What was seen before is not true for sure any more.
            Err(error) => {
                let trouble = Some(one_line(&error));
                let is_news = seen.trouble != trouble;
                self.latest = None;
                self.tracks.interrupt();
                (Watch { trouble, without_queues: self.without_queues, ..Watch::default() }, is_news)
            }
        };
        self.tracks.forget(observed_for);
        self.publish(Watch { revision: seen.revision + u64::from(is_news), observed_for, ..watch });
    }

    /// Publishes what was seen; who watches is woken only by a new revision.
    fn publish(&self, watch: Watch) {
        self.seen.send_if_modified(|seen| {
            let is_news = seen.revision != watch.revision;
            *seen = watch;
            is_news
        });
    }
}

impl Actor for Observer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if Handle::try_current().is_ok() {
            self.observe(ctx);
        }
    }
}

impl Handler<Timeline> for Observer {
    type Result = MessageResult<Timeline>;

    fn handle(&mut self, Timeline(name): Timeline, _: &mut Self::Context) -> Self::Result {
        let now = Instant::now();
        let timeline = self.tracks.timeline(&name, now - self.began, self.gap());
        self.visited.insert(name, now);
        MessageResult(timeline)
    }
}

impl Handler<Processes> for Observer {
    type Result = MessageResult<Processes>;

    fn handle(&mut self, _: Processes, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.latest.map(|at| self.tracks.processes(at)).unwrap_or_default())
    }
}

impl Handler<Elections> for Observer {
    type Result = MessageResult<Elections>;

    fn handle(&mut self, _: Elections, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.latest.map(|at| self.tracks.elections(at)).unwrap_or_default())
    }
}

impl Handler<TunerSaid> for Observer {
    type Result = MessageResult<TunerSaid>;

    fn handle(&mut self, _: TunerSaid, _: &mut Self::Context) -> Self::Result {
        let now = Instant::now();
        let said = self.tuner.iter().rev();
        MessageResult(said.map(|(at, event)| TunerView::of(event, now - *at)).collect())
    }
}

impl Handler<Changed> for Observer {
    type Result = ();

    fn handle(&mut self, _: Changed, _: &mut Self::Context) {
        let seen = self.seen.borrow().clone();
        self.publish(Watch { revision: seen.revision + 1, ..seen });
    }
}

impl Handler<TunerEvent> for Observer {
    type Result = ();

    fn handle(&mut self, event: TunerEvent, ctx: &mut Self::Context) {
        self.tuner.push_back((Instant::now(), event));
        self.tuner.drain(..self.tuner.len().saturating_sub(EVENTS));
        self.handle(Changed, ctx);
    }
}
