//! The tuner: the actor that observes a manager, and carries out what its rules decide.

use std::{collections::BTreeMap, fmt, mem, sync::Arc, time::Duration};

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, Recipient, WrapFuture,
};
use leasehold::{
    InvalidValue, LockManager, StoreError, TunerSettings,
    rules::{AskLoad, Sample, Sampled},
    store::ServerLoad,
};
use tokio::{runtime::Handle, time::Instant};

use super::{
    judge::{Judge, difference},
    messages::{Figure, StopTuner, TellChanges, TunerEvent},
    window::{Window, WindowFigures},
};

/// The number of samples in a window.
const SAMPLES: u32 = 10;
/// The largest number of figures of the application.
const GAUGES: usize = 64;

/// An actor that adapts the settings of a lock manager to the load, while both run.
///
/// A manager has one if the application [builds](Self::builder) it. It runs until the lock manager is shut down or it is told to [stop](StopTuner); to drop its address does not end it. When it
/// ends before the manager, it sets what was set before it.
///
/// One tuner at a time changes the settings of a manager. Another one waits until the first has ended. A dry run changes nothing,
/// and may run beside it.
pub struct Tuner {
    locks: Addr<LockManager>,
    settings: TunerSettings,
    tells: Vec<Recipient<TunerEvent>>,
    window: Window,
    /// The judge, once the settings of the manager are known.
    judge: Option<Judge>,
    gauges: BTreeMap<String, f64>,
    progress: WindowProgress,
    /// What it says that it is, as long as it lives.
    claim: Arc<()>,
    noticed: Noticed,
}

/// What was logged, which is not logged again.
#[derive(Default)]
struct Noticed {
    other: bool,
    no_load: bool,
}

/// The place in a window.
struct WindowProgress {
    samples: u32,
    began: Instant,
    last: Instant,
    /// The questions and changes that the manager has yet to answer.
    asking: usize,
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

    fn new(TunerBuilder { locks, settings, tells }: TunerBuilder) -> Self {
        let now = Instant::now();
        let progress = WindowProgress { samples: 0, began: now, last: now, asking: 0 };
        let (window, judge, gauges, noticed) = Default::default();
        Self { locks, settings, tells, window, judge, gauges, progress, claim: Arc::new(()), noticed }
    }
}

impl TunerBuilder {
    /// Sets whether it changes anything, and the bounds that it keeps: [`Config::tuner`](leasehold::Config). Default:
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
        self.settings.check()?;
        Ok(Context::new().run(Tuner::new(self)))
    }
}

impl Actor for Tuner {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // An actor that `main` has started last is started by actix when the runtime has ended, and a timer would panic.
        if self.settings.enabled && Handle::try_current().is_ok() {
            ctx.run_interval(self.settings.window / SAMPLES, Self::observe);
        }
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        let home = self.judge.as_ref().and_then(Judge::way_home).filter(|_| !self.settings.dry_run);
        if let Some(home) = home {
            self.locks.do_send(home);
        }
    }
}

impl Tuner {
    /// Asks the manager who waits, and at the end of a window for all else.
    fn observe(&mut self, ctx: &mut Context<Self>) {
        if !self.locks.connected() {
            return ctx.stop();
        }
        // A manager that is late is not asked once more meanwhile. What it says before it has made a change is no wish.
        if self.progress.asking > 0 {
            return;
        }
        self.progress.asking = 1;
        let claim = (!self.settings.dry_run).then(|| Arc::clone(&self.claim));
        let (sample, ends) = (self.locks.send(Sample(claim)), self.progress.samples + 1 >= SAMPLES);
        let load = ends.then(|| self.locks.send(AskLoad));
        let answers = async move {
            let sampled = sample.await.ok();
            let Some(load) = load else { return (sampled, None) };
            (sampled, Some(load.await.ok()))
        };
        let answered = answers.into_actor(self).map(|(sampled, load), this, ctx| {
            this.progress.asking -= 1;
            match sampled {
                Some(Some(sampled)) => this.sampled(&sampled),
                Some(None) => return this.is_not_the_only_one(),
                // A manager that was started again has no answer to what it died over.
                None => return,
            }
            if let Some(load) = load {
                this.close(load, ctx);
            }
        });
        ctx.spawn(answered);
    }

    fn is_not_the_only_one(&mut self) {
        if !mem::replace(&mut self.noticed.other, true) {
            tracing::warn!(
                "another tuner changes the settings of this manager; this one waits until it has ended"
            );
        }
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
        } else if !judge.is_home(sampled.tuning) {
            *judge = Judge::new(bounds.clone(), sampled.tuning);
        }
    }

    /// Ends a window, and carries out what follows from it.
    fn close(
        &mut self,
        answer: Option<(Result<Vec<ServerLoad>, StoreError>, Duration)>,
        ctx: &mut Context<Self>,
    ) {
        let now = Instant::now();
        let lasted = now - mem::replace(&mut self.progress.began, now);
        self.progress.samples = 0;
        let (load, latency) = answer.map_or((None, None), |(load, took)| self.load(load, took));
        let figures = self.window.close(lasted, load, latency);
        let figures = WindowFigures { gauges: mem::take(&mut self.gauges), ..figures };
        let decisions = self.judge.as_mut().map(|judge| judge.judge(&figures)).unwrap_or_default();
        decisions.into_iter().for_each(|decision| self.carry_out(decision, ctx));
    }

    /// Returns the load of each server, and the time that it took to answer, as far as they are known.
    fn load(
        &mut self,
        load: Result<Vec<ServerLoad>, StoreError>,
        took: Duration,
    ) -> (Option<Vec<ServerLoad>>, Option<Duration>) {
        let error = match load {
            Ok(load) => return (Some(load), Some(took)),
            Err(error) => error,
        };
        if !mem::replace(&mut self.noticed.no_load, true) {
            tracing::warn!(%error, "the server does not tell its load");
        }
        // It refused, or gave no answer for so long. Other errors may come from this side of the connection, in no time.
        let took = matches!(error, StoreError::Denied { .. } | StoreError::TimedOut { .. }).then_some(took);
        (None, took)
    }

    fn carry_out(&mut self, decision: TunerEvent, ctx: &mut Context<Self>) {
        if self.settings.dry_run {
            return self.tell(decision);
        }
        self.progress.asking += 1;
        // A fresh address reaches also a mailbox that is full. So the change is made before the way home, if the tuner ends meanwhile.
        let set = self.locks.clone().send(difference(decision.from, decision.to));
        let answered = set.into_actor(self).map(|answer, this, _| {
            this.progress.asking -= 1;
            match answer {
                Ok(Ok(before)) => {
                    if let Some(judge) = &mut this.judge {
                        judge.carried_out(&decision, before);
                    }
                    return this.tell(decision);
                }
                Ok(Err(error)) => tracing::warn!(%error, rule = %decision.rule, "a change was refused"),
                Err(error) => tracing::warn!(%error, rule = %decision.rule, "a change was lost"),
            }
            if let Some(judge) = &mut this.judge {
                judge.refused(&decision);
            }
        });
        ctx.spawn(answered);
    }

    fn tell(&self, event: TunerEvent) {
        let TunerEvent { rule, reason, from, to, dry_run } = &event;
        tracing::info!(%rule, reason, ?from, ?to, dry_run, "the load has changed");
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

impl Handler<TellChanges> for Tuner {
    type Result = ();

    fn handle(&mut self, TellChanges(recipient): TellChanges, _: &mut Self::Context) {
        self.tells.push(recipient);
    }
}

impl Handler<StopTuner> for Tuner {
    type Result = ();

    fn handle(&mut self, _: StopTuner, ctx: &mut Self::Context) {
        ctx.stop();
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
