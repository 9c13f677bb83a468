//! The trial: a lock that is taken, handed over and released, to check the whole path.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::probe::{self, Directory, Range, Snapshot};
use futures_util::StreamExt;
use leasehold::{
    Config, ConfigError, Mode, ResourceName, StoreError,
    env::{Random, SystemRandom},
    probe::slot,
    store::{
        Acquired, Acquisition, Hold, Inbox, Notification, Notifications, QueueTicket, Released, Renewed,
        Store,
    },
    text::rough,
};
use tokio::time::timeout;

use crate::{Severity, finding::Findings};

/// The time after which leftovers end by themselves, if their release fails.
const TTL: Duration = Duration::from_secs(5);
/// The number of attempts. The first pays for connections and scripts, which may take longer than the timeout for the
/// members of a quorum.
const ATTEMPTS: u32 = 3;
/// The largest number of names that are tried to find one on each master of a cluster.
const NAMES: usize = 10_000;
const RIGHTS: &str = "rights";
const UNKNOWN: &str = "unknown-command";
const HAND_OVERS: &str = "hand-overs";

/// The result of a trial.
#[derive(Debug)]
pub(crate) struct LockTrial {
    /// The verb that failed, and how.
    failed: Option<Failed>,
    /// The reason why waiters are not notified of hand-overs, if they are not.
    disconnected: Option<String>,
    /// The check that finds this reason: a missing right, a missing command, or another one.
    of: &'static str,
}

impl Default for LockTrial {
    fn default() -> Self {
        Self { failed: None, disconnected: None, of: HAND_OVERS }
    }
}

/// A verb, and its error.
type Failed = (&'static str, StoreError);

/// Returns the same configuration with a prefix that no application uses. The members of a quorum have recovered for one
/// prefix alone, so theirs stays: a random name belongs to nobody.
fn harmless(config: &Config) -> Config {
    if matches!(config.store.url.nodes(), Ok(Some(_))) {
        return config.clone();
    }
    let mut own = config.clone();
    own.store.prefix = probe::prefix(&config.store.prefix);
    // The counter of fences is the only key that outlives a lock.
    own.store.fence_retention = Duration::from_secs(1);
    // A prefix that is almost too long is not extended.
    if own.check().is_ok() { own } else { config.clone() }
}

/// Returns the resources to take, each with the address of its server: one resource, or one on each master of a cluster.
pub(crate) fn places(config: &Config, snapshots: &[Snapshot]) -> Vec<(ResourceName, Option<String>)> {
    let [only] = snapshots else {
        return vec![(name(), None)];
    };
    let reached = |place: usize| only.servers.get(place).filter(|server| server.info.is_ok());
    match &only.directory {
        Directory::Cluster(Ok(ranges)) => {
            let mut masters: Vec<usize> = ranges.iter().map(|range| range.master).collect();
            masters.sort_unstable();
            masters.dedup();
            let on =
                |master| Some((name_on(config, ranges, master)?, Some(reached(master)?.address.clone())));
            masters.into_iter().filter_map(on).collect()
        }
        // If there are several servers, the first is the master.
        _ => reached(0).map(|server| (name(), Some(server.address.clone()))).into_iter().collect(),
    }
}

fn name() -> ResourceName {
    ResourceName::new(SystemRandom.token().to_hex()).expect("32 bytes are a name")
}

/// Returns a name in a slot of this master.
fn name_on(config: &Config, ranges: &[Range], master: usize) -> Option<ResourceName> {
    let prefix = probe::prefix(&config.store.prefix);
    std::iter::repeat_with(name).take(NAMES).find(|name| {
        let slot = slot(config.store.layout, &prefix, name);
        ranges.iter().any(|range| range.master == master && (range.first..=range.last).contains(&slot))
    })
}

/// Runs a trial on each of these, one after the other.
pub(crate) async fn run(config: &Config, resources: &[ResourceName]) -> Result<Vec<LockTrial>, ConfigError> {
    let config = harmless(config);
    let store = config.open_store()?;
    let mut trials = Vec::new();
    let timeout_of_a_step = config.store.connect_timeout + config.response_timeout();
    let within = 2 * ATTEMPTS * timeout_of_a_step;
    for resource in resources {
        let acting = Acting { store: &*store, resource, ttl: TTL.min(config.lease.ttl), timeout_of_a_step };
        let late =
            |_| LockTrial { failed: Some(("a lock", StoreError::timed_out(within))), ..LockTrial::default() };
        trials.push(timeout(within, acting.act_again()).await.unwrap_or_else(late));
    }
    Ok(trials)
}

struct Acting<'a> {
    store: &'a dyn Store,
    resource: &'a ResourceName,
    ttl: Duration,
    timeout_of_a_step: Duration,
}

impl Acting<'_> {
    async fn act_again(&self) -> LockTrial {
        let mut trial = self.act().await;
        for _ in 1..ATTEMPTS {
            if trial.failed.as_ref().is_none_or(|(_, error)| !error.is_transient()) {
                break;
            }
            trial = self.act().await;
        }
        trial
    }

    async fn act(&self) -> LockTrial {
        let inbox = Inbox(SystemRandom.token());
        let (first, second) = (self.asked(None), self.asked(Some(inbox)));
        let mut trial = LockTrial::default();
        let mut notifications = self.store.listen(&inbox);
        let subscribed = self.is_subscribed(&mut notifications, &mut trial).await;
        let taken = self.take_and_hand_over(&first, &second, subscribed, notifications, &mut trial).await;
        trial.failed = taken.err();
        if trial.failed.is_some() {
            // The failed verb may have been executed.
            for asked in [&first, &second] {
                // If the release fails too, the hold ends by itself.
                let _ = self.store.release(&asked.hold, Duration::ZERO).await;
            }
        }
        trial
    }

    /// Returns true if notifications arrive. A store without a queue has none.
    async fn is_subscribed(&self, notifications: &mut Notifications, trial: &mut LockTrial) -> bool {
        let disconnected = match timeout(self.timeout_of_a_step, notifications.next()).await {
            Ok(None) => return false,
            Ok(Some(Notification::Disconnected(error))) => {
                trial.of = match error {
                    StoreError::Denied { .. } => RIGHTS,
                    StoreError::Misconfigured { .. } => UNKNOWN,
                    _ => HAND_OVERS,
                };
                error.to_string()
            }
            Ok(Some(_)) => return true,
            Err(_) => format!("no subscription within {}", rough(self.timeout_of_a_step)),
        };
        trial.disconnected = Some(disconnected);
        false
    }

    async fn take_and_hand_over(
        &self,
        first: &Acquisition,
        second: &Acquisition,
        subscribed: bool,
        mut notifications: Notifications,
        trial: &mut LockTrial,
    ) -> Result<(), Failed> {
        let &Self { store, resource, ttl, timeout_of_a_step } = self;
        let failed = |verb: &'static str| move |error| (verb, error);
        let wrong = |verb: &'static str, doing: String| Err((verb, StoreError::reply_lost(doing)));
        match store.acquire(first).await.map_err(failed("acquire"))? {
            Acquired::Granted(_) => {}
            other => return wrong("acquire", format!("a free resource was not granted: {other:?}")),
        }
        match store.renew(&first.hold, ttl).await.map_err(failed("renew"))? {
            Renewed::Extended => {}
            Renewed::NotHeld => return wrong("renew", "the lock was gone at once".to_owned()),
        }
        store.inspect(resource, 1).await.map_err(failed("inspect"))?;
        let waits = subscribed && {
            let asked = store.acquire(second).await.map_err(failed("acquire"))?;
            matches!(asked, Acquired::Queued { .. })
        };
        match store.release(&first.hold, Duration::ZERO).await.map_err(failed("release"))? {
            Released::Freed => {}
            other => return wrong("release", format!("a hold was not released: {other:?}")),
        }
        if waits {
            let handed_over = async {
                while let Some(notification) = notifications.next().await {
                    if matches!(notification, Notification::HandedOver(token) if token == second.hold.token) {
                        break;
                    }
                }
            };
            if timeout(timeout_of_a_step, handed_over).await.is_err() {
                trial.disconnected =
                    Some(format!("no notification of a hand-over within {}", rough(timeout_of_a_step)));
            }
            // The release is right either way: it was handed over, or it still waits.
            let _: Released = store.release(&second.hold, Duration::ZERO).await.map_err(failed("release"))?;
        }
        Ok(())
    }

    fn asked(&self, inbox: Option<Inbox>) -> Acquisition {
        let grant_window = self.ttl;
        Acquisition {
            hold: Hold { resource: self.resource.clone(), token: SystemRandom.token(), owner: None },
            mode: Mode::Exclusive,
            reentrant: false,
            ttl: self.ttl,
            lock_delay: Duration::ZERO,
            metadata: Arc::new(BTreeMap::from([("purpose".to_owned(), "doctor".to_owned())])),
            ticket: inbox.map(|inbox| QueueTicket {
                inbox,
                ttl: self.ttl,
                grant_window,
                max_waiters: 1,
                place: None,
            }),
        }
    }
}

/// Returns true if a finding at any server already stops locks. A trial would only repeat it.
pub(crate) fn is_explained(findings: &Findings) -> bool {
    findings.any(|found| {
        found.severity == Severity::Critical && !["eviction", "version", "same-server"].contains(&found.check)
    })
}

/// Adds the findings of a trial at this server to the earlier ones.
pub(crate) fn check(trial: LockTrial, at: Option<&str>, findings: &mut Findings) {
    let LockTrial { failed, disconnected, of } = trial;
    let explained = is_explained(findings);
    if let Some((verb, error)) = failed.filter(|_| !explained) {
        findings.critical("trial", at).because(
            format!("{verb} failed when it was tried: {error}"),
            "locks will fail in the same way; the reason is in the words of the server",
        );
    }
    let known = |check: &str| findings.any(|found| found.check == check && found.server.as_deref() == at);
    match disconnected {
        None => {}
        Some(_) if explained || known(RIGHTS) || known(UNKNOWN) && of == HAND_OVERS => {}
        Some(error) if of == UNKNOWN => findings.warning(UNKNOWN, at).because(
            format!("{error}: waiters are not notified, and attempt by their backoff alone"),
            "undo rename-command in its configuration, or use a server that has it",
        ),
        Some(error) if of == RIGHTS => findings.warning(RIGHTS, at).because(
            format!("the user may not subscribe ({error}): waiters are not notified, and attempt by their backoff alone"),
            "on this server: ACL SETUSER <user> +subscribe",
        ),
        Some(error) => findings.warning(HAND_OVERS, at).because(
            format!("{error}: waiters are not notified, and attempt by their backoff alone"),
            "look for a proxy between here and the server that does not pass publishing and subscribing on",
        ),
    }
}
