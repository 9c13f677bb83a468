//! The progress of a wait and of a lease, told while it happens.

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, WrapFuture};
use leasehold::{Holder, Inspect, LeaseChange, LeaseEvent, LockManager, ResourceName};

use super::voice::{Voice, shown};

/// The number of holders that are named.
const NAMED: usize = 3;

/// The listener to the events of a request and of its lease.
pub(super) struct Progress {
    name: ResourceName,
    locks: Addr<LockManager>,
    voice: Voice,
    /// True if the holders have been named.
    named: bool,
}

impl Progress {
    pub(super) const fn new(name: ResourceName, locks: Addr<LockManager>, voice: Voice) -> Self {
        Self { name, locks, voice, named: false }
    }

    /// Names those who hold what is waited for.
    fn name_holders(&mut self, context: &mut Context<Self>) {
        let asked = self.locks.send(Inspect::new(self.name.as_bytes()).limit(NAMED));
        let told = asked.into_actor(self).map(|answer, this, _| match answer {
            Ok(Ok(found)) => {
                let named: Vec<_> = found.holders.iter().map(described).collect();
                if !named.is_empty() {
                    this.voice.tell(format_args!("{} is held by {}", this.name, named.join(", ")));
                }
            }
            Ok(Err(error)) => this.voice.tell(format_args!("cannot see who holds it: {error}")),
            Err(error) => this.voice.tell(format_args!("cannot see who holds it: {error}")),
        });
        context.spawn(told);
    }
}

impl Actor for Progress {
    type Context = Context<Self>;
}

impl Handler<LeaseEvent> for Progress {
    type Result = ();

    fn handle(&mut self, event: LeaseEvent, context: &mut Self::Context) {
        match event.change {
            LeaseChange::Queued { ahead, expected_wait } => {
                let expected =
                    expected_wait.map_or_else(String::new, |it| format!(", for about {}", shown(it)));
                let waiting = format!("waiting for {}, with {ahead} ahead{expected}", self.name);
                self.voice.tell(&waiting);
                self.voice.status(&waiting);
                if self.voice.is_verbose() && !self.named {
                    self.named = true;
                    self.name_holders(context);
                }
            }
            LeaseChange::AtRisk => self.voice.tell("a renewal was missed, and is tried again"),
            LeaseChange::Lost(reason) => self.voice.tell(format_args!("the lease is lost: {reason}")),
            // The others are told where they are acted upon.
            _ => {}
        }
    }
}

/// Describes a holder by its owner or token, and by what it reported.
fn described(holder: &Holder) -> String {
    let who = holder.owner.as_ref().map_or_else(|| holder.token.to_string(), ToString::to_string);
    let known =
        ["purpose", "host", "pid"].map(|key| holder.metadata.get(key).map(|it| format!("{key} {it}")));
    let known: Vec<_> = known.into_iter().flatten().collect();
    let left = shown(holder.remaining);
    format!("{who} ({}, {left} left unless it renews)", known.join(", "))
}
