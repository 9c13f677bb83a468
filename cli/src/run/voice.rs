//! The voice of `leasehold run`: sentences on the standard error for people, and states for systemd.

use std::{
    fmt,
    io::{self, Write},
    sync::{
        LazyLock,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal};

use super::notify::{self, State};
use leasehold_console::view::printable;

/// The lines that may wait for a standard error that takes nothing. More are dropped.
const LINES: usize = 64;

/// The longest time that the last lines are waited for, and the last states.
const LAST: Duration = Duration::from_secs(5);

/// The writer to the standard error: a pipe that nobody empties, or a terminal that is stopped, would keep a thread for as
/// long as it pleases, and the command has to end in time. `None` if the system refuses a thread.
static WRITER: LazyLock<Option<SyncSender<Message>>> = LazyLock::new(|| {
    let (writer, messages) = sync_channel(LINES);
    thread::Builder::new().spawn(move || write_all(&messages)).is_ok().then_some(writer)
});

enum Message {
    Line(String),
    /// Answered when all lines before it are written.
    Written(SyncSender<()>),
}

fn write_all(messages: &Receiver<Message>) {
    // While the command has the terminal this signal would stop whoever writes there, and with it this process.
    let mut stop = SigSet::empty();
    stop.add(Signal::SIGTTOU);
    // It fails for sets that are none.
    let _ = stop.thread_block();
    for message in messages {
        match message {
            Message::Line(line) => write(&line),
            // Whoever waited has gone if this fails.
            Message::Written(written) => _ = written.try_send(()),
        }
    }
}

fn write(line: &str) {
    // If nobody reads the standard error any more, there is nobody to tell.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// The way to whoever started this.
#[derive(Clone, Copy)]
pub(super) struct Voice {
    verbose: bool,
}

impl Voice {
    pub(super) const fn new(verbose: bool) -> Self {
        Self { verbose }
    }

    pub(super) const fn is_verbose(self) -> bool {
        self.verbose
    }

    /// Says what has to be known, in one line, and does not wait until it is read. Others have written parts of it: the holder
    /// of a lock, for instance.
    pub(super) fn say(self, what: impl fmt::Display) {
        let line = format!("leasehold: {}\n", printable(&what.to_string()));
        match &*WRITER {
            // It fails if too many wait already.
            Some(writer) => _ = writer.try_send(Message::Line(line)),
            None => write(&line),
        }
    }

    /// Waits until all that was said is written and sent, for a while.
    pub(super) fn finish(self) {
        // First, because it may say something.
        notify::wait(LAST);
        let (written, answer) = sync_channel(1);
        if WRITER.as_ref().is_some_and(|writer| writer.try_send(Message::Written(written)).is_ok()) {
            // The time may be over: then nobody reads.
            let _ = answer.recv_timeout(LAST);
        }
    }

    /// Tells how it goes, if that was asked for.
    pub(super) fn tell(self, what: impl fmt::Display) {
        if self.verbose {
            self.say(what);
        }
    }

    /// Tells the service manager what is going on.
    pub(super) fn status(self, status: &str) {
        self.notify(State::Status(format!("STATUS={status}")));
    }

    /// Tells the service manager that the command runs.
    pub(super) fn ready(self, status: &str) {
        self.notify(State::Event(format!("READY=1\nSTATUS={status}")));
    }

    /// Tells the service manager that the command has ended, or has been told to.
    pub(super) fn stopping(self) {
        self.notify(State::Event("STOPPING=1".to_owned()));
    }

    fn notify(self, state: State) {
        notify::send(state, move |trouble| self.tell(trouble));
    }
}

/// Formats a duration as people write it, no finer than milliseconds.
pub(super) fn shown(time: Duration) -> String {
    let fine = if time >= Duration::from_secs(10) { 1_000 } else { 1 };
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    humantime::format_duration(Duration::from_millis(millis / fine * fine)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_as_people_write_them() {
        for (time, expected) in [
            (Duration::ZERO, "0s"),
            (Duration::from_micros(1_900), "1ms"),
            (Duration::from_millis(9_998), "9s 998ms"),
            (Duration::from_millis(29_999), "29s"),
            (Duration::from_secs(90), "1m 30s"),
        ] {
            assert_eq!(shown(time), expected);
        }
    }
}
