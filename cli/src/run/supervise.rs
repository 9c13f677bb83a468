//! The time in which the command runs: signals are passed on, the lease is watched, and the command ends before it does.

use std::{
    io,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt, StreamExt, stream};
use leasehold::{Lease, LossReason, RevokeRequested};
use rustix::process::Signal;

use super::{
    child::{Child, Status},
    ending::{Act, Ending},
    signals::Signals,
    terminal::{Terminal, stop_this_job},
    voice::{Voice, shown},
};

/// The longest time between two looks at the lease. Timers stand still while a machine sleeps, and its lease does not.
const TICK: Duration = Duration::from_secs(1);

/// The time between two looks at what the command left behind, of whose end nobody is told.
const LOOK: Duration = Duration::from_millis(10);

/// The time that what the command left behind has to finish by itself: the rest of a pipe, for instance.
const LINGER: Duration = Duration::from_millis(500);

/// The reason why a command was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Lost(LossReason),
    /// No renewal was confirmed, and there is just time to end the command.
    Unrenewed,
    /// Somebody wanted the lock back, and gave this reason.
    Revoked(Arc<str>),
}

/// The end of a command, and of all of its group.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: Status,
    /// `None` if the command ended without being told to by this process.
    pub(super) cause: Option<Cause>,
    /// True if the system did not let this process end it.
    pub(super) is_foreign: bool,
}

/// A command under its lease.
pub(super) struct Supervision<'a> {
    lease: &'a Lease,
    child: Child,
    signals: &'a mut Signals,
    terminal: Option<Terminal>,
    ending: Ending,
    voice: Voice,
    cause: Option<Cause>,
    /// True if the last signal that should end it was refused.
    is_foreign: bool,
    /// The moment at which the command itself had ended.
    ended_at: Option<Instant>,
}

impl<'a> Supervision<'a> {
    pub(super) fn new(
        lease: &'a Lease,
        child: Child,
        signals: &'a mut Signals,
        ending: Ending,
        voice: Voice,
    ) -> Self {
        let terminal = Terminal::open();
        Self {
            lease,
            child,
            signals,
            terminal,
            ending,
            voice,
            cause: None,
            is_foreign: false,
            ended_at: None,
        }
    }

    /// Watches the command until nothing of its group lives any more.
    pub(super) async fn watch(mut self) -> io::Result<Ended> {
        if self.terminal.as_ref().is_some_and(|terminal| terminal.interactive) {
            self.lend_terminal();
            // It may have asked too early, and was stopped for that.
            self.signal(Signal::CONT);
        }
        let watched = self.until_gone().await;
        if watched.is_err() {
            self.signal(Signal::KILL);
            // The lease must not go before the command.
            while self.child.lives() {
                tokio::time::sleep(LOOK).await;
            }
        }
        self.child.dismiss_guard();
        if let Some(terminal) = &self.terminal {
            self.warn("take the terminal back", terminal.take_back(self.child.group()));
        }
        watched.map(|status| Ended { status, cause: self.cause, is_foreign: self.is_foreign })
    }

    async fn until_gone(&mut self) -> io::Result<Status> {
        let lease = self.lease;
        let mut lost = pin!(lease.lost().fuse());
        let mut wanted = pin!(wanted_back(lease).fuse());
        loop {
            if let Some(signal) = self.child.reap()? {
                self.stopped_by(signal);
            }
            if let Some(status) = self.child.gone() {
                return Ok(status);
            }
            let pause = self.act();
            tokio::select! {
                biased;
                reason = &mut lost => self.ends_for(Cause::Lost(reason), Duration::ZERO),
                Some(request) = wanted.next() => {
                    self.ends_for(Cause::Revoked(Arc::clone(&request.reason)), request.grace);
                }
                signal = self.signals.next() => self.pass_on(signal),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Does what is due, and returns the time until there may be more.
    fn act(&mut self) -> Duration {
        let now = Instant::now();
        let left_behind = self.child.status().is_some();
        if left_behind && now.duration_since(*self.ended_at.get_or_insert(now)) >= LINGER {
            self.ending.begin(now, self.lease.remaining());
        }
        loop {
            let had_begun = self.ending.has_begun();
            let act = self.ending.next(now, self.lease.remaining());
            if !had_begun && self.ending.has_begun() {
                self.is_ended_for(Cause::Unrenewed);
            }
            match act {
                Act::Wait(pause) => return pause.min(if left_behind { LOOK } else { TICK }),
                Act::Term => {
                    self.end_by(Signal::TERM);
                    // One that is stopped would not notice.
                    self.signal(Signal::CONT);
                }
                Act::Kill => self.end_by(Signal::KILL),
            }
        }
    }

    /// Has the command end for this reason, within this time.
    fn ends_for(&mut self, cause: Cause, within: Duration) {
        self.is_ended_for(cause);
        self.ending.begin(Instant::now(), within);
    }

    fn is_ended_for(&mut self, cause: Cause) {
        self.voice.stopping();
        self.voice.tell(format_args!(
            "ending the command: {}; the lease is valid for another {}",
            match &cause {
                Cause::Lost(reason) => format!("the lease is lost, {reason}"),
                Cause::Unrenewed => "the lease could not be renewed".to_owned(),
                Cause::Revoked(reason) => format!("somebody wants the lock back, {reason}"),
            },
            shown(self.lease.remaining())
        ));
        // The command has ended by itself: what is ended is only what it left behind.
        if self.child.status().is_none() {
            self.cause.get_or_insert(cause);
        }
    }

    /// Passes a signal on: as a terminal would, to the whole group. The two of users mean something to the command alone, and
    /// would end others.
    fn pass_on(&mut self, signal: Signal) {
        match signal {
            Signal::CHILD => {}
            Signal::USR1 | Signal::USR2 => {
                let sent = self.child.signal_process(signal);
                self.warn("pass a signal on", sent);
            }
            Signal::CONT => self.resume(),
            signal => self.signal(signal),
        }
    }

    /// Continues the command, and lends it the terminal again. Not if the lease ran out while all were stopped: not one
    /// instruction more is run then.
    fn resume(&mut self) {
        if !self.lease.is_valid() {
            return;
        }
        if self.terminal.as_ref().is_some_and(|terminal| terminal.interactive) {
            self.lend_terminal();
        }
        self.signal(Signal::CONT);
    }

    /// Handles a stop of the command: at a terminal the whole job stops, so that its shell goes on. Elsewhere the command stays
    /// stopped until somebody continues it, and its lease is renewed.
    fn stopped_by(&mut self, signal: i32) {
        let Some(terminal) = &self.terminal else { return };
        let asks = [Signal::TTIN, Signal::TTOU].iter().any(|it| it.as_raw() == signal);
        if asks && self.lend_terminal() {
            return self.signal(Signal::CONT);
        }
        if !asks && signal != Signal::TSTP.as_raw() {
            return;
        }
        self.warn("take the terminal back", terminal.take_back(self.child.group()));
        if !stop_this_job() && !asks {
            // Nobody is there who would continue it.
            self.resume();
        }
    }

    /// Returns true if the command has the terminal then.
    fn lend_terminal(&self) -> bool {
        let Some(terminal) = &self.terminal else { return false };
        let lent = terminal.lend(self.child.group());
        let has_it = matches!(lent, Ok(true));
        self.warn("lend the terminal to the command", lent.map(|_| ()));
        has_it
    }

    /// Sends a signal that ends the command. That it is refused is said once: KILL comes again and again.
    fn end_by(&mut self, signal: Signal) {
        let sent = self.child.signal(signal);
        let was_foreign = std::mem::replace(&mut self.is_foreign, sent.is_err());
        if !was_foreign {
            self.warn("end the command", sent);
        }
    }

    fn signal(&mut self, signal: Signal) {
        let sent = self.child.signal(signal);
        self.warn("send a signal to the command", sent);
    }

    fn warn(&self, doing: &str, done: io::Result<()>) {
        if let Err(error) = done {
            self.voice.say(format_args!("cannot {doing}: {error}"));
        }
    }
}

/// Yields the requests to give a lease back, each sooner than the one before.
fn wanted_back(lease: &Lease) -> impl stream::Stream<Item = RevokeRequested> {
    stream::unfold(None, move |known: Option<RevokeRequested>| async move {
        let request = match &known {
            None => lease.revoke_requested().await,
            Some(known) => lease.revoke_requested_sooner(known).await,
        }?;
        Some((request.clone(), Some(request)))
    })
}
