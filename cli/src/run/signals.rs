//! The signals that others send to `leasehold run`, as a stream.

use std::{
    fs,
    future::poll_fn,
    io,
    task::{Context, Poll},
};

use nix::sys::signal::{SigSet, Signal as Masked};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use super::terminal::stop_this_job;

/// The signals that are passed on to the command.
const PASSED_ON: [Signal; 9] = [
    Signal::TERM,
    Signal::INT,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
    Signal::TSTP,
    Signal::CONT,
];

/// The signals of this process, none of which ends it any more.
pub(super) struct Signals(Vec<(Signal, tokio::signal::unix::Signal)>);

impl Signals {
    /// Listens from now on. A signal that this process was started to ignore, by `nohup` for instance, stays ignored, also by
    /// the command. One that it was started to block would never come, to neither of them, and is unblocked: the threads of
    /// both have what this one has.
    pub(super) fn listen() -> io::Result<Self> {
        let all = PASSED_ON.into_iter().chain([Signal::CHILD]);
        let known = all.filter_map(|signal| Masked::try_from(signal.as_raw()).ok());
        known.collect::<SigSet>().thread_unblock()?;
        let ignored = fs::read_to_string("/proc/self/status").map_or(0, |status| ignored(&status));
        let heard = PASSED_ON.into_iter().filter(|signal| !contains(ignored, *signal));
        // Without it the kernel may drop the status of a child.
        let heard = heard.chain([Signal::CHILD]);
        let listen = |it: Signal| Ok((it, signal(SignalKind::from_raw(it.as_raw()))?));
        heard.map(listen).collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        // All are polled: each has to know whom to wake.
        for (signal, stream) in &mut self.0 {
            if stream.poll_recv(cx).is_ready() {
                return Poll::Ready(*signal);
            }
        }
        Poll::Pending
    }

    /// Waits for a signal that ends a process. Others have nobody to go to before the command runs.
    pub(super) async fn until_told_to_end(&mut self) -> Signal {
        loop {
            match self.next().await {
                Signal::TSTP => _ = stop_this_job(),
                signal @ (Signal::TERM | Signal::INT | Signal::HUP | Signal::QUIT) => return signal,
                _ => {}
            }
        }
    }
}

/// Reads the set of ignored signals from the status of a process. Empty where it is not told.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Returns true if a set has this signal.
fn contains(set: u64, signal: Signal) -> bool {
    set >> (signal.as_raw() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status_of_a_process() {
        let set = ignored("Name:\tsh\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000005\nSigCgt:\t0\n");
        assert!(contains(set, Signal::HUP) && contains(set, Signal::QUIT));
        assert!(!contains(set, Signal::INT) && !contains(set, Signal::TERM));
        assert_eq!(ignored("Name:\tsh"), 0);
    }
}
