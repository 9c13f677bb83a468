//! The endpoint of a connection: always the same server, or the master that the sentinels name now.

use std::{fmt, future, sync::Arc, time::Duration};

use futures_util::future::join_all;
use parking_lot::Mutex;
use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::{sync::watch, time::Instant};

use super::{
    address::{NodeAddress, Nodes},
    belief::{self, MasterTerm, Opinion},
    opening::{address, opened_at, within},
    server::Server,
};
use crate::store::StoreError;

/// The interval at which the sentinels are asked while all is well.
const PERIOD: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) enum Endpoint {
    Fixed(Box<Server>),
    Master(Arc<Sentinels>),
}

impl Endpoint {
    /// Returns the current server, and the master that the sentinels named.
    pub(crate) async fn find(&self) -> Result<(Server, Option<NodeAddress>), StoreError> {
        match self {
            Self::Fixed(server) => Ok(((**server).clone(), None)),
            Self::Master(sentinels) => {
                let master = sentinels.ask().await?;
                Ok((sentinels.nodes.server(&master)?, Some(master)))
            }
        }
    }

    /// Makes sure that the server that was found is a master: the sentinels may know less than the server itself.
    pub(crate) async fn check(&self, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        if matches!(self, Self::Fixed(_)) {
            return Ok(());
        }
        match redis::cmd("ROLE").query_async::<Vec<Value>>(connection).await?.first() {
            Some(Value::BulkString(role)) if role == b"master" => Ok(()),
            // An error of this kind counts as one of the network, and is therefore transient.
            _ => Err(std::io::Error::other("the server that the sentinels name is no master (yet)").into()),
        }
    }

    /// Returns true if the master is another one by now, as far as that is known. Asks the sentinels in the background
    /// now and then: a master that was replaced may go on answering for seconds.
    pub(crate) fn has_moved(&self, from: Option<&NodeAddress>) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Master(sentinels) => {
                sentinels.check();
                master(&sentinels.known.borrow()) != from
            }
        }
    }

    /// Completes when the master is another one.
    pub(crate) async fn moved(&self, from: Option<&NodeAddress>) {
        match self {
            Self::Fixed(_) => future::pending().await,
            Self::Master(sentinels) => {
                // It fails only if the sender is gone, which the sentinels own.
                let _ = sentinels.known.subscribe().wait_for(|known| master(known) != from).await;
            }
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The server comes with the password: only the address is shown.
            Self::Fixed(server) => write!(f, "{}", address(server)),
            Self::Master(sentinels) => {
                let Sentinels { sentinels, service, .. } = &**sentinels;
                let sentinels: Vec<_> = sentinels.iter().map(|it| address(it)).collect();
                write!(f, "the master of {service:?} by {}", sentinels.join(","))
            }
        }
    }
}

/// The sentinels, which know the master of a service.
pub(crate) struct Sentinels {
    sentinels: Vec<Server>,
    service: String,
    nodes: Nodes,
    /// The time that one of them may take. A dead one must not use up the time to connect.
    within: Duration,
    /// The master of the latest epoch that was told, for as long as the store is there.
    known: watch::Sender<Option<MasterTerm>>,
    checked: Mutex<Option<Instant>>,
}

impl Sentinels {
    pub(crate) fn new(sentinels: Vec<Server>, service: String, nodes: Nodes, timeout: Duration) -> Self {
        let (known, checked) = (watch::Sender::default(), Mutex::default());
        Self { sentinels, service, nodes, within: timeout / 2, known, checked }
    }

    /// Asks the sentinels in the background, if the last time was long enough ago.
    fn check(self: &Arc<Self>) {
        let now = Instant::now();
        let mut checked = self.checked.lock();
        if checked.is_none_or(|at| now >= at + PERIOD) {
            *checked = Some(now);
            let sentinels = Arc::clone(self);
            // What it finds is kept; a failure changes nothing.
            tokio::spawn(async move { sentinels.ask().await.map(drop) });
        }
    }

    async fn ask(&self) -> Result<NodeAddress, StoreError> {
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
            let is_other = master(known) != Some(&term.master);
            *known = Some(term.clone());
            is_other
        });
        learnt.map(|term| term.master)
    }
}

fn master(known: &Option<MasterTerm>) -> Option<&NodeAddress> {
    known.as_ref().map(|known| &known.master)
}

/// Asks a sentinel for its opinion of a service; `None` if it does not know the service.
async fn opinion(sentinel: &Server, service: &str) -> RedisResult<Option<Opinion>> {
    let mut connection = sentinel.dial().await?;
    let (address, table) = belief::questions(service).ignore_errors().query_async(&mut connection).await?;
    Ok(belief::read(address, table)?.map(|(opinion, _)| opinion))
}
