//! The way to the service manager: states, as sd_notify(3) describes them, sent by a thread of its own.

use std::{
    collections::VecDeque,
    env,
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{ffi::OsStrExt, net},
    },
    sync::{
        OnceLock,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    thread,
    time::Duration,
};

/// The variable that names the socket of the service manager.
pub(super) const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

/// The longest time that a socket which is full is waited for at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// The way to the thread. `None` if there is no service manager.
static SENDER: OnceLock<Option<Sender<State>>> = OnceLock::new();

/// A message to the service manager.
pub(super) enum State {
    /// The next one replaces it.
    Status(String),
    /// It is told once, so it is tried until it is sent: the service would otherwise never be ready.
    Event(String),
    /// Answered when all before it are sent.
    Sent(SyncSender<()>),
}

/// Has a state sent, and does not wait for that: a service manager that reads nothing must not keep the command from its end.
/// What goes wrong is told.
pub(super) fn send(state: State, tell: impl Fn(String) + Copy + Send + 'static) {
    if let Some(sender) = SENDER.get_or_init(|| start(tell)) {
        // The thread takes states for as long as there is a sender.
        let _ = sender.send(state);
    }
}

/// Waits until all states are sent, for this time at most.
pub(super) fn wait(within: Duration) {
    if let Some(Some(sender)) = SENDER.get() {
        let (sent, answer) = sync_channel(1);
        let _ = sender.send(State::Sent(sent));
        // The time may be over: then nobody reads.
        let _ = answer.recv_timeout(within);
    }
}

fn start(tell: impl Fn(String) + Copy + Send + 'static) -> Option<Sender<State>> {
    let place = env::var_os(NOTIFY_SOCKET).filter(|place| !place.is_empty())?;
    let (sender, states) = channel();
    let started = thread::Builder::new().spawn(move || send_all(&place, &states, tell));
    if let Err(error) = &started {
        tell(format!("cannot notify the service manager: {error}"));
    }
    started.is_ok().then_some(sender)
}

/// Sends states in their order for as long as there is a sender.
fn send_all(place: &OsStr, states: &Receiver<State>, tell: impl Fn(String)) {
    let mut waiting = VecDeque::new();
    while let Some(state) = waiting.pop_front().or_else(|| states.recv().ok()) {
        let text = match &state {
            State::Status(text) | State::Event(text) => text,
            State::Sent(answer) => {
                // Whoever waited has gone if this fails.
                let _ = answer.try_send(());
                continue;
            }
        };
        match send_to(place, text) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                waiting.push_front(state);
                waiting.extend(states.try_iter());
                leave_out_the_old(&mut waiting);
            }
            Err(error) => tell(format!("cannot notify {}: {error}", place.display())),
        }
    }
}

/// Leaves out what is out of date before it is read: each status with another text behind it.
fn leave_out_the_old(waiting: &mut VecDeque<State>) {
    let last = waiting.iter().rposition(|state| !matches!(state, State::Sent(_)));
    let mut place = 0;
    waiting.retain(|state| {
        place += 1;
        !matches!(state, State::Status(_)) || Some(place - 1) == last
    });
}

/// Sends a text. A name that begins with `@` is not one of the file system.
fn send_to(place: &OsStr, text: &str) -> io::Result<()> {
    let address = match place.as_bytes() {
        [b'@', name @ ..] => net::SocketAddr::from_abstract_name(name)?,
        _ => net::SocketAddr::from_pathname(place)?,
    };
    let socket = net::UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let sent = socket.send_to_addr(text.as_bytes(), &address)?;
    if sent == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(socket: &net::UnixDatagram) -> String {
        let mut read = [0; 64];
        let length = socket.recv(&mut read).unwrap();
        String::from_utf8(read[..length].to_vec()).unwrap()
    }

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
            send_to(&place, "READY=1").unwrap();
            assert_eq!(heard(&socket), "READY=1");
        }
        assert!(send_to(OsStr::new("/nowhere/notify"), "READY=1").is_err());
    }

    #[test]
    fn events_and_the_latest_status_wait_for_a_reader_that_is_late() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let socket = net::UnixDatagram::bind(&path).unwrap();
        let filler = net::UnixDatagram::unbound().unwrap();
        filler.set_nonblocking(true).unwrap();
        while filler.send_to(b"full", &path).is_ok() {}
        let (sender, states) = channel();
        let (status, event) =
            (|text: &str| State::Status(text.to_owned()), |text: &str| State::Event(text.to_owned()));
        for state in [status("old"), event("ready"), status("busy"), event("over"), status("new")] {
            sender.send(state).unwrap();
        }
        let (answer, sent) = sync_channel(1);
        sender.send(State::Sent(answer)).unwrap();
        thread::spawn(move || send_all(path.as_os_str(), &states, |what| panic!("{what}")));
        assert!(sent.recv_timeout(2 * PATIENCE).is_err(), "it was sent to a socket that is full");
        let events = std::iter::repeat_with(|| heard(&socket)).filter(|it| it != "full").take(3);
        assert_eq!(events.collect::<Vec<_>>(), ["ready", "over", "new"]);
        sent.recv().unwrap();
    }
}
