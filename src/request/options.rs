//! The options of a request, as the methods that set them.

use std::{borrow::Cow, sync::Arc, time::Duration};

use actix::{Actor, Addr, Recipient};

use crate::{
    core::{Backoff, Pauses},
    lease::LeaseEvent,
    request::{Request, Wait},
};

/// The key of a holder's metadata that says what it holds the resource for, if that is an election or a schedule.
pub(crate) const ROLE: &str = "role";

impl<Kind, Names> Request<Kind, Names> {
    /// Sets the owner, 1 to 512 bytes of text. The same owner may take an exclusive lock again and again, and
    /// releases each hold by itself. Default: none.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.options.owner = Some(owner.into());
        self
    }

    /// Sets the TTL: the time for which the store keeps the lease unless it is renewed. At least 50 ms. Default: `lease.ttl`, 30 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = Some(ttl);
        self
    }

    /// Sets the time to wait while others hold the resource, or while the store cannot be reached. Zero is a try: one
    /// attempt. Default: `wait.timeout`, zero; with [`attempts`](Self::attempts) as long as these take.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = Some(Wait::AtMost(wait));
        self
    }

    /// Waits without end, until the lease is granted or the caller gives up by dropping the future of `send`. `limits.max_wait`
    /// does not bound it, but a limited number of [`attempts`](Self::attempts) does. The store may be unreachable all the while.
    pub fn wait_forever(mut self) -> Self {
        self.options.wait = Some(Wait::Forever);
        self
    }

    /// Sets whether the request gives up at once when it is not likely to be served within its [wait](Self::wait): when
    /// its expected wait is longer. The answer is [`AcquireError::Held`](crate::AcquireError::Held) with that
    /// [`expected_wait`](crate::AcquireError::Held::expected_wait), and its place in the queue is free. It is decided when
    /// the request begins to wait and with each of its attempts. One that waits behind others of its manager makes none, and
    /// is not looked at again when more becomes known. Where nothing is known of the resource, the request waits as usual.
    /// So does a reader, and whoever waits where there are readers. A request without an end of its wait, by
    /// [`wait_forever`](Self::wait_forever) or by [`attempts`](Self::attempts) alone, does not give up early. Default:
    /// `wait.give_up_early`, no.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use leasehold::{Acquire, AcquireError, LockManager, MemoryStore};
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
    /// match locks.send(Acquire::new("seats/17").wait(Duration::from_secs(2)).give_up_early(true)).await? {
    ///     Ok(lease) => drop(lease),
    ///     Err(AcquireError::Held { expected_wait: Some(wait), .. }) => println!("come back in {wait:?}"),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn give_up_early(mut self, yes: bool) -> Self {
        self.options.give_up_early = Some(yes);
        self
    }

    /// Sets the pauses between attempts. Default: `backoff`, 100 ms doubled up to 1 s.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.pauses = Some(backoff.into());
        self
    }

    /// Sets the pauses between attempts by a function, instead of a [`Backoff`]. It is called after each attempt that was
    /// not granted, with the number of attempts made (1 after the first) and a random number in `0.0..1.0`, as
    /// [`Backoff::pause`] is. `None` means that there are no further attempts. The last call of this and of
    /// [`backoff`](Self::backoff) counts. Default: none.
    ///
    /// # Bounds
    /// Whatever it returns, a pause takes 5 ms to 1 h, and ends with the wait. It ends earlier when the holder's TTL does,
    /// and when the store notifies the waiter that it is its turn. The request makes all attempts itself: it does not rely on
    /// another waiter of its manager. Without a [`wait`](Self::wait) the request waits for as
    /// long as there are pauses, and at most `limits.max_wait`. Of an [`AcquireAll`](crate::AcquireAll) the function is asked
    /// once after the try of all, without a pause; then each resource is a request, and the counting begins again.
    ///
    /// The function runs in the manager's thread, which serves all requests: it must not block. If it panics, the pause is
    /// that of [`Backoff::DEFAULT`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use leasehold::Acquire;
    /// // 20 ms, 40 ms, 60 ms, … of which a half is random; ten attempts in all.
    /// let linear = |made: u32, draw: f64| {
    ///     (made < 10).then(|| Duration::from_millis(20) * made).map(|pause| pause.mul_f64(0.5 + draw / 2.0))
    /// };
    /// let ask = Acquire::new("r").backoff_by(linear);
    /// # let _ = ask;
    /// ```
    pub fn backoff_by(
        mut self,
        pause: impl Fn(u32, f64) -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        self.options.pauses = Some(Pauses::by(pause));
        self
    }

    /// Sets the maximum number of attempts, the first included. Default: as many as the wait allows.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.options.attempts = Some(attempts);
        self
    }

    /// Turns off automatic renewal: the lease ends with its TTL, or with the TTL after the last call of
    /// [`Lease::renew`](crate::Lease::renew).
    pub fn no_renew(mut self) -> Self {
        self.options.no_renew = true;
        self
    }

    /// Sets the interval between renewals; less than half of the TTL. Default: a third of the TTL (in the proportion
    /// of `lease.renewal_interval` to `lease.ttl`).
    pub fn renew_every(mut self, interval: Duration) -> Self {
        self.options.renew_every = Some(interval);
        self
    }

    /// Sets the maximum number of renewals, after which the lease runs out. Default: without end.
    pub fn max_renewals(mut self, renewals: u32) -> Self {
        self.options.max_renewals = Some(renewals);
        self
    }

    /// Sets the maximum time for which the lease is held, renewals included. Then it is lost to its holder, and the
    /// resource opens within one TTL. Default: without end.
    pub fn max_hold(mut self, hold: Duration) -> Self {
        self.options.max_hold = Some(hold);
        self
    }

    /// Sets a minimum hold: a release before this time only shortens what is left, so that the resource opens this
    /// long after the grant at the earliest. If the lease is lost, the resource opens with its TTL, or when its
    /// holder drops it. If the lease was never handed to the caller, because the caller had gone or another part of
    /// its set was not granted, the resource opens at once. Default: zero.
    pub fn min_hold(mut self, hold: Duration) -> Self {
        self.options.min_hold = hold;
        self
    }

    /// Sets the extra time that the resource stays closed if the lease *expires* instead of being released: time to
    /// stop for a holder that died, or was cut off. A lease that was lost does not open earlier by being dropped or
    /// released afterwards. Default: zero.
    pub fn lock_delay(mut self, delay: Duration) -> Self {
        self.options.lock_delay = delay;
        self
    }

    /// Requires a heartbeat: the lease is renewed only while the worker calls
    /// [`Lease::heartbeat`](crate::Lease::heartbeat) at least this often, which proves that it makes progress. A silent
    /// worker loses the lease at most one TTL after the last renewal that was still allowed. Default: no heartbeat is required.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.options.heartbeat = Some(every);
        self
    }

    /// Binds the lease to this actor: it is released when the actor dies, however it dies. This is checked ten times a second.
    pub fn bound_to<A: Actor>(mut self, actor: &Addr<A>) -> Self {
        let actor = actor.downgrade();
        self.options.bound_to =
            Some(Arc::new(move || actor.upgrade().is_some_and(|actor| actor.connected())));
        self
    }

    /// Sets the listener for the events of the lease.
    pub fn events(mut self, listener: Recipient<LeaseEvent>) -> Self {
        self.options.events = Some(listener);
        self
    }

    /// Sets the purpose of the lease, in a few words. It is shown by `Inspect` and to callers that are refused.
    pub fn purpose(self, purpose: impl Into<String>) -> Self {
        self.metadata("purpose", purpose)
    }

    /// Sets the class of the request, 1 to 64 of `A-Z a-z 0-9 _ . : -`, under which it is counted in
    /// [`Statistics::classes`](crate::Statistics::classes) and in metrics. Name a kind of work, as `"payments"`, and nothing
    /// that is made of a resource: a manager keeps 64 classes, and counts what comes later as `other`. That name and `none`, which
    /// stands for no class in metrics, are refused. Default: none.
    pub fn class(mut self, class: impl Into<Cow<'static, str>>) -> Self {
        self.options.class = Some(class.into());
        self
    }

    /// Adds metadata about the holder, a trace id for instance. Host and process id are reported anyway. All keys and
    /// values together have at most 1,024 bytes.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.metadata.insert(key.into(), value.into());
        self
    }
}
