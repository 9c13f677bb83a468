//! A server on a socket and on a port, in the task of its client, that answers each command as an input says.

use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UnixListener},
};

use super::{
    scripts,
    values::{self, Values},
};
use crate::{
    input::Input,
    reached::{TOLD, reach},
};

/// The number of commands after which a server is gone, so that no client asks for ever.
const COMMANDS: usize = 300;

/// A command: its words.
type Command = Vec<Vec<u8>>;

/// A connection.
trait Duplex: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

/// A server.
pub(super) struct Server<'a> {
    input: &'a Input<'a>,
    values: Values<'a>,
    folder: TempDir,
    socket: UnixListener,
    port: TcpListener,
    left: Cell<usize>,
    /// The fence that was given out last.
    counter: Cell<i64>,
    /// The value that was set first since that.
    set: RefCell<Vec<u8>>,
}

/// The answer to a command.
enum Answer {
    Says(Vec<u8>),
    /// The connection ends behind this.
    Breaks(Vec<u8>),
}

impl<'a> Server<'a> {
    /// Starts a server.
    pub(super) async fn start(input: &'a Input<'a>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = UnixListener::bind(path(&folder)).expect("a socket");
        let port = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let number = port.local_addr().expect("a port").port();
        let (left, counter, set) =
            (Cell::new(COMMANDS), Cell::new(1_795_824_000_000_000), RefCell::default());
        Self { input, values: Values::new(input, number), folder, socket, port, left, counter, set }
    }

    pub(super) fn socket(&self) -> String {
        path(&self.folder).display().to_string()
    }

    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.values.port)
    }

    /// Returns true if a fence was sent, or follows from what was sent.
    pub(super) fn has_said(&self, fence: u64) -> bool {
        // Plain commands give out several at once.
        self.values.said.borrow().iter().any(|said| said.abs_diff(fence) < 8)
    }

    /// Serves until its commands are used up.
    pub(super) async fn serve(&self) {
        let mut open = FuturesUnordered::new();
        while self.left.get() > 0 {
            let stream: Box<dyn Duplex> = tokio::select! {
                Ok((stream, _)) = self.socket.accept() => Box::new(stream),
                Ok((stream, _)) = self.port.accept() => {
                    // Otherwise thousands of ports would wait for a late packet.
                    let _ = stream.set_zero_linger();
                    Box::new(stream)
                }
                Some(()) = open.next(), if !open.is_empty() => continue,
            };
            open.push(self.talk(stream));
        }
    }

    async fn talk(&self, mut stream: Box<dyn Duplex>) {
        let (mut buffer, mut is_told) = (Vec::new(), false);
        loop {
            while let Some(command) = next(&mut buffer) {
                let (mut text, is_over) = match self.answer(&command) {
                    Answer::Says(text) => (text, false),
                    Answer::Breaks(text) => (text, true),
                };
                is_told |= command.get(1).is_some_and(|word| word == b"TRACKING");
                let pushes = if is_told { self.input.below(4) } else { 0 };
                (0..pushes).for_each(|_| self.values.pushed(&mut text));
                if stream.write_all(&text).await.is_err() || is_over {
                    return;
                }
                if pushes > 0 {
                    reach(TOLD);
                }
            }
            match stream.read_buf(&mut buffer).await {
                Ok(read) if read > 0 => {}
                _ => return,
            }
        }
    }

    fn answer(&self, command: &Command) -> Answer {
        let words: Vec<String> =
            command.iter().map(|word| String::from_utf8_lossy(word).to_uppercase()).collect();
        let is_greeting = ["SCRIPT", "HELLO", "CLIENT", "SELECT"].contains(&&*words[0]);
        if !is_greeting {
            let Some(left) = self.left.get().checked_sub(1) else { return Answer::Breaks(Vec::new()) };
            self.left.set(left);
        }
        let mut text = Vec::new();
        match self.input.below(if is_greeting { 64 } else { 16 }) {
            14 => return Answer::Breaks(self.input.bytes(40)),
            // An address in it might be one of another machine.
            15 if !["CLUSTER", "SENTINEL"].contains(&&*words[0]) => self.values.any(&mut text, 3),
            13 => self.values.error(&mut text),
            _ if words[0] == "EVALSHA" => self.script(command, &mut text),
            _ => self.usual(command, &words, &mut text),
        }
        Answer::Says(text)
    }

    /// Answers a script: its echo, and anything.
    fn script(&self, command: &Command, text: &mut Vec<u8>) {
        let keys = command.get(2).and_then(|keys| str::from_utf8(keys).ok()?.parse().ok()).unwrap_or(0);
        let echo = command.get(3 + keys).map_or(&b""[..], Vec::as_slice);
        // The key of the fences, which ends like this, is no resource.
        let resources = command[3..].iter().take(keys).filter(|key| !key.ends_with(b":")).count().max(1);
        let script = scripts::of_hash(&command[1]);
        // A number goes before the answer to all, and behind that to a hand-off; the clock and the record of recovery behind those to a
        // node of a quorum.
        let (before, answers, behind, clock) = match self.input.below(8) {
            4 => (1, resources, 0, 0),
            5 => (0, resources, 0, 1),
            6 => (0, 2, 1, 0),
            7 => (0, self.input.below(6), 0, 0),
            _ => (0, resources, 0, 0),
        };
        values::array(text, 1 + before + answers + behind + 2 * clock);
        values::bulk(text, echo);
        (0..before).for_each(|_| self.values.count(text));
        (0..answers).for_each(|_| self.values.of_script(&script, text));
        (0..behind).for_each(|_| self.values.count(text));
        (0..clock).for_each(|_| self.values.clock(text));
    }

    /// Answers any other command as a server would, or nearly.
    fn usual(&self, command: &Command, words: &[String], text: &mut Vec<u8>) {
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(1);
        match &*words[0] {
            "SCRIPT" => {
                scripts::load(command.last().map_or(&b""[..], Vec::as_slice));
                values::bulk(text, &[b'0'; 40]);
            }
            "INCRBY" => {
                self.counter.set(self.counter.get().wrapping_add(number(2)));
                self.set.borrow_mut().clear();
                self.values.said.borrow_mut().push(self.counter.get().unsigned_abs());
                values::int(text, self.counter.get());
            }
            "SET" => {
                let mut set = self.set.borrow_mut();
                if set.is_empty() {
                    set.clone_from(&command[2]);
                }
                values::simple(text, "OK");
            }
            "MGET" => {
                values::array(text, 2);
                values::bulk(text, self.counter.get().to_string().as_bytes());
                values::bulk(text, &self.set.borrow());
            }
            "EXISTS" | "WAIT" => values::int(text, self.input.one_of(&[0, 1])),
            "SCAN" => self.values.scanned(text),
            "ROLE" => self.values.role(text),
            "INFO" => {
                values::bulk(text, self.values.info(words.get(1).map_or("Server", String::as_str)).as_bytes())
            }
            "TIME" => self.values.list(text, &["1795824000", "7"]),
            "CONFIG" | "ACL" => self.values.list(text, &["appendfsync", "always"]),
            "CLUSTER" if words.get(1).is_some_and(|word| word == "SLOTS") => self.values.slots(text),
            "SENTINEL" => self.values.sentinel(words, text),
            "SUBSCRIBE" => self.values.subscribed(command, text),
            _ => values::simple(text, "OK"),
        }
    }
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("s")
}

/// Takes the next command out of a buffer, if it is there whole.
fn next(buffer: &mut Vec<u8>) -> Option<Command> {
    let mut at = 0;
    let number = |behind: &mut usize| -> Option<usize> {
        let end = buffer.get(*behind..)?.windows(2).position(|two| two == b"\r\n")? + *behind;
        let number = str::from_utf8(buffer.get(*behind + 1..end)?).ok()?.parse().ok()?;
        *behind = end + 2;
        Some(number)
    };
    let words = number(&mut at)?;
    let mut command = Vec::new();
    for _ in 0..words {
        let length = number(&mut at)?;
        command.push(buffer.get(at..at + length)?.to_vec());
        at += length + 2;
    }
    let rest = buffer.get(at..)?.to_vec();
    *buffer = rest;
    (!command.is_empty()).then_some(command)
}
