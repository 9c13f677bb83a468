//! Clocks: that of the system, and that of a tokio runtime.

use std::{fmt, time::Duration};

use crate::core::Moment;

/// The clock of this process.
///
/// It must never go back, should go on while the machine is suspended, and must run at the same rate as the timers of
/// the runtime.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the present moment. Must not block.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_moves_forward() {
        let before = SystemClock.now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(SystemClock.now() > before);
    }
}
