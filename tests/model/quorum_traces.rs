//! Random traces of the model of a quorum, whose nodes are real servers here, and have to answer as those of the model do.
//!
//! The counters of fences are far ahead of the servers' clocks: so a fence of the model is that of a server, and [`AHEAD`].

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use leasehold::{
    Fence, Mode, Owner, RedisOptions, RedisStore, ResourceName, Token,
    rules::{Incarnation, Recovered, Report},
    store::{Acquired, Acquisition, Hold, QuorumNode, Store},
};
use leasehold_sim::checked::{
    World,
    quorum::{NODES, NodeAnswer, NodeCall, before_the_first_fence},
    traces::QuorumStep,
};
use leasehold_testing::servers::RedisServer;
use support::patient::patient;

use super::{
    TODAY,
    traces::{Found, same, traces},
};

const AHEAD: u64 = 8_000_000_000_000_000;
const LONG: Duration = Duration::from_secs(1_000);
/// The most tokens of a trace.
const TOKENS: u8 = 8;

fn hold(which: usize, token: u8) -> Hold {
    // The first digits are shown of a token: let them differ.
    let bits = u128::from(token) << 96 | 1;
    let owner = Owner::new(format!("client-{which}")).expect("an owner");
    let resource = ResourceName::new("trace").expect("a name");
    Hold { resource, token: Token::from_bits(bits), owner: Some(owner) }
}

fn acquisition(which: usize, token: u8) -> Arc<Acquisition> {
    Arc::new(Acquisition {
        hold: hold(which, token),
        mode: Mode::Exclusive,
        reentrant: true,
        ttl: LONG,
        lock_delay: Duration::ZERO,
        metadata: Arc::default(),
        ticket: None,
    })
}

fn fence(model: u64) -> Fence {
    Fence::new(AHEAD + model)
}

/// A node, and its incarnations so far.
struct Node {
    number: usize,
    server: RedisServer,
    store: RedisStore,
    incarnations: Vec<String>,
}

impl Node {
    fn start(number: usize) -> Self {
        let server = RedisServer::start();
        let options = RedisOptions { prefix: "node".to_owned(), ..patient() };
        let store = RedisStore::with_options(&server.url(), options).expect("a store");
        Self { number, server, store, incarnations: Vec::new() }
    }

    /// Empties it, and sets its counter.
    fn empty(&self) {
        self.server.command(&["FLUSHALL"]);
        let before = fence(before_the_first_fence(self.number));
        self.server.command(&["SET", "node:fence", &before.to_string()]);
    }

    async fn report(&self) -> Result<Report, String> {
        // Connections to a server that was restarted have to be opened anew.
        for _ in 0..100 {
            match self.store.report().await {
                Err(error) if error.is_transient() => tokio::task::yield_now().await,
                report => return report.map_err(|error| error.to_string()),
            }
        }
        Err("no report".to_owned())
    }

    /// Meets a new incarnation.
    async fn meet(&mut self) -> Found {
        let Incarnation { id, .. } = self.report().await?.incarnation;
        if self.incarnations.contains(&id) {
            return Err(format!("{id} again: {:?}", self.incarnations));
        }
        self.incarnations.push(id);
        Ok(())
    }

    /// Begins a trace: the first incarnation knows all that there is to know.
    async fn begin(&mut self) -> Found {
        self.empty();
        self.incarnations.clear();
        self.meet().await?;
        self.teach(0, 0).await
    }

    async fn teach(&self, incarnation: u8, taught: u64) -> Found {
        let incarnation = self.incarnations[usize::from(incarnation)].clone();
        let lesson = Recovered { incarnation, durable: false, fence: fence(taught) };
        self.store.teach(&lesson).await.map_err(|error| error.to_string())
    }

    async fn call(&mut self, call: NodeCall, model: NodeAnswer) -> Found {
        let failed = |error: leasehold::StoreError| error.to_string();
        match call {
            NodeCall::Acquire(which, token) => {
                let asked = [acquisition(which, token)];
                let told = self.store.acquire_each_from(&asked, Fence::new(0)).await;
                let answer = told.answers.into_iter().next().ok_or("no answer")?.map_err(failed)?;
                let incarnation = self.report().await?.incarnation;
                let recovered = told.recovered.filter(|it| incarnation.has_recovered(Some(it)));
                let real = match answer {
                    Acquired::Granted(grant) => {
                        let counts = recovered.is_some_and(|it| it.covers(grant.fence));
                        NodeAnswer::Granted(grant.fence.map_or(0, model_of), counts)
                    }
                    Acquired::Refused(_) => NodeAnswer::Refused,
                    other => return Err(format!("{other:?}")),
                };
                same(model, real)
            }
            NodeCall::Raise(which, token, raised) => {
                let hold = hold(which, token);
                let raises = [(&hold, fence(raised))];
                let answer = self.store.raise_fences(&raises).await.pop().ok_or("no answer")?;
                same(model, NodeAnswer::Raised(answer.map_err(failed)?))
            }
            NodeCall::Release(which, token) => {
                // Whether it held is seen by what holds after it.
                self.store.release(&hold(which, token), Duration::ZERO).await.map(drop).map_err(failed)
            }
            NodeCall::Teach(incarnation, taught) => self.teach(incarnation, taught).await,
            NodeCall::Report => {
                let Report { incarnation, recovered, last, .. } = self.report().await?;
                let number =
                    |id: &String| self.incarnations.iter().position(|it| it == id).map(|at| at as u8);
                let recovered = recovered.map(|it| (number(&it.incarnation), model_of(it.fence)));
                let NodeAnswer::Reported(now, taught, expected) = model else {
                    return Err(format!("the model answers {model:?}"));
                };
                same((Some(now), expected), (number(&incarnation.id), model_of(last)))?;
                same(taught.map(|(incarnation, fence)| (Some(incarnation), fence)), recovered)
            }
            NodeCall::Restart => {
                self.server.restart();
                self.empty();
                self.meet().await
            }
        }
    }

    /// The tokens that hold, sorted, and their fence.
    async fn holds(&self) -> Result<Option<(Vec<u8>, u64)>, String> {
        let seen = self.store.inspect(&hold(0, 0).resource, 100).await.map_err(|error| error.to_string())?;
        let fences: BTreeSet<_> = seen.holders.iter().map(|holder| holder.fence.map(model_of)).collect();
        let holds = |token: &u8| {
            let prefix = hold(0, *token).token.prefix();
            seen.holders.iter().any(|holder| holder.token == prefix)
        };
        match fences.len() {
            0 => Ok(None),
            1 => Ok(fences
                .first()
                .copied()
                .flatten()
                .map(|fence| ((0..TOKENS).filter(holds).collect(), fence))),
            _ => Err(format!("holds of one owner with the fences {fences:?}")),
        }
    }
}

fn model_of(fence: Fence) -> u64 {
    fence.get().saturating_sub(AHEAD)
}

async fn step(nodes: &mut [Node], step: &QuorumStep) -> Found {
    for (node, call, answer) in &step.calls {
        nodes[*node].call(*call, *answer).await.map_err(|found| format!("node {node}, {call:?}: {found}"))?;
    }
    for (node, holds) in nodes.iter().zip(&step.holds) {
        same(holds.clone(), node.holds().await?)?;
    }
    Ok(())
}

fn kind(call: NodeCall, answer: NodeAnswer) -> &'static str {
    match (call, answer) {
        (_, NodeAnswer::Granted(_, true)) => "granted",
        (_, NodeAnswer::Granted(_, false)) => "granted, and does not count",
        (_, NodeAnswer::Refused) => "refused",
        (_, NodeAnswer::Raised(true)) => "raised",
        (_, NodeAnswer::Raised(false)) => "not raised",
        (_, NodeAnswer::Reported(_, Some(_), _)) => "reported",
        (_, NodeAnswer::Reported(_, None, _)) => "reported, and has not recovered",
        (NodeCall::Release(..), _) => "released",
        (NodeCall::Teach(..), _) => "taught",
        (NodeCall::Restart, _) => "restarted",
        (NodeCall::Acquire(..) | NodeCall::Raise(..) | NodeCall::Report, _) => "no answer",
    }
}

/// The kinds of calls that have to occur in the traces.
const KINDS: [&str; 10] = [
    "granted",
    "granted, and does not count",
    "not raised",
    "raised",
    "refused",
    "released",
    "reported",
    "reported, and has not recovered",
    "restarted",
    "taught",
];

#[tokio::test]
async fn traces_of_the_nodes_of_a_quorum_are_those_of_servers() {
    let mut nodes: Vec<_> = (0..NODES).map(Node::start).collect();
    let (mut calls, mut kinds) = (0, BTreeSet::new());
    for number in 0..traces() {
        for node in &mut nodes {
            node.begin().await.expect("an empty node");
        }
        let steps = World::with_much(TODAY).trace(number, 120);
        for (at, it) in steps.iter().enumerate() {
            calls += it.calls.len();
            kinds.extend(it.calls.iter().map(|(_, call, answer)| kind(*call, *answer)));
            if let Err(found) = step(&mut nodes, it).await {
                let before: String = steps[..=at].iter().map(|step| format!("{step:?}\n")).collect();
                panic!("trace {number}: {found}\n{before}");
            }
        }
    }
    let missing: Vec<_> = KINDS.iter().filter(|kind| !kinds.contains(**kind)).collect();
    assert!(missing.is_empty() || traces() < 100, "{missing:?} of {kinds:?}");
    println!("{} traces of {calls} calls", traces());
}
