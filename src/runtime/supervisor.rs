//! A supervisor that keeps an actor alive: a panic, or a stop that nobody asked for, restarts it.
//!
//! [`actix::Supervisor`] does not survive a panic. This one polls the actor's context inside `catch_unwind` and
//! restarts it, so the mailbox, its queued messages and every `Addr` survive. A program built with `panic = "abort"`
//! has no supervision: there a panic ends the process, and leases end with their TTL.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use actix::{Actor, Context, Supervised, dev::ContextFut};
use futures_util::FutureExt;

/// The pause before a restart if choosing the pause panics itself.
const AFTER_A_PANIC_IN_DIED: Duration = Duration::from_secs(1);

/// The cause of an actor's death.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// A panic in a handler, a timer, or a future of its context.
    Panicked(String),
    /// A stop that nobody asked for.
    Stopped,
}

/// Runs an actor until it stops after `is_done` has become true. After every other death the actor is restarted, with
/// the pause that `died` returns. The value of the actor survives; its timers and futures do not.
#[expect(clippy::manual_async_fn, reason = "the future of an `async fn` has room for its arguments twice")]
pub(crate) fn supervise<A>(
    // Boxed: it would be copied into every future around this one.
    mut context: Box<ContextFut<A, Context<A>>>,
    is_done: impl Fn() -> bool,
    mut died: impl FnMut(Death) -> Duration,
) -> impl Future<Output = ()>
where
    A: Actor<Context = Context<A>> + Supervised,
{
    async move {
        loop {
            // After a panic the actor's fields may be half changed. `Supervised::restarting` is where it repairs them.
            let death = match AssertUnwindSafe(&mut *context).catch_unwind().await {
                Ok(()) => Death::Stopped,
                Err(panic) => Death::Panicked(message_of(panic.as_ref())),
            };
            if is_done() {
                return;
            }
            let mut next = Err(death);
            // A panic in `restarting` is one more death: what it repairs is repaired only when it has returned.
            while let Err(death) = next {
                let pause = caught(|| died(death));
                // Boxed: it would take room for as long as the actor lives.
                Box::pin(tokio::time::sleep(pause.unwrap_or(AFTER_A_PANIC_IN_DIED))).await;
                if is_done() {
                    return;
                }
                // A context of which nobody has an address would not be restarted.
                let _address = context.address();
                next = caught(|| context.restart()).map_err(Death::Panicked);
            }
            if next == Ok(false) {
                return;
            }
        }
    }
}

/// Calls a function, and returns the message of its panic as the error.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message_of(panic.as_ref()))
}

pub(crate) fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use actix::{ActorContext, AsyncContext, Handler, Message, WrapFuture};

    use super::*;
    use crate::core::Doubling;

    /// The way in which a [`Mortal`] is to die.
    #[derive(Clone, Copy, Message, PartialEq)]
    #[rtype(result = "()")]
    enum Die {
        InHandler,
        InTimer,
        InSpawnedFuture,
        InWait,
        WhileStarting,
        WhileRestarting,
        ByStopping,
        ByTerminating,
    }

    #[derive(Message)]
    #[rtype(result = "u32")]
    struct Lives;

    #[derive(Default)]
    struct Mortal {
        lives: u32,
        dies: Option<Die>,
        restarts: u32,
    }

    impl Actor for Mortal {
        type Context = Context<Self>;

        fn started(&mut self, _: &mut Self::Context) {
            assert!(self.dies.take_if(|die| *die == Die::WhileStarting).is_none(), "while starting");
            self.lives += 1;
        }
    }

    impl Supervised for Mortal {
        fn restarting(&mut self, _: &mut Self::Context) {
            assert!(self.dies.take_if(|die| *die == Die::WhileRestarting).is_none(), "while restarting");
            self.restarts += 1;
        }
    }

    impl Handler<Die> for Mortal {
        type Result = ();

        fn handle(&mut self, die: Die, ctx: &mut Self::Context) {
            self.dies = Some(die);
            match die {
                Die::InHandler => panic!("in a handler"),
                Die::InTimer => drop(ctx.run_later(Duration::from_millis(5), |_, _| panic!("in a timer"))),
                Die::InSpawnedFuture => drop(ctx.spawn(async { panic!("in a future") }.into_actor(self))),
                Die::InWait => ctx.wait(async { panic!("in a wait") }.into_actor(self)),
                Die::WhileStarting | Die::WhileRestarting | Die::ByStopping => ctx.stop(),
                Die::ByTerminating => ctx.terminate(),
            }
        }
    }

    impl Handler<Lives> for Mortal {
        type Result = u32;

        fn handle(&mut self, _: Lives, _: &mut Self::Context) -> u32 {
            assert!(self.restarts + 1 >= self.lives, "nothing is restarted that was not repaired");
            self.lives
        }
    }

    /// Lets an actor die once. Returns the deaths, and the number of its lives when it answered again.
    fn dies(die: Die) -> (Vec<Death>, u32) {
        let runtime =
            || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        actix::System::with_tokio_rt(runtime).block_on(async {
            let deaths = Rc::new(RefCell::new(Vec::new()));
            let context = Context::new();
            let address = context.address();
            let mut pacing = Doubling::new(Duration::from_millis(10), Duration::from_secs(1));
            let seen = Rc::clone(&deaths);
            let died = move |death| {
                seen.borrow_mut().push(death);
                pacing.next()
            };
            actix_rt::spawn(supervise(Box::new(context.into_future(Mortal::default())), || false, died));
            address.do_send(die);
            while deaths.borrow().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Queued before the restart: the mailbox survives, and so does every address.
            let lives = address.send(Lives).await.unwrap();
            (deaths.take(), lives)
        })
    }

    #[test]
    fn every_panic_and_every_stop_that_nobody_asked_for_is_survived() {
        let panicked = |message: &str| Death::Panicked(message.to_owned());
        for (die, deaths) in [
            (Die::InHandler, vec![panicked("in a handler")]),
            (Die::InTimer, vec![panicked("in a timer")]),
            (Die::InSpawnedFuture, vec![panicked("in a future")]),
            (Die::InWait, vec![panicked("in a wait")]),
            (Die::WhileStarting, vec![Death::Stopped, panicked("while starting")]),
            // One more death, after which the restart is made again.
            (Die::WhileRestarting, vec![Death::Stopped, panicked("while restarting")]),
            (Die::ByStopping, vec![Death::Stopped]),
            (Die::ByTerminating, vec![Death::Stopped]),
        ] {
            assert_eq!(dies(die), (deaths, 2));
        }
    }
}
