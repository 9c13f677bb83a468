//! Servers that are slow for a time: they are stopped, and go on, again and again.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{JoinHandle, spawn},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::laboratory::workload::SlowServer;

/// The work of a call on a server that is not slow.
const WORK: Duration = Duration::from_micros(16);
/// The bounds of the time for which a server goes on between two stops.
const RUNS: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(4)];
/// The lengths of stops as shares of their mean. Holders that come back in step with them would always wait as long.
const SHARES: [f64; 5] = [1.0, 0.6, 1.3, 0.8, 1.3];

/// The slowness of servers. They go on when this is dropped.
pub(super) struct Slowness {
    /// Nothing is sent: that it is gone is the end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The processes of servers, which go on when this is dropped.
struct Stopped(Vec<Pid>);

impl Slowness {
    /// Makes these servers slow from `slow.from` on, counted from now.
    pub(super) fn begin(servers: Vec<Pid>, slow: SlowServer) -> Self {
        let began = Instant::now();
        let (end, ended) = channel();
        let thread = spawn(move || be_slow(&Stopped(servers), &slow, began, &ended));
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Slowness {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // It does not panic, and has let the servers go on in any case.
            let _ = thread.join();
        }
    }
}

/// Stops and continues servers until the end, so that a call waits for `factor` times the work of a usual one in the mean.
fn be_slow(servers: &Stopped, slow: &SlowServer, began: Instant, ended: &Receiver<()>) {
    // A call comes at any time of a stop: its mean wait is the half of that.
    let stop = WORK.mul_f64(slow.factor) * 2;
    let run = (stop / 20).clamp(RUNS[0], RUNS[1]);
    if !wait(ended, slow.from.saturating_sub(began.elapsed())) {
        return;
    }
    for share in SHARES.iter().cycle() {
        let left = slow.until.saturating_sub(began.elapsed());
        if left.is_zero() {
            return;
        }
        servers.signal(Signal::STOP);
        let goes_on = wait(ended, stop.mul_f64(*share).min(left));
        servers.signal(Signal::CONT);
        if !goes_on || !wait(ended, run) {
            return;
        }
    }
}

/// Waits for so long. Returns false if it is the end.
fn wait(ended: &Receiver<()>, time: Duration) -> bool {
    ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}

impl Stopped {
    fn signal(&self, signal: Signal) {
        for server in &self.0 {
            // One that has ended is missed by its callers, who say so.
            let _ = kill_process(*server, signal);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        process::{Child, Command},
        thread::sleep,
    };

    use super::*;

    /// A process in place of a server, which ends with the test.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            Self(Command::new("sleep").arg("1000").spawn().unwrap())
        }

        fn be_slow(&self, until: Duration) -> Slowness {
            let slow = SlowServer { from: Duration::ZERO, until, factor: 10_000.0 };
            Slowness::begin(vec![Pid::from_child(&self.0)], slow)
        }

        /// Returns true if the system says that it is stopped.
        fn is_stopped(&self) -> bool {
            let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
            stat.rsplit(") ").next().unwrap().starts_with('T')
        }

        /// Waits until it is stopped or not, whichever is asked for.
        fn until_stopped(&self, stopped: bool) {
            until(&format!("is it stopped? it should be: {stopped}"), || self.is_stopped() == stopped);
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn until(what: &str, is_so: impl Fn() -> bool) {
        let give_up = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < give_up, "{what}");
            sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_slow_server_is_stopped_and_goes_on_again_and_again_and_in_the_end() {
        let server = Sleeper::start();
        let slowness = server.be_slow(Duration::from_secs(3_600));
        for _ in 0..3 {
            server.until_stopped(true);
            server.until_stopped(false);
        }
        server.until_stopped(true);
        drop(slowness);
        server.until_stopped(false);
    }

    #[test]
    fn a_slow_server_goes_on_when_its_time_is_over() {
        let server = Sleeper::start();
        let slowness = server.be_slow(Duration::from_millis(50));
        until("the slowness ends", || slowness.thread.as_ref().unwrap().is_finished());
        server.until_stopped(false);
    }
}
