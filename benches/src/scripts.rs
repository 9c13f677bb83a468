//! The time for which one script keeps the server from serving anybody else, with very many readers, waiters, ended or
//! dead ones.

use std::{fmt::Write, iter, sync::Arc, time::Duration};

use futures_util::StreamExt;
use leasehold::{
    Mode, RedisOptions, RedisStore, ResourceName, StoreError, Token,
    store::{Acquired, Acquisition, Hold, Inbox, QueueTicket, Released, Renewal, Renewed, Store},
};
use tokio::time::Instant;

use crate::{Failure, relay::Costs, server::Server};

/// The longest time that a script may take.
const LONGEST: Duration = Duration::from_millis(5);
/// The runs at most. A script that is too long by itself is so in every run; what the machine adds comes at another place each
/// time.
const RUNS: usize = 5;
/// How far apart the places of a script in two runs may be: a call more or less is made before it.
const NEAR: usize = 8;
/// The requests that go to the store at a time, as those of a busy manager do.
const AT_A_TIME: usize = 2_560;
const READERS: [usize; 3] = [1_000, 10_000, 50_000];
const EXPIRED: usize = 100_000;
const DEAD: usize = 10_000;
const RESOURCES: usize = 20;
const READERS_OF_EACH: usize = 5_000;
const LONG: Duration = Duration::from_secs(600);
/// Until when all that end together have come.
const END: Duration = Duration::from_secs(30);

/// A server whose scripts are timed, and a store on it.
struct Timed {
    server: Server,
    costs: Costs,
    store: RedisStore,
    /// The inbox whose notifications are heard.
    inbox: Inbox,
    found: Vec<Found>,
}

/// The scripts of one kind.
struct Found {
    what: &'static str,
    how_many: String,
    /// What each cost, in their order.
    costs: Vec<Duration>,
}

/// Measures all of them. Returns a table, and whether no script took too long.
pub(crate) fn measure() -> Result<(String, bool), Failure> {
    let mut runs = vec![measure_once()?];
    while runs.len() < RUNS && !rows(&runs).all(|row| at_one_place(&row) <= LONGEST) {
        runs.push(measure_once()?);
    }
    let mut text = "| What | How many | Scripts | 99 % within, ms | Longest, ms | At one place, ms |\n\
                    |---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    for row in rows(&runs) {
        let quietest = row.iter().min_by_key(|found| found.within(100)).ok_or("no run")?;
        let (most, longest) = (millis(quietest.within(99)), millis(quietest.within(100)));
        let (again, Found { what, how_many, costs }) = (millis(at_one_place(&row)), quietest);
        writeln!(text, "| {what} | {how_many} | {} | {most:.1} | {longest:.1} | {again:.1} |", costs.len())?;
    }
    Ok((text, rows(&runs).all(|row| at_one_place(&row) <= LONGEST)))
}

/// The same row of all runs.
fn rows(runs: &[Vec<Found>]) -> impl Iterator<Item = Vec<&Found>> {
    (0..runs[0].len()).map(move |row| runs.iter().map(|run| &run[row]).collect())
}

/// The longest time that a script took in every run: its cost at its place in one run, and at about that place in the others. A
/// script that is long once in a while and never at the same place is not in it.
fn at_one_place(row: &[&Found]) -> Duration {
    let (first, others) = (&row[0].costs, &row[1..]);
    let in_all = first.iter().enumerate().map(|(place, cost)| {
        let near = others.iter().map(|run| run.near(place as f64 / first.len() as f64));
        near.min().map_or(*cost, |near| near.min(*cost))
    });
    in_all.max().unwrap_or_default()
}

fn measure_once() -> Result<Vec<Found>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut timed = Timed::start().await?;
        for readers in READERS {
            timed.many_readers(readers).await?;
        }
        timed.many_that_ended().await?;
        timed.many_killed().await?;
        timed.many_frozen().await?;
        timed.many_gone().await?;
        timed.one_batch().await?;
        Ok(timed.found)
    })
}

impl Found {
    /// The time that so many percent of the scripts did not exceed.
    fn within(&self, percent: usize) -> Duration {
        let mut costs = self.costs.clone();
        costs.sort_unstable();
        costs[(costs.len() * percent).div_ceil(100) - 1]
    }

    /// The largest cost near a place in the row: 0 is its beginning, 1 its end.
    fn near(&self, place: f64) -> Duration {
        let there = (place * self.costs.len() as f64) as usize;
        let near = &self.costs[there.saturating_sub(NEAR)..self.costs.len().min(there + NEAR + 1)];
        near.iter().copied().max().unwrap_or_default()
    }
}

impl Timed {
    async fn start() -> Result<Self, Failure> {
        let server = Server::start()?;
        let (port, costs) = Costs::relay(server.port(), server.process()).await?;
        let options = RedisOptions { response_timeout: END, ..RedisOptions::default() };
        let store = RedisStore::with_options(&format!("redis://127.0.0.1:{port}"), options)?;
        let inbox = Inbox(Token::from_bits(rand::random()));
        let mut notifications = store.listen(&inbox);
        notifications.next().await.ok_or("there are no notifications")?;
        tokio::spawn(async move { while notifications.next().await.is_some() {} });
        Ok(Self { server, costs, store, inbox, found: Vec::new() })
    }

    /// A place of one that hears what it is told.
    fn alive(&self) -> Option<QueueTicket> {
        Some(ticket(self.inbox, LONG))
    }

    async fn forget(&mut self) -> Result<(), Failure> {
        self.server.empty()?;
        drop(self.costs.take().await?);
        Ok(())
    }

    /// Notes what the scripts since the last note took.
    async fn note(&mut self, what: &'static str, how_many: impl ToString) -> Result<(), Failure> {
        let costs = self.costs.take().await?;
        expected(!costs.is_empty(), "no script was seen")?;
        let found = Found { what, how_many: how_many.to_string(), costs };
        eprintln!("{what}, {}: {:.1?}", found.how_many, found.within(100));
        self.found.push(found);
        Ok(())
    }

    async fn acquire(&self, asked: &[Arc<Acquisition>]) -> Result<Vec<Acquired>, StoreError> {
        let mut answers = Vec::with_capacity(asked.len());
        for asked in asked.chunks(AT_A_TIME) {
            answers.extend(self.store.acquire_each(asked).await);
        }
        answers.into_iter().collect()
    }

    /// Lets all of them queue, and answers an error if one did not have to.
    async fn queue(&self, waiters: &[Arc<Acquisition>]) -> Result<(), Failure> {
        let queued = |answer: &Acquired| matches!(answer, Acquired::Queued { .. });
        expected(self.acquire(waiters).await?.iter().all(queued), "somebody did not queue")
    }

    async fn take(&self, holders: &[Arc<Acquisition>]) -> Result<(), Failure> {
        let granted = |answer: &Acquired| matches!(answer, Acquired::Granted(_));
        expected(self.acquire(holders).await?.iter().all(granted), "somebody was not granted")
    }

    async fn release(&self, holders: &[Arc<Acquisition>]) -> Result<(), Failure> {
        for holders in holders.chunks(AT_A_TIME) {
            let releases: Vec<_> = holders.iter().map(|asked| (&asked.hold, Duration::ZERO)).collect();
            for released in self.store.release_each(&releases).await {
                expected(released? == Released::Freed, "somebody held nothing")?;
            }
        }
        Ok(())
    }

    async fn many_readers(&mut self, readers: usize) -> Result<(), Failure> {
        self.forget().await?;
        let writer = [ask("r", Mode::Exclusive, LONG, None)?];
        self.take(&writer).await?;
        let waiting = several(readers, || ask("r", Mode::Shared, LONG, self.alive()))?;
        self.queue(&waiting).await?;
        self.note("readers queue", readers).await?;
        self.queue(&waiting).await?;
        self.note("they ask again", readers).await?;
        self.release(&writer).await?;
        self.note("the release that hands over to them", readers).await?;
        self.take(&waiting).await?;
        self.note("they take up", readers).await?;
        for waiting in waiting.chunks(AT_A_TIME) {
            let renewals: Vec<_> = waiting.iter().map(|asked| Renewal::new(&asked.hold, LONG)).collect();
            for renewed in self.store.renew_each(&renewals).await {
                expected(renewed? == Renewed::Extended, "somebody was not renewed")?;
            }
        }
        self.note("they renew", readers).await?;
        self.release(&waiting).await?;
        self.note("they release", readers).await
    }

    async fn many_that_ended(&mut self) -> Result<(), Failure> {
        self.forget().await?;
        self.take(&[ask("r", Mode::Shared, LONG, None)?]).await?;
        let end = Instant::now() + END;
        let mut left = EXPIRED;
        while left > 0 {
            let together = left.min(AT_A_TIME);
            let ttl = end.saturating_duration_since(Instant::now());
            self.take(&several(together, || ask("r", Mode::Shared, ttl, None))?).await?;
            left -= together;
        }
        self.note("readers read", EXPIRED).await?;
        expected(Instant::now() < end, "the machine is too slow to let so many read at once")?;
        tokio::time::sleep_until(end + Duration::from_secs(1)).await;
        self.take(&[ask("r", Mode::Shared, LONG, None)?]).await?;
        self.note("the first acquisition after they ended", EXPIRED).await?;
        self.take(&several(1_000, || ask("r", Mode::Shared, LONG, None))?).await?;
        self.note("a thousand more", EXPIRED).await
    }

    /// Waiters whose processes were killed, so that nobody hears their inboxes.
    async fn many_killed(&mut self) -> Result<(), Failure> {
        self.forget().await?;
        let writer = self.writer_and_dead(Some(unheard(LONG))).await?;
        self.note("writers queue", DEAD).await?;
        let alive = [ask("r", Mode::Exclusive, LONG, self.alive())?];
        self.queue(&alive).await?;
        self.release(&writer).await?;
        self.note("the release past them, when they were killed", DEAD).await?;
        self.take(&alive).await?;
        self.note("the next acquisition", DEAD).await
    }

    /// Waiters whose processes hear what they are told, and do nothing.
    async fn many_frozen(&mut self) -> Result<(), Failure> {
        self.forget().await?;
        let grant_window = Duration::from_millis(100);
        let frozen = self.alive().map(|ticket| QueueTicket { grant_window, ..ticket });
        let writer = self.writer_and_dead(frozen).await?;
        let alive = [ask("r", Mode::Exclusive, LONG, self.alive())?];
        self.queue(&alive).await?;
        self.release(&writer).await?;
        for _ in 0..2 {
            tokio::time::sleep(2 * grant_window).await;
            self.acquire(&alive).await?;
        }
        self.note("the roll is called, and those who do not answer are passed over", DEAD).await
    }

    /// Waiters whose patience is over.
    async fn many_gone(&mut self) -> Result<(), Failure> {
        self.forget().await?;
        let ttl = END / 3;
        let writer = self.writer_and_dead(Some(unheard(ttl))).await?;
        let alive = [ask("r", Mode::Exclusive, LONG, self.alive())?];
        self.queue(&alive).await?;
        tokio::time::sleep(ttl + Duration::from_secs(1)).await;
        self.note("they queue again", DEAD).await?;
        self.release(&writer).await?;
        self.note("the release past them, when their places are gone", DEAD).await?;
        self.take(&alive).await?;
        self.note("the next acquisition", DEAD).await
    }

    async fn writer_and_dead(&self, ticket: Option<QueueTicket>) -> Result<[Arc<Acquisition>; 1], Failure> {
        let writer = [ask("r", Mode::Exclusive, LONG, None)?];
        self.take(&writer).await?;
        let dead = several(DEAD, || ask("r", Mode::Exclusive, LONG, ticket))?;
        self.queue(&dead).await?;
        Ok(writer)
    }

    async fn one_batch(&mut self) -> Result<(), Failure> {
        self.forget().await?;
        let how_many = format!("{RESOURCES} × {READERS_OF_EACH}");
        let names: Vec<_> = (0..RESOURCES).map(|number| format!("r{number}")).collect();
        let writers =
            names.iter().map(|name| ask(name, Mode::Exclusive, LONG, None)).collect::<Result<Vec<_>, _>>()?;
        self.take(&writers).await?;
        for name in &names {
            let waiting = several(READERS_OF_EACH, || ask(name, Mode::Shared, LONG, self.alive()))?;
            self.queue(&waiting).await?;
        }
        self.note("readers queue", &how_many).await?;
        self.release(&writers).await?;
        self.note("one batch of releases that hand over", how_many).await
    }
}

fn expected(is_so: bool, otherwise: &str) -> Result<(), Failure> {
    if is_so { Ok(()) } else { Err(otherwise.into()) }
}

fn ask(
    name: &str,
    mode: Mode,
    ttl: Duration,
    ticket: Option<QueueTicket>,
) -> Result<Arc<Acquisition>, Failure> {
    let hold =
        Hold { resource: ResourceName::new(name)?, token: Token::from_bits(rand::random()), owner: None };
    let (reentrant, lock_delay) = (false, Duration::ZERO);
    Ok(Arc::new(Acquisition { hold, mode, reentrant, ttl, lock_delay, metadata: Arc::default(), ticket }))
}

fn ticket(inbox: Inbox, ttl: Duration) -> QueueTicket {
    QueueTicket { inbox, ttl, grant_window: LONG, max_waiters: 1_000_000, place: None }
}

/// A place in whose inbox nobody hears anything.
fn unheard(ttl: Duration) -> QueueTicket {
    ticket(Inbox(Token::from_bits(rand::random())), ttl)
}

fn several(
    how_many: usize,
    ask: impl Fn() -> Result<Arc<Acquisition>, Failure>,
) -> Result<Vec<Arc<Acquisition>>, Failure> {
    iter::repeat_with(ask).take(how_many).collect()
}
