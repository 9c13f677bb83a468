//! A process of a fleet in virtual time, whose actors write down where they run.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler, Message, Running};
use leasehold::{
    Acquire, LockManager, Shutdown,
    election::{Candidacy, SingletonContext},
    partitions::{Member, PartitionEvent, Partitions, Place},
};
use support::{
    odd_store::{OddStore, odd_store},
    virtual_time::{World, millis, secs},
};
use tokio::time::{Instant, sleep};

pub(crate) const TTL: Duration = secs(10);

/// The actors that run, by their partitions: in which processes, and with which fences; and all that was wrong.
#[derive(Clone, Default)]
pub(crate) struct Lives(Rc<RefCell<Ran>>);

#[derive(Default)]
struct Ran {
    now: BTreeMap<u32, Vec<String>>,
    fences: BTreeMap<u32, u64>,
    wrong: Vec<String>,
    /// The number of lives.
    lives: usize,
    /// The time that actors take to stop.
    finishes_in: Option<Duration>,
}

impl Lives {
    fn begins(&self, partition: u32, member: &str, fence: u64) {
        let mut ran = self.0.borrow_mut();
        ran.lives += 1;
        let last = ran.fences.insert(partition, fence).unwrap_or_default();
        if fence < last {
            ran.wrong.push(format!("partition {partition}: fence {fence} in {member} after {last}"));
        }
        let now = ran.now.entry(partition).or_default();
        now.push(member.to_owned());
        if now.len() > 1 {
            let words = format!("partition {partition} runs in {now:?}");
            ran.wrong.push(words);
        }
    }

    fn ends(&self, partition: u32, member: &str) {
        let mut ran = self.0.borrow_mut();
        let now = ran.now.entry(partition).or_default();
        if let Some(place) = now.iter().position(|running| running == member) {
            now.remove(place);
        }
    }

    /// Returns what was wrong until now: two actors of one partition at a time, or a fence that was smaller than an earlier one.
    pub(crate) fn wrong(&self) -> Vec<String> {
        self.0.borrow().wrong.clone()
    }

    /// Lets actors take this time to stop.
    pub(crate) fn finish_in(&self, time: Duration) {
        self.0.borrow_mut().finishes_in = Some(time);
    }

    pub(crate) fn lives(&self) -> usize {
        self.0.borrow().lives
    }

    /// Returns the number of partitions of each member that has some.
    pub(crate) fn shares(&self) -> BTreeMap<String, usize> {
        let mut shares = BTreeMap::new();
        for member in self.0.borrow().now.values().flatten() {
            *shares.entry(member.clone()).or_default() += 1;
        }
        shares
    }

    /// Returns the member of each partition.
    pub(crate) fn owners(&self) -> BTreeMap<u32, String> {
        let ran = self.0.borrow();
        ran.now.iter().filter_map(|(partition, at)| Some((*partition, at.first()?.clone()))).collect()
    }

    /// Waits until so many members have all partitions between them, in shares that differ by one at most.
    pub(crate) async fn balanced(&self, partitions: u32, members: usize) {
        let is_balanced = || {
            let shares = self.shares();
            let (most, least) = (shares.values().max(), shares.values().min());
            shares.values().sum::<usize>() == partitions as usize
                && shares.len() == members.min(partitions as usize)
                && most.zip(least).is_none_or(|(most, least)| most - least <= 1)
        };
        let began = Instant::now();
        while !is_balanced() {
            assert!(began.elapsed() < 6 * TTL, "{members} members, and {:?}", self.shares());
            sleep(millis(10)).await;
        }
    }
}

/// The actor of a partition.
pub(crate) struct Owner {
    partition: u32,
    member: String,
    running: Lives,
    is_stopping: bool,
}

impl Owner {
    pub(crate) fn new(partition: u32, member: &str, running: &Lives) -> Self {
        Self { partition, member: member.to_owned(), running: running.clone(), is_stopping: false }
    }
}

impl Actor for Owner {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.running.begins(self.partition, &self.member, ctx.lease().fence().unwrap().get());
        ctx.run_interval(secs(1), |_, ctx| assert!(ctx.lease().is_valid()));
    }

    fn stopping(&mut self, ctx: &mut Self::Context) -> Running {
        let time = self.running.0.borrow().finishes_in.filter(|_| !self.is_stopping);
        self.is_stopping = true;
        let Some(time) = time else { return Running::Stop };
        ctx.run_later(time, |_, ctx| ctx.stop());
        Running::Continue
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.running.ends(self.partition, &self.member);
    }
}

/// Asks an owner which partition it has.
#[derive(Message)]
#[rtype(result = "u32")]
pub(crate) struct Which;

impl Handler<Which> for Owner {
    type Result = u32;

    fn handle(&mut self, _: Which, _: &mut Self::Context) -> u32 {
        self.partition
    }
}

/// A process.
pub(crate) struct Process {
    pub(crate) locks: Addr<LockManager>,
    pub(crate) store: Arc<OddStore>,
    pub(crate) partitions: Partitions<Owner>,
}

impl Process {
    pub(crate) fn start(world: &World, running: &Lives, name: &str, partitions: u32) -> Self {
        Self::with(world, running, name, partitions, |candidacy| candidacy)
    }

    pub(crate) fn with(
        world: &World,
        running: &Lives,
        name: &str,
        partitions: u32,
        with: impl FnOnce(Candidacy) -> Candidacy,
    ) -> Self {
        let store = Arc::new(odd_store(world.store.clone()));
        let locks = world.builder_on(store.clone()).start_here().unwrap();
        let (running, member) = (running.clone(), name.to_owned());
        let candidacy = with(Candidacy::from(Acquire::new("orders").ttl(TTL)));
        let owner = move |partition| Owner {
            partition,
            member: member.clone(),
            running: running.clone(),
            is_stopping: false,
        };
        let member = Member::new(name).at(format!("http://{name}"));
        let partitions = Partitions::start(&locks, candidacy, partitions, member, owner).unwrap();
        Self { locks, store, partitions }
    }

    /// Cuts it off from the store, or ends that.
    pub(crate) fn cut_off(&self, is_cut: bool) {
        self.store.go_down(is_cut);
    }

    pub(crate) async fn stop(self) {
        self.locks.send(Shutdown { drain: secs(1) }).await.unwrap();
    }

    /// Returns the place of a partition, in words.
    pub(crate) async fn place(&self, partition: u32) -> String {
        match self.partitions.at(partition).await.unwrap() {
            Place::Here(actor) => {
                assert_eq!(actor.send(Which).await.unwrap(), partition);
                "here".to_owned()
            }
            Place::There(member) => member.endpoint.unwrap(),
            Place::Nobody => "nobody".to_owned(),
        }
    }
}

/// A recipient of events, and what it has heard.
#[derive(Clone, Default)]
pub(crate) struct Heard(Rc<RefCell<Vec<PartitionEvent>>>);

impl Heard {
    pub(crate) fn all(&self) -> Vec<PartitionEvent> {
        self.0.borrow().clone()
    }

    /// Returns the partitions that were told as owned, and not as lost since.
    pub(crate) fn owned(&self) -> BTreeSet<u32> {
        let mut owned = BTreeSet::new();
        for event in self.0.borrow().iter() {
            let is_right = match event {
                PartitionEvent::Owned { partition, .. } => owned.insert(*partition),
                PartitionEvent::Lost { partition } => owned.remove(partition),
                _ => true,
            };
            assert!(is_right, "told twice: {event:?}");
        }
        owned
    }
}

impl Actor for Heard {
    type Context = Context<Self>;
}

impl Handler<PartitionEvent> for Heard {
    type Result = ();

    fn handle(&mut self, event: PartitionEvent, _: &mut Self::Context) {
        self.0.borrow_mut().push(event);
    }
}
