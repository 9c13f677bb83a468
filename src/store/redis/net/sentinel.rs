//! The sentinels, which know the master of a service.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::join_all;
use parking_lot::Mutex;
use redis::{Client, Pipeline, RedisResult, Value};
use tokio::{sync::watch, time::Instant};

use crate::store::{
    StoreError,
    redis::net::{
        address::{NodeAddress, Nodes},
        belief::{self, MasterTerm, Opinion},
        info::{self, InfoTable},
        opening::{address, dial, opened_at, within},
    },
};

/// The interval at which the sentinels are asked while all is well.
const PERIOD: Duration = Duration::from_secs(1);

pub(crate) struct Sentinels {
    sentinels: Vec<Client>,
    service: String,
    pub(crate) nodes: Nodes,
    /// The time that one of them may take. A dead one must not use up the time to connect.
    within: Duration,
    /// The master of the latest epoch that was told, for as long as the store is there.
    known: watch::Sender<Option<MasterTerm>>,
    checked: Mutex<Option<Instant>>,
}

impl Sentinels {
    pub(crate) fn new(
        sentinels: Vec<Client>,
        service: String,
        nodes: Nodes,
        connect_timeout: Duration,
    ) -> Self {
        let (known, checked) = (watch::Sender::default(), Mutex::default());
        Self { sentinels, service, nodes, within: connect_timeout / 2, known, checked }
    }

    pub(crate) fn known(&self) -> Option<NodeAddress> {
        self.known.borrow().as_ref().map(|known| known.master.clone())
    }

    /// Completes when another master than this one is named.
    pub(crate) async fn moved(&self, from: Option<&NodeAddress>) {
        // It fails only if the sender is gone, which this value owns.
        let _ =
            self.known.subscribe().wait_for(|known| known.as_ref().map(|known| &known.master) != from).await;
    }

    /// Asks the sentinels in the background, if the last time was long enough ago.
    pub(crate) fn check(self: &Arc<Self>) {
        let now = Instant::now();
        let mut checked = self.checked.lock();
        if checked.is_none_or(|at| now >= at + PERIOD) {
            *checked = Some(now);
            let sentinels = Arc::clone(self);
            // What it finds is kept; a failure changes nothing.
            tokio::spawn(async move { sentinels.ask().await.map(drop) });
        }
    }

    pub(crate) async fn ask(&self) -> Result<NodeAddress, StoreError> {
        let before = self.known.borrow().clone();
        let asked = self.sentinels.iter().map(|sentinel| async {
            let asking = opened_at(sentinel, opinion(sentinel, &self.service));
            within(self.within, || format!("{}: no answer", address(sentinel)), asking).await
        });
        let (mut told, mut wrong, mut reasons) = (Vec::new(), None, Vec::new());
        for (sentinel, answer) in self.sentinels.iter().zip(join_all(asked).await) {
            match answer {
                Ok(Some(opinion)) => told.push(opinion),
                Ok(None) => reasons.push(format!("{}: unknown service", address(sentinel))),
                Err(error) => {
                    reasons.push(error.to_string());
                    wrong = wrong.or((!error.is_transient()).then_some(error));
                }
            }
        }
        let reasons = reasons.join("; ");
        if told.is_empty() {
            let reason = format!("no sentinel names the master of {:?} ({reasons})", self.service);
            return Err(wrong.unwrap_or_else(|| StoreError::unavailable(reason)));
        }
        self.learn(&told, before).map_err(|doubt| {
            let reasons = if reasons.is_empty() { reasons } else { format!(" ({reasons})") };
            let service = &self.service;
            StoreError::unavailable(format!(
                "the sentinels are not believed about the master of {service:?}: {doubt}{reasons}"
            ))
        })
    }

    /// Keeps what may be believed of these opinions, and returns the master according to that. `before` was known when
    /// the sentinels were asked.
    fn learn(&self, told: &[Opinion], before: Option<MasterTerm>) -> Result<NodeAddress, belief::Doubt> {
        let mut learnt = Err(belief::Doubt::Minority { told: 0, of: self.sentinels.len() });
        self.known.send_if_modified(|known| {
            learnt = belief::believed(told, self.sentinels.len(), known.as_ref());
            let Ok(term) = &learnt else { return false };
            if let Some(known) = known.as_ref().filter(|known| term.epoch < known.epoch) {
                // Another question was answered meanwhile: these answers are from before the failover that it told of.
                if before.as_ref() != Some(known) {
                    learnt = Err(belief::Doubt::Older { told: term.clone(), known: known.clone() });
                    return false;
                }
                tracing::warn!(
                    service = %self.service, known = %known.master, known_epoch = known.epoch, now = %term.master,
                    epoch = term.epoch, "all sentinels agree on an older epoch: taken as set up anew"
                );
            }
            let is_other = known.as_ref().map(|known| &known.master) != Some(&term.master);
            *known = Some(term.clone());
            is_other
        });
        learnt.map(|term| term.master)
    }
}

/// Asks a sentinel for its opinion of a service; `None` if it does not know the service.
async fn opinion(sentinel: &Client, service: &str) -> RedisResult<Option<Opinion>> {
    let mut connection = dial(sentinel).await?;
    let (address, table) = questions(service).ignore_errors().query_async(&mut connection).await?;
    Ok(read(address, table)?.map(|(opinion, _)| opinion))
}

/// Returns the questions for the address of the master, and for the table of the service.
///
/// The address is that of the new master as soon as it is promoted; the table names it only when the replicas follow.
/// Both are asked for at once: the old address with the new epoch would be believed.
pub(crate) fn questions(service: &str) -> Pipeline {
    let mut both = redis::pipe();
    both.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(service);
    both.cmd("SENTINEL").arg("MASTER").arg(service);
    both
}

/// Reads the answers to both questions: the opinion, and the table that it is from. Returns `None` if the sentinel does
/// not know the service.
pub(crate) fn read(address: Value, table: Value) -> RedisResult<Option<(Opinion, InfoTable)>> {
    let address: Option<(String, u16)> = redis::from_redis_value(address.extract_error()?)?;
    let Some((host, port)) = address else { return Ok(None) };
    let table: InfoTable = redis::from_redis_value(table.extract_error()?)?;
    let number = |name| info::number(&table, name).unwrap_or(0);
    let term = MasterTerm { epoch: number("config-epoch"), master: NodeAddress::new(host, port) };
    let others = usize::try_from(number("num-other-sentinels")).unwrap_or(usize::MAX);
    Ok(Some((Opinion { term, others }, table)))
}

impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentinels: Vec<_> = self.sentinels.iter().map(address).collect();
        write!(f, "the master of {:?} by {}", self.service, sentinels.join(","))
    }
}
