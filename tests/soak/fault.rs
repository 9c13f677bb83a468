//! The faults, and how each is made and healed.

use std::{collections::BTreeSet, thread, time::Duration};

use rand::{RngExt, rngs::StdRng, seq::SliceRandom};

use super::{net::Network, topology::Topology};

/// What happens to servers, their clocks, their network, or their clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A server, a master or a minority is killed, and started again.
    Killed,
    /// The same is frozen.
    Frozen,
    /// A replica is killed, and started again.
    ReplicaKilled,
    /// A replica is frozen.
    ReplicaFrozen,
    /// An operator has a replica take the place of its master.
    FailedOver,
    /// The clock jumps forward; the next time back.
    Clock,
    /// The network is slow.
    Slow,
    /// The network loses packets.
    Lossy,
    /// A server, a master or a minority cannot be reached.
    Cut,
    /// Many more callers ask at once.
    Burst,
    /// A process of callers is frozen.
    ClientFrozen,
    /// The wall clock of a process of callers jumps by minutes.
    ClientClock,
}

impl Fault {
    /// Its name in the report.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Frozen => "frozen",
            Self::ReplicaKilled => "replica killed",
            Self::ReplicaFrozen => "replica frozen",
            Self::FailedOver => "planned failover",
            Self::Clock => "clock jumps",
            Self::Slow => "slow network",
            Self::Lossy => "lossy network",
            Self::Cut => "cut off",
            Self::Burst => "burst",
            Self::ClientFrozen => "client frozen",
            Self::ClientClock => "client's clock jumps",
        }
    }

    /// The color of its group in the picture.
    pub(super) const fn color(self) -> &'static str {
        match self {
            Self::Killed | Self::ReplicaKilled => "killed",
            Self::Frozen | Self::ReplicaFrozen => "frozen",
            Self::FailedOver => "moved",
            Self::Clock | Self::ClientClock => "clock",
            Self::Slow | Self::Lossy | Self::Cut => "net",
            Self::Burst => "burst",
            Self::ClientFrozen => "client",
        }
    }

    /// Those that a topology can have.
    pub(super) fn all_of(topology: &Topology, has_network: bool) -> Vec<Self> {
        let mut all = vec![Self::Killed, Self::Frozen, Self::Clock, Self::Burst];
        all.extend([Self::ClientFrozen, Self::ClientClock]);
        if matches!(topology, Topology::Sentinel(_) | Topology::Cluster(_)) {
            all.extend([Self::ReplicaKilled, Self::ReplicaFrozen, Self::FailedOver]);
        }
        if has_network {
            all.extend([Self::Slow, Self::Lossy, Self::Cut]);
        }
        all
    }
}

/// Faults in random order, each once before any comes again.
pub(super) struct Deck {
    all: Vec<Fault>,
    left: Vec<Fault>,
}

impl Deck {
    pub(super) const fn new(all: Vec<Fault>) -> Self {
        Self { all, left: Vec::new() }
    }

    pub(super) fn draw(&mut self, random: &mut StdRng) -> Fault {
        if self.left.is_empty() {
            self.left.clone_from(&self.all);
            self.left.shuffle(random);
        }
        self.left.pop().expect("a topology has faults")
    }
}

/// Servers, with what faults have done to them.
pub(super) struct Ground {
    /// The number of the topology.
    pub(super) number: usize,
    pub(super) topology: Topology,
    pub(super) network: Option<Network>,
    /// How far which clocks are ahead.
    pub(super) ahead: Option<(Duration, Vec<usize>)>,
    /// The resources that the last fault did not touch.
    pub(super) spared: BTreeSet<String>,
}

impl Ground {
    /// Makes a fault of servers or of their network happen, and heals it. Answers what it was, in words. All random numbers are drawn
    /// first, so that a seed gives the same faults however long they take.
    pub(super) fn suffer(&mut self, fault: Fault, random: &mut StdRng) -> Result<String, String> {
        let time = Duration::from_millis(random.random_range(1_000..9_000));
        let step = Duration::from_millis(random.random_range(4_000..15_000));
        let victims = self.topology.victims(random);
        self.spared = self.topology.spared(fault, &victims);
        // A minority has time to be missed; nobody waits for it.
        let dead = if self.topology.is_quorum() { time } else { time / 3 };
        match fault {
            Fault::Killed => self.kill(&victims, dead),
            Fault::Frozen => self.freeze(&victims, time),
            Fault::ReplicaKilled => {
                let replica = self.topology.follower(random);
                self.spared = self.topology.spared(fault, &[replica]);
                self.topology.server(replica).kill();
                thread::sleep(time / 3);
                self.topology.server(replica).restart();
                self.topology.wait_until_whole();
            }
            Fault::ReplicaFrozen => {
                let replica = self.topology.follower(random);
                self.spared = self.topology.spared(fault, &[replica]);
                self.topology.servers()[replica].pause();
                thread::sleep(time / 2);
                self.topology.servers()[replica].resume();
            }
            Fault::FailedOver => {
                self.topology.fail_over(victims[0]);
                self.topology.wait_until_whole();
            }
            Fault::Clock => return Ok(self.jump(step, random)),
            Fault::Slow | Fault::Lossy | Fault::Cut => return self.hamper(fault, &victims, time),
            Fault::Burst | Fault::ClientFrozen | Fault::ClientClock => {}
        }
        Ok(String::new())
    }

    fn kill(&mut self, victims: &[usize], time: Duration) {
        victims.iter().for_each(|victim| self.topology.server(*victim).kill());
        self.topology.wait_for_another(victims[0]);
        thread::sleep(time);
        victims.iter().for_each(|victim| self.topology.server(*victim).restart());
        self.topology.wait_until_whole();
    }

    fn freeze(&self, victims: &[usize], time: Duration) {
        let servers = || victims.iter().map(|victim| &self.topology.servers()[*victim]);
        servers().for_each(|server| server.pause());
        self.topology.wait_for_another(victims[0]);
        thread::sleep(time);
        servers().for_each(|server| server.resume());
        self.topology.wait_until_whole();
    }

    /// Moves clocks ahead, or sets those back that are.
    pub(super) fn jump(&mut self, by: Duration, random: &mut StdRng) -> String {
        let back = self.ahead.take();
        let (by, numbers) = back.clone().unwrap_or_else(|| (by, self.topology.with_one_clock(random)));
        for number in &numbers {
            let server = &self.topology.servers()[*number];
            if back.is_some() { server.set_back(by) } else { server.advance(by) }
        }
        if back.is_some() {
            return format!("set back by {by:.1?}");
        }
        self.ahead = Some((by, numbers));
        format!("ahead by {by:.1?}")
    }

    fn hamper(&self, fault: Fault, victims: &[usize], time: Duration) -> Result<String, String> {
        let network = self.network.as_ref().ok_or("no network of its own")?;
        let servers = self.topology.servers();
        let all: Vec<_> = servers.iter().map(|server| server.port()).collect();
        let some: Vec<_> = victims.iter().map(|victim| servers[*victim].port()).collect();
        if fault == Fault::Slow {
            let words = network.slow(self.number, &all)?;
            thread::sleep(2 * time);
            network.quicken(self.number)?;
            return Ok(words);
        }
        let (ports, percent) = if fault == Fault::Cut { (some, 100) } else { (all, 5) };
        network.lose(self.number, &ports, percent)?;
        thread::sleep(if fault == Fault::Cut { time } else { 2 * time });
        network.find(self.number)?;
        Ok(format!("{percent} % of packets lost"))
    }
}
