//! The recorder of a trace: the requests of a real application, as lines that a workload reads.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

use actix::Addr;

use crate::{
    core::one_line,
    manager::{
        LockManager,
        trace::{BeginTrace, EndTrace, TraceSink, Traced},
    },
    tuning::workload::trace_line,
};

/// The number of requests that may wait to be written: a few megabytes.
const BUFFERED: usize = 16_384;

/// The time after which what was written can be read, also while nothing more comes.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// A recording of the requests of a lock manager, in a file of lines such as `{"at": "12ms", "hold": "3ms", "resource":
/// "orders/1"}`: a trace, which [`Workload::from_trace`](crate::tuning::Workload::from_trace) reads.
///
/// It begins and ends while the application runs. A manager has one recording at a time; a second one takes its place. Each
/// request becomes one line when it is over: with its arrival, counted from the beginning of the recording, its resource, its
/// class and mode, how long it waited, its outcome, and how long its lease was held. What is not over in the end
/// is written without what is not known. Requests that are refused as invalid or busy are not in it, nor is an
/// [`AcquireAll`](crate::AcquireAll) that is refused as a whole.
///
/// The manager does not wait for the file: lines are written by a thread of their own, and what finds no room in its buffer of
/// 16,384 requests is dropped and counted. A file that cannot be written is logged once; the rest is then dropped. If a
/// recorder is dropped instead of [stopped](Self::stop), the recording ends too. If the process dies, up to a second of it
/// is missing.
///
/// ```
/// # use leasehold::{Acquire, LockManager, MemoryStore};
/// use leasehold::tuning::{TraceRecorder, Workload};
///
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("monday.jsonl");
/// let recorder = TraceRecorder::start(&locks, &file).await?;
/// locks.send(Acquire::new("orders/1")).await??.release().await?; // the application runs
/// let recorded = recorder.stop().await?;
/// assert_eq!((recorded.requests, recorded.dropped), (1, 0));
///
/// let workload = Workload::from_trace(&file, "wait.timeout = '1s'", &[])?;
/// assert_eq!(workload.recorded().map(|report| report.granted), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TraceRecorder {
    locks: Addr<LockManager>,
    sink: TraceSink,
    writer: Option<JoinHandle<io::Result<u64>>>,
}

/// The result of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// The number of requests that were written.
    pub requests: u64,
    /// The number of requests that were dropped, because they came faster than they could be written.
    pub dropped: u64,
}

impl TraceRecorder {
    /// Begins to record the requests that this manager gets from now on, in a new file. A file of that name is overwritten.
    ///
    /// # Errors
    /// The error of the system if the file cannot be created, or the thread cannot be started. A manager that has been shut
    /// down is [`NotConnected`](io::ErrorKind::NotConnected).
    pub async fn start(locks: &Addr<LockManager>, file: impl AsRef<Path>) -> io::Result<Self> {
        let out = BufWriter::new(File::create(&file)?);
        let name = file.as_ref().display().to_string();
        let (lines, received) = sync_channel(BUFFERED);
        let sink = TraceSink { lines, dropped: Arc::new(AtomicU64::new(0)) };
        let dropped = Arc::clone(&sink.dropped);
        let writer = Builder::new()
            .name("trace".to_owned())
            .spawn(move || write_all(received, out, &dropped).inspect_err(|error| log(&name, error)))?;
        let recorder = Self { locks: locks.clone(), sink, writer: Some(writer) };
        let gone = |_| io::Error::new(io::ErrorKind::NotConnected, "the lock manager has been shut down");
        locks.send(BeginTrace(recorder.sink.clone())).await.map_err(gone)?;
        Ok(recorder)
    }

    /// Ends the recording, and waits until all of it is in the file.
    ///
    /// # Errors
    /// The error of the system if the file could not be written.
    ///
    /// # Panics
    /// When it is polled outside of an actix system, or another runtime of tokio.
    pub async fn stop(mut self) -> io::Result<Recorded> {
        // A manager that has ended records nothing any more.
        let _ = self.locks.send(EndTrace(self.sink.clone())).await;
        let (dropped, writer) = (Arc::clone(&self.sink.dropped), self.writer.take());
        // The writer goes on until nobody can send.
        drop(self);
        let Some(writer) = writer else { return Ok(Recorded { requests: 0, dropped: 0 }) };
        let joined = actix_rt::task::spawn_blocking(move || writer.join()).await.map_err(io::Error::other)?;
        let requests = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Recorded { requests, dropped: dropped.load(Ordering::Relaxed) })
    }
}

impl Drop for TraceRecorder {
    fn drop(&mut self) {
        self.locks.do_send(EndTrace(self.sink.clone()));
    }
}

fn log(file: &str, error: &io::Error) {
    tracing::error!(file, error = one_line(error), "a trace cannot be written; the rest of it is dropped");
}

/// Writes all lines, until nobody can send any more. Returns their number.
fn write_all(lines: Receiver<Traced>, mut out: impl Write, dropped: &AtomicU64) -> io::Result<u64> {
    let mut written = 0;
    loop {
        let done = match lines.recv_timeout(FLUSH_AFTER) {
            Ok(line) => {
                written += 1;
                writeln!(out, "{}", trace_line(&line))
            }
            Err(RecvTimeoutError::Timeout) => out.flush(),
            Err(RecvTimeoutError::Disconnected) => return out.flush().map(|()| written),
        };
        if let Err(error) = done {
            // The manager shall find a reader that is gone: then each further request counts as dropped at once.
            drop(lines);
            dropped.fetch_add(1, Ordering::Relaxed);
            return Err(error);
        }
    }
}
