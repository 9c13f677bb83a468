//! The tuner: the actor that observes a manager, and carries out what its rules decide.

use std::{collections::BTreeMap, fmt, mem, time::Duration};

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, Recipient, WrapFuture,
};
use tokio::time::Instant;

use super::{
    Figure, TunerEvent,
    judge::{Decision, Judge},
    window::{Figures, Window},
};
use crate::{
    core::InvalidValue,
    manager::LockManager,
    request::{
        SetTuning, Stats, TunerSettings,
        tuning::{AskLoad, Sample, Sampled},
    },
    statistics::Statistics,
    store::ServerLoad,
};

/// The number of samples in a window.
const SAMPLES: u32 = 10;
/// The largest number of figures of the application.
const GAUGES: usize = 64;

/// An actor that adapts the settings of a lock manager to the load, while both run.
///
/// It runs in the arbiter that it is started in, until the lock manager is shut down. When it ends before that, with its
/// arbiter for instance, it sets what was set before it.
pub struct Tuner {
    locks: Addr<LockManager>,
    settings: TunerSettings,
    tells: Vec<Recipient<TunerEvent>>,
    window: Window,
    /// The judge, once the settings of the manager are known.
    judge: Option<Judge>,
    gauges: BTreeMap<String, f64>,
    progress: Progress,
}

/// The place in a window.
struct Progress {
    samples: u32,
    began: Instant,
    last: Instant,
    /// True while the manager has yet to answer.
    asking: bool,
}

/// The builder of a [`Tuner`].
#[must_use = "a tuner does nothing until it is started"]
pub struct TunerBuilder {
    locks: Addr<LockManager>,
    settings: TunerSettings,
    tells: Vec<Recipient<TunerEvent>>,
}

impl Tuner {
    /// Returns the builder of a tuner for this manager.
    pub fn builder(locks: &Addr<LockManager>) -> TunerBuilder {
        TunerBuilder { locks: locks.clone(), settings: TunerSettings::default(), tells: Vec::new() }
    }
}

impl TunerBuilder {
    /// Sets whether it changes anything, and the bounds that it keeps: [`Config::tuner`](crate::Config). Default:
    /// [`TunerSettings::default`], which changes nothing.
    pub fn settings(mut self, settings: TunerSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Adds a recipient that is told of each change.
    pub fn tell(mut self, recipient: Recipient<TunerEvent>) -> Self {
        self.tells.push(recipient);
        self
    }

    /// Starts the tuner in the arbiter of the caller. Without `tuner.enabled` it takes figures, and does nothing.
    ///
    /// # Errors
    /// [`InvalidValue`] when a setting is out of its bounds.
    ///
    /// # Panics
    /// When it is called outside of a tokio `LocalSet`. Every actix arbiter is one.
    pub fn start(self) -> Result<Addr<Tuner>, InvalidValue> {
        let Self { locks, settings, tells } = self;
        settings.check()?;
        let now = Instant::now();
        let progress = Progress { samples: 0, began: now, last: now, asking: false };
        let (window, judge, gauges) = Default::default();
        Ok(Context::new().run(Tuner { locks, settings, tells, window, judge, gauges, progress }))
    }
}

impl Actor for Tuner {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if self.settings.enabled {
            ctx.run_interval(self.settings.window / SAMPLES, Self::observe);
        }
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        let home = self.judge.as_ref().and_then(Judge::way_home).filter(|_| !self.settings.dry_run);
        if let Some(home) = home {
            self.locks.do_send(SetTuning::from(home));
        }
    }
}

impl Tuner {
    /// Asks the manager who waits, and at the end of a window for all else.
    fn observe(&mut self, ctx: &mut Context<Self>) {
        if !self.locks.connected() {
            return ctx.stop();
        }
        // A manager that is late is not asked once more meanwhile.
        if mem::replace(&mut self.progress.asking, true) {
            return;
        }
        let (sample, ends) = (self.locks.send(Sample), self.progress.samples + 1 >= SAMPLES);
        let others = ends.then(|| (self.locks.send(Stats), self.locks.send(AskLoad)));
        let answers = async move {
            let sampled = sample.await.ok();
            let Some((statistics, load)) = others else { return (sampled, None) };
            (sampled, Some((statistics.await.ok(), load.await.ok())))
        };
        let answered = answers.into_actor(self).map(|(sampled, others), this, _| {
            this.progress.asking = false;
            // A manager that was started again has no answer to what it died over.
            let Some(sampled) = sampled else { return };
            this.sampled(&sampled);
            if let Some((statistics, load)) = others {
                let load = load.and_then(|(load, took)| Some((load.ok()?, took)));
                this.close(statistics.as_ref(), load);
            }
        });
        ctx.spawn(answered);
    }

    fn sampled(&mut self, sampled: &Sampled) {
        let now = Instant::now();
        let since = now - mem::replace(&mut self.progress.last, now);
        self.progress.samples += 1;
        self.window.sample(sampled, since);
        let bounds = &self.settings;
        let judge = self.judge.get_or_insert_with(|| Judge::new(bounds.clone(), sampled.tuning));
        if !bounds.dry_run {
            judge.notice(sampled.tuning);
        }
    }

    /// Ends a window, and carries out what follows from it.
    fn close(&mut self, statistics: Option<&Statistics>, load: Option<(ServerLoad, Duration)>) {
        let now = Instant::now();
        let lasted = now - mem::replace(&mut self.progress.began, now);
        self.progress.samples = 0;
        let (load, latency) = load.unzip();
        let figures = self.window.close(lasted, statistics, load, latency);
        let figures = Figures { gauges: mem::take(&mut self.gauges), ..figures };
        let decisions = self.judge.as_mut().map(|judge| judge.judge(&figures)).unwrap_or_default();
        decisions.into_iter().for_each(|decision| self.carry_out(decision));
    }

    fn carry_out(&self, Decision { rule, reason, from, to }: Decision) {
        let dry_run = self.settings.dry_run;
        tracing::info!(%rule, reason, ?from, ?to, dry_run, "the load has changed");
        if !dry_run {
            // What does not change is left out: new pauses would take the place of a function of the application.
            self.locks.do_send(SetTuning {
                backoff: (from.backoff != to.backoff).then_some(to.backoff),
                wait: (from.wait != to.wait).then_some(to.wait),
                max_waiters: (from.max_waiters != to.max_waiters).then_some(to.max_waiters),
            });
        }
        let event = TunerEvent { rule, reason, from, to, dry_run };
        self.tells.iter().for_each(|to| to.do_send(event.clone()));
    }
}

impl Handler<Figure> for Tuner {
    type Result = ();

    fn handle(&mut self, Figure { name, value }: Figure, _: &mut Self::Context) {
        let has_room = self.gauges.len() < GAUGES || self.gauges.contains_key(&name);
        if value.is_finite() && has_room {
            self.gauges.insert(name, value);
        }
    }
}

impl fmt::Debug for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuner")
            .field("settings", &self.settings)
            .field("judge", &self.judge)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TunerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TunerBuilder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
