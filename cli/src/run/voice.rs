//! The voice of `leasehold run`: sentences on the standard error for people, and states for systemd.

use std::{
    env,
    ffi::OsStr,
    fmt, io,
    io::Write,
    os::{
        linux::net::SocketAddrExt,
        unix::{ffi::OsStrExt, net},
    },
    sync::{
        LazyLock,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal};

use crate::print::readable;

/// The lines that may wait for a standard error that takes nothing. More are dropped.
const LINES: usize = 64;

/// The longest time that the last lines are waited for.
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

/// The variable that names the socket of the service manager.
pub(super) const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

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
        let line = format!("leasehold: {}\n", readable(&what.to_string()));
        match &*WRITER {
            // It fails if too many wait already.
            Some(writer) => _ = writer.try_send(Message::Line(line)),
            None => write(&line),
        }
    }

    /// Waits until all that was said is written, for a while.
    pub(super) fn finish(self) {
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
        self.notify(&format!("STATUS={status}"));
    }

    /// Tells the service manager that the command runs.
    pub(super) fn ready(self, status: &str) {
        self.notify(&format!("READY=1\nSTATUS={status}"));
    }

    /// Tells the service manager that the command has ended, or has been told to.
    pub(super) fn stopping(self) {
        self.notify("STOPPING=1");
    }

    fn notify(self, state: &str) {
        let Some(place) = env::var_os(NOTIFY_SOCKET).filter(|place| !place.is_empty()) else { return };
        if let Err(error) = send(&place, state) {
            self.tell(format_args!("cannot notify {}: {error}", place.display()));
        }
    }
}

/// Sends a state as sd_notify(3) describes it. A name that begins with `@` is not one of the file system.
fn send(place: &OsStr, state: &str) -> io::Result<()> {
    let address = match place.as_bytes() {
        [b'@', name @ ..] => net::SocketAddr::from_abstract_name(name)?,
        _ => net::SocketAddr::from_pathname(place)?,
    };
    let socket = net::UnixDatagram::unbound()?;
    // A service manager that does not read must not keep the command from its end.
    socket.set_nonblocking(true)?;
    let sent = socket.send_to_addr(state.as_bytes(), &address)?;
    if sent == state.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
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
    fn a_state_reaches_sockets_in_the_file_system_and_outside_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let abstract_name = format!("leasehold-run-{}", std::process::id());
        let abstract_address = net::SocketAddr::from_abstract_name(&abstract_name).unwrap();
        for (socket, place) in [
            (net::UnixDatagram::bind(&path).unwrap(), path.clone().into_os_string()),
            (net::UnixDatagram::bind_addr(&abstract_address).unwrap(), format!("@{abstract_name}").into()),
        ] {
            send(&place, "READY=1").unwrap();
            let mut read = [0; 64];
            let length = socket.recv(&mut read).unwrap();
            assert_eq!(&read[..length], b"READY=1");
        }
        assert!(send(OsStr::new("/nowhere/notify"), "READY=1").is_err());
    }

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
