//! Servers of our own that are slow for a time: they are stopped, and go on, again and again.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{JoinHandle, spawn},
    time::{Duration, Instant},
};

use leasehold_tuning::SlowServer;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// The work of a call on a server that is not slow.
const WORK: Duration = Duration::from_micros(16);
/// The bounds of the time for which a server goes on between two stops.
const RUNS: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(4)];
/// The lengths of stops as shares of their mean. Holders that come back in step with them would always wait as long.
const SHARES: [f64; 5] = [1.0, 0.6, 1.3, 0.8, 1.3];

/// The slowness of servers. They go on when this is dropped.
pub(crate) struct Slowness {
    /// Nothing is sent: that it is gone is the end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The processes of servers, which go on when this is dropped.
struct Stopped(Vec<Pid>);

impl Slowness {
    /// Makes these servers slow from `slow.from` on, counted from now.
    pub(crate) fn begin(servers: Vec<Pid>, slow: SlowServer) -> Self {
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
        servers.signal(Signal::SIGSTOP);
        let goes_on = wait(ended, stop.mul_f64(*share).min(left));
        servers.signal(Signal::SIGCONT);
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
            let _ = kill(*server, signal);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.signal(Signal::SIGCONT);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread::sleep};

    use leasehold_tuning::Workload;

    use super::*;
    use crate::tune::own_server::OwnServer;

    fn slow(until: &str) -> SlowServer {
        let text = format!(
            "duration = '1s'\narrivals = {{ kind = 'constant', rate = 1 }}\nhold = {{ kind = 'constant', time = '1ms' }}\n\
             slow_server = {{ from = '0s', until = '{until}', factor = 10000 }}"
        );
        Workload::from_toml(&text, &[]).unwrap().slow_server.unwrap()
    }

    /// Returns true if the system says that a process is stopped.
    fn is_stopped(server: &OwnServer) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", server.id())).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('T')
    }

    /// Waits until a server is stopped or not, whichever is asked for.
    fn until_stopped(server: &OwnServer, stopped: bool) {
        let give_up = Instant::now() + Duration::from_secs(20);
        while is_stopped(server) != stopped {
            assert!(Instant::now() < give_up, "is it stopped? it should be: {stopped}");
            sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_slow_server_is_stopped_and_goes_on_again_and_again_and_in_the_end() {
        let server = OwnServer::start().unwrap();
        let slowness = Slowness::begin(vec![server.id()], slow("1h"));
        for _ in 0..3 {
            until_stopped(&server, true);
            until_stopped(&server, false);
        }
        until_stopped(&server, true);
        drop(slowness);
        assert!(!is_stopped(&server) && server.answers());
    }

    #[test]
    fn a_slow_server_goes_on_when_its_time_is_over() {
        let server = OwnServer::start().unwrap();
        let slowness = Slowness::begin(vec![server.id()], slow("50ms"));
        let give_up = Instant::now() + Duration::from_secs(20);
        while !slowness.thread.as_ref().unwrap().is_finished() {
            assert!(Instant::now() < give_up);
            sleep(Duration::from_millis(1));
        }
        assert!(!is_stopped(&server) && server.answers());
    }
}
