//! Random traces of the thin model, executed on a real server, which has to answer as the model does.
//!
//! The plain commands of several clients are executed one by one, with others between them: so they are sent by hand, with the
//! values that the store writes. Scripts are sent by a store that knows no plain commands.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{StreamExt, future};
use leasehold::{
    Fence, HolderState, Mode, RedisOptions, RedisStore, ResourceName, Token,
    store::{Acquired, Acquisition, Hold, Notification, Notifications, QueueTicket, Released, Store},
};
use leasehold_sim::checked::{
    thin::{ThinAnswer, ThinCall, ThinWorld},
    traces::ThinStep,
};
use leasehold_testing::servers::RedisServer;
use redis::Value;
use support::patient::patient;

use super::{
    ears::inbox,
    traces::{Found, same, traces},
};

const LONG: Duration = Duration::from_secs(1_000);
/// Beside them there is one that has died in some traces.
const CLIENTS: usize = 3;
/// The most tokens of a trace.
const TOKENS: u8 = 20;
const COUNTER: &str = "thin:fence";
const MAIN: &str = "thin:{trace}";
const TICKETS: &str = "thin:{trace}:p";
const QUEUE: &str = "thin:{trace}:q";

fn open(server: &RedisServer, prefix: &str, fence_retention: Duration) -> RedisStore {
    let options = RedisOptions { prefix: prefix.to_owned(), fence_retention, ..patient() };
    RedisStore::with_options(&server.url(), options).expect("a store")
}

fn bits(token: u8) -> u128 {
    // The first digits are shown of a token: let them differ.
    u128::from(token) << 96 | 1
}

/// The digits of a token, as the server has them.
fn digits(token: u8) -> String {
    format!("{:032x}", bits(token))
}

fn hold(token: u8) -> Hold {
    let resource = ResourceName::new("trace").expect("a name");
    Hold { resource, token: Token::from_bits(bits(token)), owner: None }
}

fn acquisition(which: usize, token: u8) -> Acquisition {
    let ticket = QueueTicket {
        inbox: inbox(which, false),
        ttl: LONG,
        grant_window: LONG,
        max_waiters: 100,
        place: None,
    };
    Acquisition {
        hold: hold(token),
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: LONG,
        lock_delay: Duration::ZERO,
        metadata: Default::default(),
        ticket: Some(ticket),
    }
}

/// A server, and what its clients send.
struct Real {
    server: RedisServer,
    scripts: RedisStore,
    /// The value that the store sets by plain commands, for each token.
    values: Vec<String>,
    /// The inboxes of all clients. To a waiter that does not listen nothing is handed over.
    _inboxes: Vec<Notifications>,
}

impl Real {
    async fn start() -> Self {
        let server = RedisServer::start();
        let mut values = Vec::new();
        let plain = open(&server, "plain", RedisOptions::default().fence_retention);
        let mut warm = acquisition(0, 0);
        warm.hold.resource = ResourceName::new("warm").expect("a name");
        plain.acquire(&warm).await.expect("a grant");
        for token in 0..TOKENS {
            plain.acquire(&acquisition(0, token)).await.expect("a grant");
            let Value::BulkString(value) = server.command(&["GETDEL", "plain:{trace}"]) else {
                panic!("no value")
            };
            assert_eq!(&value[32..34], b"-0", "it has no fence");
            values.push(String::from_utf8(value).expect("a text"));
        }
        // A counter that ends so soon is not added to by plain commands.
        let scripts = open(&server, "thin", Duration::from_secs(60));
        let mut inboxes: Vec<_> = (0..=CLIENTS).map(|which| scripts.listen(&inbox(which, false))).collect();
        let first = future::join_all(inboxes.iter_mut().map(StreamExt::next)).await;
        assert!(first.iter().all(|it| matches!(it, Some(Notification::Subscribed))), "{first:?}");
        Self { server, scripts, values, _inboxes: inboxes }
    }

    /// Ends the ticket of a token, as time does.
    fn end_ticket(&self, token: u8) {
        let token = digits(token);
        self.server.command(&["ZREM", TICKETS, &token, &format!("!{token}")]);
        self.server.command(&["ZREM", QUEUE, &token]);
        self.server.command(&["HDEL", "thin:{trace}:w", &token]);
    }
}

fn counter(value: &Value) -> Result<Option<u64>, String> {
    let Value::BulkString(digits) = value else { return Ok(None) };
    let digits = String::from_utf8_lossy(digits);
    digits.parse().map(Some).map_err(|_| format!("no number: {digits}"))
}

/// One trace.
struct ThinTrace<'a> {
    real: &'a Real,
    /// The numbers of the model, and those of the server beside them.
    numbers: BTreeMap<u64, u64>,
    /// The token that was handed the resource and has not asked since. Its ticket is still kept.
    unclaimed: Option<u8>,
    /// The counter of the replica.
    replica: Option<u64>,
}

impl ThinTrace<'_> {
    async fn step(&mut self, step: &ThinStep, holder: Option<u8>, waiters: &[u8]) -> Found {
        self.call(step, holder).await?;
        let asks = |token: &u8| matches!(step.call, ThinCall::Script(_, asking) if asking == *token);
        let was_handed = |token: &u8| {
            self.unclaimed == Some(*token) || waiters.contains(token) && !step.waiters.contains(token)
        };
        self.unclaimed = step.holder.filter(|token| was_handed(token) && !asks(token));
        let seen = self.real.scripts.inspect(&hold(0).resource, 100).await;
        let seen = seen.map_err(|error| error.to_string())?;
        let prefix = |token: &u8| hold(*token).token.prefix();
        assert!(seen.holders.iter().all(|holder| holder.state == HolderState::Holding));
        same(step.holder.as_ref().map(prefix), seen.holders.first().map(|it| it.token))?;
        same(
            step.waiters.iter().map(prefix).collect::<Vec<_>>(),
            seen.waiters.iter().map(|it| it.token).collect(),
        )
    }

    async fn call(&mut self, step: &ThinStep, holder: Option<u8>) -> Found {
        let Real { server, scripts, values, .. } = self.real;
        let failed = |error: leasehold::StoreError| error.to_string();
        let answer = match step.call {
            ThinCall::Add => match server.command(&["INCRBY", COUNTER, "1"]) {
                Value::Int(counter) => return self.compare(step.answer, Some(counter as u64), false),
                other => format!("{other:?}"),
            },
            ThinCall::Set(token) => {
                let value = &values[usize::from(token)];
                let set = server.command(&["SET", MAIN, value, "NX", "PX", "1000000"]);
                return same(step.answer, ThinAnswer::Set(set == Value::Okay));
            }
            ThinCall::LookForTickets => {
                let is_waited_for = server.command(&["EXISTS", TICKETS]) == Value::Int(1);
                let is_unclaimed = is_waited_for && self.unclaimed.is_some();
                let answer = if is_unclaimed { step.answer } else { ThinAnswer::IsWaitedFor(is_waited_for) };
                return same(step.answer, answer);
            }
            ThinCall::Get(token) => {
                let Value::Array(found) = server.command(&["MGET", COUNTER, MAIN]) else {
                    return Err("no list".to_owned());
                };
                let counter = counter(&found[0])?;
                let is_own = matches!(&found[1], Value::BulkString(value) if value.starts_with(digits(token).as_bytes()));
                return self.compare(step.answer, counter, is_own);
            }
            ThinCall::Script(which, token) => {
                match scripts.acquire(&acquisition(which, token)).await.map_err(failed)? {
                    Acquired::Granted(grant) => {
                        return self.compare(step.answer, grant.fence.map(Fence::get), false);
                    }
                    Acquired::Queued { .. } => return same(step.answer, ThinAnswer::Granted(None)),
                    other => format!("{other:?}"),
                }
            }
            ThinCall::Release(token) => {
                let released = scripts.release(&hold(token), Duration::ZERO).await.map_err(failed)?;
                return same(step.answer, ThinAnswer::Held(released == Released::Freed));
            }
            ThinCall::Force => {
                self.unclaimed.take().into_iter().for_each(|token| self.real.end_ticket(token));
                return same(1, scripts.force_release(&hold(0).resource).await.map_err(failed)?);
            }
            ThinCall::Expire(token) => {
                self.unclaimed.take().into_iter().for_each(|token| self.real.end_ticket(token));
                server.command(&["DEL", MAIN]);
                return same(holder, Some(token));
            }
            ThinCall::ExpireTicket(token) => {
                self.real.end_ticket(token);
                return Ok(());
            }
            ThinCall::LoseCounter => {
                server.command(&["DEL", COUNTER]);
                return Ok(());
            }
            ThinCall::Replicate => {
                self.replica = counter(&server.command(&["GET", COUNTER]))?;
                return Ok(());
            }
            ThinCall::FailOver => {
                server.command(&["FLUSHALL"]);
                if let Some(counter) = self.replica {
                    server.command(&["SET", COUNTER, &counter.to_string()]);
                }
                return Ok(());
            }
        };
        Err(format!("the model answers {:?}, and the server {answer}", step.answer))
    }

    /// The numbers are the server's own, but they are in the same order, and the same where the model has one again.
    fn compare(&mut self, answer: ThinAnswer, real: Option<u64>, is_own: bool) -> Found {
        let (ThinAnswer::Counter(model)
        | ThinAnswer::Granted(Some(model))
        | ThinAnswer::Found(Some(model), _)) = answer
        else {
            let nothing = if real.is_none() { ThinAnswer::Found(None, is_own) } else { ThinAnswer::None };
            return same(answer, nothing);
        };
        if let ThinAnswer::Found(_, model) = answer {
            same(model, is_own)?;
        }
        let real = real.ok_or("no number")?;
        if let Some(before) = self.numbers.get(&model) {
            return same(*before, real);
        }
        let earlier = self.numbers.range(..model).next_back().is_some_and(|(_, earlier)| *earlier >= real);
        let later = self.numbers.range(model + 1..).next().is_some_and(|(_, later)| *later <= real);
        self.numbers.insert(model, real);
        if earlier || later {
            return Err(format!("{real} for {model} is out of order: {:?}", self.numbers));
        }
        Ok(())
    }
}

/// A kind of call and answer, beside others that wait or not.
fn kind(step: &ThinStep, holder: Option<u8>, waiters: &[u8]) -> String {
    let kind = match (step.call, step.answer) {
        (ThinCall::Set(_), ThinAnswer::Set(true)) => "set",
        (ThinCall::Set(_), _) => "set in vain",
        (ThinCall::Get(_), ThinAnswer::Found(_, true)) => "own found",
        (ThinCall::Get(_), _) => "not found",
        (ThinCall::Script(_, token), ThinAnswer::Granted(Some(_))) if holder == Some(token) => "script again",
        (ThinCall::Script(..), ThinAnswer::Granted(Some(_))) => "script granted",
        (ThinCall::Script(_, token), _) if holder == Some(token) => "script gave back",
        (ThinCall::Script(..), _) => "script queued",
        (ThinCall::Release(_), ThinAnswer::Held(true)) => "release held",
        (ThinCall::Release(_), _) => "release not held",
        (ThinCall::Add, _) => "add",
        (ThinCall::LookForTickets, _) => "look",
        (ThinCall::Force, _) => "force",
        (ThinCall::Expire(_), _) => "expire",
        (ThinCall::ExpireTicket(_), _) => "expire ticket",
        (ThinCall::LoseCounter, _) => "lose counter",
        (ThinCall::Replicate, _) => "replicate",
        (ThinCall::FailOver, _) => "fail over",
    };
    format!("{kind}{}", if waiters.is_empty() { "" } else { ", others wait" })
}

/// The kinds of calls that have to occur in the traces.
const KINDS: [&str; 21] = [
    "add",
    "expire",
    "expire, others wait",
    "expire ticket, others wait",
    "fail over",
    "force",
    "lose counter",
    "look",
    "look, others wait",
    "not found",
    "own found",
    "own found, others wait",
    "release held",
    "release held, others wait",
    "script again",
    "script again, others wait",
    "script gave back, others wait",
    "script granted, others wait",
    "script queued",
    "set, others wait",
    "set in vain, others wait",
];

#[tokio::test]
async fn traces_of_plain_commands_are_those_of_a_server() {
    let real = Real::start().await;
    let all =
        ThinWorld { asks: [6, 6, 6], breaks: 3, deaths: 1, lost_counters: 1, forced: 2, ..ThinWorld::EMPTY };
    let worlds = [
        all.clone(),
        ThinWorld { deaths: 0, forced: 0, lost_counters: 0, ..all.clone() },
        ThinWorld { failovers: 2, lost_counters: 0, ..all.clone() },
        ThinWorld { begins_dead: true, breaks: 0, deaths: 0, forced: 0, ..all },
    ];
    let (mut calls, mut kinds) = (0, BTreeMap::<String, u32>::new());
    for number in 0..traces() {
        real.server.command(&["FLUSHALL"]);
        let steps = worlds[number as usize % worlds.len()].trace(number, 200);
        let mut trace = ThinTrace { real: &real, numbers: BTreeMap::new(), unclaimed: None, replica: None };
        let (mut holder, mut waiters) = (None, Vec::new());
        for (at, step) in steps.iter().enumerate() {
            *kinds.entry(kind(step, holder, &waiters)).or_default() += 1;
            if let Err(found) = trace.step(step, holder, &waiters).await {
                let before: String = steps[..=at].iter().map(|step| format!("{step:?}\n")).collect();
                panic!("trace {number}: {found}\n{before}");
            }
            (holder, waiters) = (step.holder, step.waiters.clone());
        }
        calls += steps.len();
    }
    let missing: Vec<_> = KINDS.iter().filter(|kind| !kinds.contains_key(**kind)).collect();
    assert!(missing.is_empty() || traces() < 100, "{missing:?} of {kinds:?}");
    println!("{} traces of {calls} calls", traces());
}
