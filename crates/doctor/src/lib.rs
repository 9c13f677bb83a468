//! The doctor: it examines a deployment before locks have to rely on it, and reports problems with advice.
//!
//! ```no_run
//! # async fn run() -> Result<(), leasehold::ConfigError> {
//! let config = leasehold::Config::load()?;
//! let diagnosis = leasehold_doctor::examine(&config).await?;
//! println!("{diagnosis}");
//! # Ok(())
//! # }
//! # let _ = run;
//! ```
//!
//! It asks every server that the configuration leads to (`INFO`, `CONFIG GET`, `TIME`, and the members of sentinel and
//! cluster deployments). It tries each command that locks need on a key that does not exist. Finally it takes, hands over
//! and releases a lock. All of this happens below the prefix `<store.prefix>:inbox:doctor`, which no application uses.
//! The members of a quorum have recovered for one prefix alone, so there the lock has a random name directly below
//! `store.prefix`. It begins a deployment that may begin, as the first lock would. A question that the user may not ask
//! becomes a notice, and a server that does not answer becomes a finding.
//!
//! **Invariant:** the findings are a function of the snapshots and of the configuration. Only `examine`, `probe` and
//! `trial` do I/O.
#![doc(test(attr(deny(warnings))))]

mod clocks;
mod cluster;
mod diagnosis;
mod finding;
#[doc(hidden)]
pub mod probe;
mod quorum;
mod rights;
mod sentinel;
mod server;
mod trial;
mod votes;

use std::time::{Duration, SystemTime};

use futures_util::future::try_join_all;
use leasehold::{Config, ConfigError, Layout};
use tokio::time::Instant;

pub use self::{
    diagnosis::Diagnosis,
    finding::{CHECKS, Finding, Severity},
};
use self::{
    finding::Findings,
    probe::{Directory, Snapshot},
};

/// Examines the deployment that a configuration leads to.
///
/// It must be called in a tokio runtime, which every actix system is. All servers are asked at the same time. The limit
/// for each is the time to connect and five times the time for an answer (`store.connect_timeout`,
/// `store.response_timeout`), and twice that for sentinels and clusters. The trial of a lock, which is skipped if a
/// finding already stops all locks, takes at most six times the sum of both times, on a cluster for each master.
///
/// Nothing is left behind. What the examination writes is removed, and ends by itself within seconds if the removal
/// fails. The only exception is a quorum that begins or whose members are taught: it keeps a record of that, two keys a
/// server, as after any lock.
///
/// # Errors
/// [`ConfigError`] when the configuration itself cannot be right. Nothing was sent in that case. A server that is down,
/// refuses the password or does not answer is not an error but a [`Finding`].
///
/// # Cancel safety
/// Dropping the future is harmless. What it wrote ends by itself within seconds.
pub async fn examine(config: &Config) -> Result<Diagnosis, ConfigError> {
    config.check()?;
    let url = &config.store.url;
    let mut findings = Findings::default();
    if let Some(warning) = url.memory_warning() {
        let advice = "name a server in store.url as soon as there are two processes";
        findings.warning("memory-only", None).because(warning, advice);
        return Ok(Diagnosis::new(url.to_string(), Vec::new(), findings));
    }
    let options = config.redis_options();
    let members = url.nodes()?;
    let is_quorum = members.is_some();
    let members = members.unwrap_or_else(|| vec![url.clone()]);
    let (began, now) = (Instant::now(), SystemTime::now().duration_since(SystemTime::UNIX_EPOCH));
    let probes = members.iter().map(|member| probe::run(member.reveal(), &options, began));
    let snapshots = try_join_all(probes).await?;
    check(config, is_quorum, &snapshots, now.unwrap_or_default(), &mut findings);
    let places = if trial::is_explained(&findings) { Vec::new() } else { trial::places(config, &snapshots) };
    let (resources, places): (Vec<_>, Vec<_>) = places.into_iter().unzip();
    for (trial, server) in trial::run(config, &resources).await?.into_iter().zip(places) {
        trial::check(trial, server.as_deref(), &mut findings);
    }
    let servers = snapshots.into_iter().flat_map(|snapshot| snapshot.servers).map(|server| server.address);
    Ok(Diagnosis::new(url.to_string(), servers.collect(), findings))
}

/// Checks the deployment by the snapshot of each member. `now` is the time of this machine when the examination
/// began.
fn check(config: &Config, is_quorum: bool, members: &[Snapshot], now: Duration, findings: &mut Findings) {
    if config.store.layout == Layout::Plain {
        findings.notice("plain-layout", None).because(
            "store.layout is plain: there are no fences, and waiters are served in no order",
            "use store.layout = \"full\" once no other library shares the locks",
        );
    }
    if is_quorum {
        quorum::check(config, members, findings);
    }
    for snapshot in members {
        for server in &snapshot.servers {
            server::check(config, is_quorum, server, findings);
        }
        match &snapshot.directory {
            Directory::None => {}
            Directory::Sentinels(sentinels) => {
                sentinel::check(config, sentinels, &snapshot.servers, findings)
            }
            Directory::Cluster(cluster) => cluster::check(config, cluster, &snapshot.servers, findings),
        }
    }
    clocks::check(is_quorum, members, now, findings);
}
