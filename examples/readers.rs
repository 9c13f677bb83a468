//! Many readers and one writer of the same document, and a picture of who held it when.
//!
//! ```console
//! cargo run --example readers -- --readers 5 --for 5s
//! ```
//!
//! Readers share; the writer has the document alone. Each line of the picture is one of them, each column a slice of
//! time. With `--store redis://127.0.0.1:6379` several of these programs take turns with each other.

mod common;

use std::{
    error::Error,
    iter,
    time::{Duration, Instant},
};

use actix::Addr;
use clap::Parser;
use futures_util::future::try_join_all;
use leasehold::{AcquireError, Backoff, Lease, LockManager, ReadLock, Shutdown, WriteLock};

use crate::common::Common;

const DOCUMENT: &str = "documents/price-list";
const COLUMNS: u32 = 72;

/// Many readers and one writer of the same document.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: Common,
    /// How many read.
    #[arg(long, default_value_t = 5)]
    readers: u32,
    /// How long the program runs.
    #[arg(long = "for", default_value = "5s", value_parser = humantime::parse_duration)]
    runs_for: Duration,
}

/// Somebody who holds the document again and again.
struct Person {
    name: String,
    mark: char,
    holds: Duration,
    pauses: Duration,
}

/// When the document was held, counted from the start.
#[derive(Clone, Copy)]
struct Span {
    from: Duration,
    to: Duration,
}

impl Person {
    fn reader(number: u32) -> Self {
        let (holds, pauses) = (Duration::from_millis(150), Duration::from_millis(450));
        Self { name: format!("reader {number}"), mark: 'r', holds, pauses }
    }

    fn writer() -> Self {
        let (holds, pauses) = (Duration::from_millis(250), Duration::from_millis(300));
        Self { name: "writer".to_owned(), mark: 'W', holds, pauses }
    }

    fn writes(&self) -> bool {
        self.mark == 'W'
    }

    async fn ask(&self, locks: &Addr<LockManager>, wait: Duration) -> Result<Lease, Box<dyn Error>> {
        let backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(80))?;
        let lease = if self.writes() {
            locks.send(WriteLock::new(DOCUMENT).purpose(&self.name).backoff(backoff).wait(wait)).await??
        } else {
            locks.send(ReadLock::new(DOCUMENT).purpose(&self.name).backoff(backoff).wait(wait)).await??
        };
        Ok(lease)
    }

    /// Holds the document and lets it go, until the time is over. Answers when it was held.
    async fn live(
        &self,
        locks: &Addr<LockManager>,
        start: Instant,
        end: Duration,
    ) -> Result<Vec<Span>, Box<dyn Error>> {
        let mut spans = Vec::new();
        loop {
            tokio::time::sleep(self.pauses.mul_f64(rand::random_range(0.5..1.5))).await;
            let left = end.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(spans);
            }
            let lease = match self.ask(locks, left).await {
                Ok(lease) => lease,
                // The answer did not come before the end.
                Err(_) if start.elapsed() >= end => return Ok(spans),
                // The others had it until the end.
                Err(error) if matches!(error.downcast_ref(), Some(AcquireError::Held { .. })) => {
                    return Ok(spans);
                }
                Err(error) => return Err(error),
            };
            let from = start.elapsed();
            lease.run(tokio::time::sleep(self.holds.min(end.saturating_sub(from)))).await?;
            spans.push(Span { from, to: start.elapsed() });
            lease.release().await?;
        }
    }
}

impl Span {
    fn overlaps(self, other: Self) -> bool {
        self.from < other.to && other.from < self.to
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = args.common.start()?;
    let people: Vec<_> = iter::once(Person::writer()).chain((1..=args.readers).map(Person::reader)).collect();
    println!("{} readers and a writer share {DOCUMENT} for {:?}", args.readers, args.runs_for);
    let start = Instant::now();
    let lives = try_join_all(people.iter().map(|person| person.live(&locks, start, args.runs_for)));
    let lived = tokio::select! {
        spans = lives => Some(spans?),
        stopped = common::asked_to_stop() => stopped.map(|()| None)?,
    };
    locks.send(Shutdown { drain: Duration::ZERO }).await?;
    let Some(spans) = lived else {
        println!("stopped; everything is released");
        return Ok(());
    };
    for (person, spans) in people.iter().zip(&spans) {
        println!("{:>10} |{}| {} times", person.name, picture(person, spans, args.runs_for), spans.len());
    }
    check(&spans)
}

/// One line of the picture: the mark of a person wherever it held.
fn picture(person: &Person, spans: &[Span], end: Duration) -> String {
    let column = |number| {
        let slice = Span { from: end * number / COLUMNS, to: end * (number + 1) / COLUMNS };
        if spans.iter().any(|span| span.overlaps(slice)) { person.mark } else { ' ' }
    };
    (0..COLUMNS).map(column).collect()
}

/// The writer is the first; it must have been alone.
fn check(spans: &[Vec<Span>]) -> Result<(), Box<dyn Error>> {
    let (writer, readers) = spans.split_first().ok_or("nobody lived")?;
    let mut reads = readers.iter().flatten();
    if reads.any(|read| writer.iter().any(|write| write.overlaps(*read))) {
        return Err("somebody read while the document was written".into());
    }
    println!("nobody read while the document was written");
    Ok(())
}
