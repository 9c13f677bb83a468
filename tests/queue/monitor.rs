//! Which commands the clients send, as the server's `MONITOR` shows them. Its `INFO commandstats` cannot tell: there the
//! commands that a script calls are counted as well.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpStream},
    thread::{self, JoinHandle},
};

use leasehold_testing::servers::RedisServer;

/// How often each command was sent, by its name in lower case.
pub(crate) type Sent = BTreeMap<String, u64>;

pub(crate) struct Monitor {
    line: TcpStream,
    counting: JoinHandle<Sent>,
}

impl Monitor {
    /// Counts from here on.
    pub(crate) fn start(server: &RedisServer) -> Self {
        let mut line = TcpStream::connect(server.url().trim_start_matches("redis://")).unwrap();
        line.write_all(b"MONITOR\r\n").unwrap();
        let mut lines = BufReader::new(line.try_clone().unwrap()).lines().map_while(Result::ok);
        assert_eq!(lines.next().as_deref(), Some("+OK"));
        let counting = thread::spawn(move || {
            let mut sent = Sent::new();
            for command in lines.filter_map(|line| command_of_a_client(&line)) {
                *sent.entry(command).or_default() += 1;
            }
            sent
        });
        Self { line, counting }
    }

    pub(crate) fn stop(self) -> Sent {
        self.line.shutdown(Shutdown::Both).unwrap();
        self.counting.join().unwrap()
    }
}

/// A line is `+<time> [<database> <address, or "lua" in a script>] "<command>" "<argument>" …`.
fn command_of_a_client(line: &str) -> Option<String> {
    let (client, words) = line.split_once('[')?.1.split_once("] ")?;
    let command = words.split('"').nth(1)?.to_lowercase();
    (!client.ends_with(" lua")).then_some(command)
}
