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
    time::{Duration, Instant},
};

use actix::Addr;
use leasehold::{
    LockManager,
    text::one_line,
    trace::{BeginTrace, EndTrace, TraceSink, Traced},
};

use crate::line::trace_line;

/// The number of requests that may wait to be written: a few megabytes.
const BUFFERED: usize = 16_384;

/// The time after which what was written can be read, also while little or nothing more comes.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// A recording of the requests of a lock manager, in a file of lines such as `{"at": "12ms", "hold": "3ms", "resource":
/// "orders/1"}`: a trace, which [`Workload::from_trace`](crate::Workload::from_trace) reads.
///
/// It begins and ends while the application runs. A manager has one recording at a time; a second one takes its place. Each
/// request becomes one line when it is over: with its arrival, counted from the beginning of the recording, its resource, its
/// class and mode, how long it waited, its outcome, and how long its lease was held. What is not over in the end
/// is written without what is not known. Requests that are refused as invalid or busy are not in it, nor is an
/// [`AcquireAll`](leasehold::AcquireAll) that is refused as a whole.
///
/// The manager does not wait for the file: lines are written by a thread of their own, and what finds no room in its buffer of
/// 16,384 requests is dropped and counted. A file that cannot be written is logged once; the rest is then dropped. If a
/// recorder is dropped instead of [stopped](Self::stop), the recording ends too. If the process dies, about a second of it
/// is missing. At the end, what is not over goes into the same buffer all at once, and the manager does nothing else
/// meanwhile: where more than the buffer's room is held or waited for, most of the rest is dropped and counted too.
///
/// ```
/// # use leasehold::{Acquire, LockManager, MemoryStore};
/// use leasehold_tuning::{TraceRecorder, Workload};
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
    /// The number of requests that were dropped, because they came faster than they could be written, or were too many at the end.
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
    let (mut written, mut flushed) = (0, Instant::now());
    loop {
        let mut done = match lines.recv_timeout(FLUSH_AFTER) {
            Ok(line) => {
                written += 1;
                writeln!(out, "{}", trace_line(&line))
            }
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => return out.flush().map(|()| written),
        };
        if flushed.elapsed() >= FLUSH_AFTER {
            done = done.and_then(|()| out.flush());
            flushed = Instant::now();
        }
        if let Err(error) = done {
            // The manager shall find a reader that is gone: then each further request counts as dropped at once.
            drop(lines);
            dropped.fetch_add(1, Ordering::Relaxed);
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, sync::mpsc::TrySendError};

    use leasehold::{
        Acquire, AcquireAll, MemoryStore, Mode, ReadLock, ResourceName, SetTuning, Shutdown, Stats,
    };
    use serde_json::Value;

    use super::*;

    fn manager() -> Addr<LockManager> {
        LockManager::builder(Arc::new(MemoryStore::default())).start_here().unwrap()
    }

    /// Takes a lock of this name, and releases it.
    async fn take(locks: &Addr<LockManager>, name: &str) {
        locks.send(Acquire::new(name)).await.unwrap().unwrap().release().await.unwrap();
    }

    /// The lines of a trace by their resource.
    fn lines(file: &Path) -> BTreeMap<String, Value> {
        let text = fs::read_to_string(file).unwrap();
        let parsed = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        parsed.map(|line| (line["resource"].as_str().unwrap().to_owned(), line)).collect()
    }

    #[actix::test]
    async fn each_request_is_a_line_with_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.jsonl");
        let locks = manager();
        let _before = locks.send(Acquire::new("before")).await.unwrap().unwrap();
        let recorder = TraceRecorder::start(&locks, &file).await.unwrap();
        locks.send(Acquire::new("a").class("pay")).await.unwrap().unwrap().release().await.unwrap();
        locks
            .send(ReadLock::new("b").wait(Duration::from_secs(1)))
            .await
            .unwrap()
            .unwrap()
            .release()
            .await
            .unwrap();
        locks.send(AcquireAll::new(["c", "d"])).await.unwrap().unwrap().release().await.unwrap();
        let _kept = locks.send(Acquire::new("kept")).await.unwrap().unwrap();
        assert!(locks.send(Acquire::new("before")).await.unwrap().is_err());
        let waiting = actix_rt::spawn(locks.send(Acquire::new("kept").wait_forever().class("waits")));
        while locks.send(Stats).await.unwrap().pending == 0 {}
        let recorded = recorder.stop().await.unwrap();
        assert_eq!(recorded, Recorded { requests: 7, dropped: 0 });
        take(&locks, "after").await;
        waiting.abort();
        let lines = lines(&file);
        let outcomes: Vec<_> = lines.iter().map(|(name, line)| (name.as_str(), &line["outcome"])).collect();
        let (granted, held) = (Value::from("granted"), Value::from("held"));
        let (last, first) = outcomes.split_last().unwrap();
        assert_eq!(
            first,
            [("a", &granted), ("b", &granted), ("before", &held), ("c", &granted), ("d", &granted)]
        );
        // Both its holder and its waiter are not over; the waiter comes last.
        assert_eq!(*last, ("kept", &Value::Null));
        assert_eq!((&lines["a"]["class"], &lines["a"]["mode"]), (&Value::from("pay"), &Value::Null));
        assert_eq!((&lines["b"]["mode"], &lines["b"]["wait"]), (&Value::from("shared"), &Value::from("1s")));
        assert!(
            lines["a"]["hold"].is_string() && lines["c"]["hold"].is_string() && lines["a"]["wait"].is_null()
        );
    }

    #[actix::test]
    async fn a_wait_that_attempts_end_is_not_the_request_s_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.jsonl");
        let locks = manager();
        let _held = locks.send(Acquire::new("refused")).await.unwrap().unwrap();
        let recorder = TraceRecorder::start(&locks, &file).await.unwrap();
        for (name, granted) in [("granted", true), ("refused", false)] {
            let asked = locks.send(Acquire::new(name).attempts(1)).await.unwrap();
            assert_eq!(asked.map(drop).is_ok(), granted, "{name}");
        }
        drop(locks.send(Acquire::new("both").attempts(1).wait(Duration::from_secs(1))).await.unwrap());
        while locks.send(Stats).await.unwrap().held > 1 {}
        recorder.stop().await.unwrap();
        let waits = lines(&file).into_iter().map(|(name, mut line)| (name, line["wait"].take()));
        let expected = [("both", Value::from("1s")), ("granted", Value::Null), ("refused", Value::Null)];
        assert_eq!(waits.collect::<Vec<_>>(), expected.map(|(name, wait)| (name.to_owned(), wait)));
    }

    #[actix::test]
    async fn a_wait_that_a_tuner_has_set_is_written_for_a_replay_with_the_settings_of_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.jsonl");
        let locks = manager();
        take(&locks, "r").await;
        let set = SetTuning { wait: Some(Duration::from_secs(1)), ..SetTuning::default() };
        locks.send(set).await.unwrap().unwrap();
        let recorder = TraceRecorder::start(&locks, &file).await.unwrap();
        take(&locks, "r").await;
        recorder.stop().await.unwrap();
        assert_eq!(lines(&file)["r"]["wait"], "1s");
    }

    #[actix::test]
    async fn what_finds_no_room_is_dropped_and_counted_and_nobody_waits() {
        let locks = manager();
        let (lines, received) = sync_channel(1);
        let sink = TraceSink { lines, dropped: Arc::default() };
        locks.send(BeginTrace(sink.clone())).await.unwrap();
        for _ in 0..5 {
            take(&locks, "r").await;
        }
        assert_eq!(sink.dropped.load(Ordering::Relaxed), 4);
        assert_eq!(received.try_recv().unwrap().resource, ResourceName::new("r").unwrap());
    }

    #[actix::test]
    async fn a_recording_ends_with_its_manager_though_a_lease_of_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let locks = manager();
        let recorder = TraceRecorder::start(&locks, folder.path().join("t.jsonl")).await.unwrap();
        let _kept = locks.send(Acquire::new("kept")).await.unwrap().unwrap();
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        while locks.connected() {
            actix_rt::task::yield_now().await;
        }
        let stopped = actix_rt::time::timeout(Duration::from_secs(60), recorder.stop()).await.unwrap();
        assert_eq!(stopped.unwrap(), Recorded { requests: 1, dropped: 0 });
    }

    #[actix::test]
    async fn a_second_recording_takes_the_place_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["1", "2"].map(|name| folder.path().join(name));
        let locks = manager();
        let first = TraceRecorder::start(&locks, &one).await.unwrap();
        take(&locks, "a").await;
        let second = TraceRecorder::start(&locks, &two).await.unwrap();
        assert_eq!(first.stop().await.unwrap(), Recorded { requests: 1, dropped: 0 });
        take(&locks, "b").await;
        assert_eq!(second.stop().await.unwrap(), Recorded { requests: 1, dropped: 0 });
        assert!(lines(&one).contains_key("a") && lines(&two).contains_key("b"));
    }

    #[actix::test]
    async fn a_file_that_cannot_be_made_is_an_error() {
        let error = TraceRecorder::start(&manager(), "/nowhere/t.jsonl").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    /// A disk that is full.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn after_a_failed_write_everything_is_dropped() {
        let line = Traced {
            at: Duration::ZERO,
            resource: ResourceName::new("r").unwrap(),
            mode: Mode::Exclusive,
            class: None,
            wait: None,
            answer: None,
            hold: None,
        };
        let (lines, received) = sync_channel(2);
        lines.send(line.clone()).unwrap();
        let dropped = AtomicU64::new(0);
        let error = write_all(received, Full, &dropped).unwrap_err();
        assert_eq!((error.kind(), dropped.load(Ordering::Relaxed)), (io::ErrorKind::StorageFull, 1));
        assert!(matches!(lines.try_send(line), Err(TrySendError::Disconnected(_))));
    }
}
