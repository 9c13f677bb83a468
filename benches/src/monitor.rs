//! Counts the commands that clients send, by the server's `MONITOR`.
//!
//! `INFO commandstats` counts what scripts call as well, and does not tell the two apart. `MONITOR` does, but slows the
//! server, so commands are counted in a measurement of its own that is not timed.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use crate::Failure;

/// Counts until it is dropped.
pub(crate) struct Monitor {
    stream: TcpStream,
    commands: Arc<AtomicU64>,
}

impl Monitor {
    pub(crate) fn start(port: u16) -> Result<Self, Failure> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.write_all(b"MONITOR\r\n")?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        if lines.next().transpose()?.as_deref() != Some("+OK") {
            return Err("the server refuses MONITOR".into());
        }
        let commands = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&commands);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // +1700000000.000001 [0 127.0.0.1:50000] "SET" …, or in a script [0 lua]
                if !line.contains(" lua] ") {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Ok(Self { stream, commands })
    }

    /// The commands so far.
    pub(crate) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // Ends the thread; fails only if the server has gone, which ends it as well.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}
