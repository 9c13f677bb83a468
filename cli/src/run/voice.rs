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
    time::Duration,
};

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

    /// Says what has to be known.
    pub(super) fn say(self, what: impl fmt::Display) {
        // If nobody reads the standard error any more, there is nobody to tell.
        let _ = writeln!(io::stderr(), "leasehold: {what}");
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
    let sent = net::UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
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
