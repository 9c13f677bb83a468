//! Leases that are held and renewed, and nothing else: what they cost in memory and processor time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, TryStreamExt, stream};
use redis::Client;

use crate::{
    Failure,
    lockers::{Kept, Locker},
    meters::{self, Threads},
    sample::{Leases, Sample},
    worker::{report, told_to_go},
};

/// How many leases are acquired at a time.
const AT_ONCE: usize = 256;

/// Holds the leases for this long: a TTL or more, so that whatever is not renewed has ended when it is over.
pub(crate) async fn run(
    locker: &Arc<Locker>,
    urls: &[String],
    leases: usize,
    length: Duration,
) -> Result<(), Failure> {
    let [url] = urls else { return Err("leases are renewed on one server".into()) };
    let _first = locker.keep("bench/kept/first").await?;
    let empty = meters::memory()?;
    let _kept: Vec<Kept> = stream::iter(0..leases)
        .map(|lease| async move { locker.keep(&format!("bench/kept/{lease}")).await })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    // What acquiring them has left to do is not part of keeping them.
    tokio::time::sleep(Duration::from_secs(1)).await;
    told_to_go().await?;
    let (start, before) = (Instant::now(), Threads::now()?);
    tokio::time::sleep(length).await;
    let (seconds, spent) = (start.elapsed().as_secs_f64(), Threads::now()?.since(before));
    let bytes_each = meters::memory()?.saturating_sub(empty) as f64 / leases as f64;
    let lost = leases as u64 - on_server(url)?.min(leases as u64);
    let leases = Some(Leases { bytes_each, lost });
    report(&Sample { leases, ..Sample::default() }.of(seconds, spent)).map(drop)
}

/// How many leases the server knows, whatever the locker calls them.
fn on_server(url: &str) -> Result<u64, Failure> {
    let mut connection = Client::open(url)?.get_connection()?;
    let (mut cursor, mut found) = (0_u64, 0);
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg("*bench*kept*").arg("COUNT").arg(1_000);
        let (next, keys): (u64, Vec<String>) = scan.query(&mut connection)?;
        found += keys.len() as u64;
        cursor = next;
        if cursor == 0 {
            // All but the very first, which is not counted.
            return Ok(found.saturating_sub(1));
        }
    }
}
