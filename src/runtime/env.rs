//! The two inputs from outside: time and randomness.
//!
//! In virtual time hours pass in milliseconds:
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! use leasehold::{Acquire, LockManager, MemoryStore, env::RuntimeClock};
//!
//! let paused = || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
//! actix::System::with_tokio_rt(paused).block_on(async {
//!     let clock = Arc::new(RuntimeClock::start());
//!     let store = Arc::new(MemoryStore::new(clock.clone()));
//!     let locks = LockManager::builder(store).clock(clock).start_here().unwrap();
//!     let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
//!     tokio::time::sleep(Duration::from_secs(3600)).await;
//!     assert!(lease.is_valid(), "renewed for an hour");
//! });
//! ```

use std::{fmt, time::Duration};

pub use crate::core::Moment;
use crate::core::Token;

/// The clock of this process.
///
/// It must never go back, should go on while the machine is suspended, and must run at the same rate as the timers of the runtime.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the present moment. It must not block, and must not use the library: it is called under locks.
    fn now(&self) -> Moment;
}

/// `CLOCK_BOOTTIME`: the time since the machine started, including suspended time. On systems other than Linux
/// it is [`std::time::Instant`].
///
/// [`std::time::Instant`] reads `CLOCK_MONOTONIC` on Linux, which stops while the machine is suspended. A laptop that
/// wakes up would believe in a lease that ended long ago.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[cfg(target_os = "linux")]
    fn now(&self) -> Moment {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // The kernel counts both from zero, and keeps nanoseconds below a second.
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
        Moment::since_origin(Duration::new(seconds, nanos))
    }

    #[cfg(not(target_os = "linux"))]
    fn now(&self) -> Moment {
        use std::{sync::OnceLock, time::Instant};
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        Moment::since_origin(ORIGIN.get_or_init(Instant::now).elapsed())
    }
}

/// The clock of the tokio runtime in which it is read. With `tokio::time::pause` it stops and jumps.
///
/// Meant for tests in virtual time. The manager and the store must then run in that same runtime.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeClock {
    origin: tokio::time::Instant,
}

impl RuntimeClock {
    /// Creates a clock that starts now. Must be called inside a tokio runtime.
    pub fn start() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Moment {
        // An origin of one hour leaves room for subtractions near the start.
        Moment::since_origin(Duration::from_secs(3600) + self.origin.elapsed())
    }
}

/// The purpose of a random draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Draw {
    /// The pause of a caller before its next attempt.
    Attempt,
    /// The jitter of the pause after a renewal, should that be missed. It is drawn for each renewal of a lease, before it is sent.
    Renewal,
    /// The pause of a supervisor before it restarts a crashed actor.
    Restart,
}

/// A source of tokens and random numbers.
pub trait Random: fmt::Debug + Send + Sync + 'static {
    /// Returns a random number in `0.0..1.0`.
    fn draw(&self, purpose: Draw) -> f64;

    /// Returns a token that is unique and cannot be guessed: 128 random bits, of which a UUID v4 gives 122.
    fn token(&self) -> Token;
}

/// Random numbers that cannot be guessed, from [`uuid`]. The operating system seeds their generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn draw(&self, _: Draw) -> f64 {
        // The low 53 bits of a UUID v4 are all random, and a double holds 53 bits exactly.
        const BITS: u32 = 53;
        let random = uuid::Uuid::new_v4().as_u128() & ((1 << BITS) - 1);
        random as f64 / (1_u64 << BITS) as f64
    }

    fn token(&self) -> Token {
        Token::from_bits(uuid::Uuid::new_v4().as_u128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_moves_forward() {
        let before = SystemClock.now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(SystemClock.now() > before);
    }

    #[test]
    fn draws_lie_between_zero_and_one_and_differ() {
        let draws: Vec<f64> = (0..1_000).map(|_| SystemRandom.draw(Draw::Attempt)).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let mean = draws.iter().sum::<f64>() / 1_000.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
    }
}
