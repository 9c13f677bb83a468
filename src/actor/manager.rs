//! The lock manager: the one actor that owns the store, and answers everybody who wants a lock.
//!
//! It never awaits the store in its own context: every operation runs in a task of its own and comes back as a
//! message. So it serves thousands of waiters, and a store that hangs holds nobody else up.

use std::{collections::HashMap, sync::Arc};

use crate::{
    actor::{
        AcquireError, Lease, Request, Settings,
        give_back::{Executed, Giver},
        plan::Plan,
        renewer::keep,
        reply::{Later, ReplyTo},
        shutdown::Progress,
        state::LeaseState,
        stats::{Recorder, RequestEnd},
        waiters::{Waiter, Waiters},
    },
    protocol::{Moment, Token},
    store::{Hold, Metadata, Store},
    world::{Clock, Dice},
};
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, Supervised};

/// The lock manager. Make one with [`LockManager::builder`] and share its address.
pub struct LockManager {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dice: Arc<dyn Dice>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) stats: Arc<Recorder>,
    /// What every holder of this manager tells about itself.
    pub(crate) about: Metadata,
    pub(crate) waiters: Waiters,
    pub(crate) leases: HashMap<Token, Arc<LeaseState>>,
    pub(crate) shutdown: Progress,
}

impl Actor for LockManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.add_stream(self.waiters.wakes());
    }
}

impl Supervised for LockManager {
    /// After a crash: leases that are valid go on (their keepers live in tasks of their own); callers that were
    /// pending are told, and what they may have been granted is given back.
    fn restarting(&mut self, _: &mut Self::Context) {
        for token in self.waiters.tokens() {
            self.refuse(token, RequestEnd::Failed("restarted"), AcquireError::Restarted);
        }
    }
}

impl<Kind: 'static> Handler<Request<Kind>> for LockManager {
    type Result = Later<Result<Lease, AcquireError>>;

    fn handle(&mut self, request: Request<Kind>, ctx: &mut Self::Context) -> Self::Result {
        let (reply, later) = ReplyTo::new();
        let token = self.dice.token();
        self.stats.requested();
        match self.admit(request, token) {
            Ok(plan) => {
                let wait = plan.wait;
                self.waiters.insert(token, Waiter::new(plan, reply, self.clock.now()));
                self.attempt(token, ctx);
                if !wait.is_zero() {
                    // The end of the wait, and the end of its caller, stand during the first attempt too.
                    self.waiters.wake_after(token, wait);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a request was refused");
                self.stats.ended(RequestEnd::Failed(error.kind()));
                drop(reply.send(Err(error)));
            }
        }
        later
    }
}

impl LockManager {
    fn admit<Kind>(&self, request: Request<Kind>, token: Token) -> Result<Plan, AcquireError> {
        if self.shutdown.has_begun() {
            return Err(AcquireError::ShuttingDown);
        }
        let plan = Plan::check(request, token, &self.settings, &self.about)?;
        match self.waiters.len() {
            pending if pending >= self.settings.max_pending => Err(AcquireError::Busy { pending }),
            _ => Ok(plan),
        }
    }

    /// Starts what keeps a lease: its renewer, its end, its owner.
    pub(crate) fn start_keeper(
        &self,
        state: Arc<LeaseState>,
        bound_to: Option<super::request::LifeSign>,
        manager: Addr<Self>,
    ) {
        let (dice, settings) = (Arc::clone(&self.dice), Arc::clone(&self.settings));
        actix_rt::spawn(async move {
            let token = state.hold.token;
            keep(state, manager.clone(), dice, settings, bound_to).await;
            manager.do_send(LeaseOver { token });
        });
    }

    /// Takes a lease that is over out of the table.
    pub(crate) fn forget(&mut self, token: Token) -> Option<Arc<LeaseState>> {
        let lease = self.leases.remove(&token);
        self.shutdown.held(self.leases.len());
        lease
    }

    pub(crate) fn give_back(&self, hold: Hold, executed: Executed, end: Moment) {
        actix_rt::spawn(self.giver().give_back(hold, self.clock.now(), executed, end));
    }

    pub(crate) fn giver(&self) -> Giver {
        let (store, clock, stats) =
            (Arc::clone(&self.store), Arc::clone(&self.clock), Arc::clone(&self.stats));
        Giver { store, clock, stats, _errand: self.shutdown.errand() }
    }
}

/// The keeper of a lease has seen its end.
#[derive(Message)]
#[rtype(result = "()")]
struct LeaseOver {
    token: Token,
}

impl Handler<LeaseOver> for LockManager {
    type Result = ();

    fn handle(&mut self, over: LeaseOver, _: &mut Self::Context) {
        self.forget(over.token);
    }
}
